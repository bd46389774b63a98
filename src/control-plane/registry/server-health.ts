// How a server has been: an entry for each time that a probe found it otherwise than the one before. Kept beside its record, changed
// together with that, and gone with it.
import { limits } from '../../shared/limits.js';
import type { ServerRecord, ServerStatus } from '../records/server-record.js';

export interface HealthEntry {
  /** Since when, ISO 8601 in UTC. */
  readonly at: string;
  readonly status: ServerStatus;
  readonly reachable: boolean;
  /** Why the probe failed; `null` when it did not. Names no URL. */
  readonly error: string | null;
}

type Found = Pick<ServerRecord, 'status' | 'reachable' | 'lastError'>;

/** Whether a probe has found something else than the last. @param before `undefined` for a server that is new. */
export function isHealthChanged(before: Found | undefined, after: Found): boolean {
  if (before === undefined) return true;
  const { status, reachable, lastError } = after;
  return status !== before.status || reachable !== before.reachable || lastError !== before.lastError;
}

/** The latest first; what is too old for the bound is forgotten. */
export function withHealth(history: readonly HealthEntry[], after: Found, at: string): readonly HealthEntry[] {
  const { status, reachable, lastError } = after;
  const error = lastError === null ? null : lastError.slice(0, limits.healthReasonCharsMax);
  return [{ at, status, reachable, error }, ...history].slice(0, limits.healthEntriesMax);
}
