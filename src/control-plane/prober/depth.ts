// How deeply a JSON value is nested.

/** A value nested more deeply than JSON readers elsewhere accept must not get into the store. */
export function isDeeperThan(value: unknown, depthMax: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depthMax === 0 || Object.values(value).some((member) => isDeeperThan(member, depthMax - 1));
}
