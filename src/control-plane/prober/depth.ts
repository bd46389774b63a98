// How deep a value of JSON is nested.

/** What is nested deeper than JSON is read elsewhere must not come into the store. */
export function isDeeperThan(value: unknown, depthMax: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depthMax === 0 || Object.values(value).some((member) => isDeeperThan(member, depthMax - 1));
}
