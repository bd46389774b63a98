// How a result says that some backends are missing from it (decisions 2.3).

export interface UnavailableBackend {
  readonly backend: string;
  readonly reason: string;
}

/** The `_meta` member of a result, or nothing when every backend took part. Sorted by name: answers are repeatable. */
export function unavailableMeta(unavailable: readonly UnavailableBackend[]): { _meta?: Record<string, unknown> } {
  if (unavailable.length === 0) return {};
  const sorted = [...unavailable].sort((one, other) => (one.backend < other.backend ? -1 : 1));
  return { _meta: { 'switchyard/unavailable': sorted } };
}
