// How a result names the backends that are missing from it (decisions 2.3).
import { faultReason, type UpstreamFault } from '../http-client/index.js';

export interface UnavailableBackend {
  readonly backend: string;
  readonly reason: string;
}

/** The missing backend, with the reason, and the URL where its user can fix that, if there is one. */
export function missingBackend(backend: string, fault: UpstreamFault): UnavailableBackend {
  const url = fault.connect?.();
  const reason = faultReason(fault);
  return { backend, reason: url === undefined ? reason : `${reason}: open ${url} in your browser` };
}

/** The `_meta` member of a result, or nothing when every backend took part. Sorted by name, so that answers are reproducible. */
export function unavailableMeta(unavailable: readonly UnavailableBackend[]): { _meta?: Record<string, unknown> } {
  if (unavailable.length === 0) return {};
  const sorted = [...unavailable].sort((one, other) => (one.backend < other.backend ? -1 : 1));
  return { _meta: { 'switchyard/unavailable': sorted } };
}
