// The health history of a server: an entry for each time that a probe found something else than the one before. Stored
// beside the server's record, changed together with it, and deleted with it.
import type { ServerRecord, ServerStatus } from '../records/server-record.js';

/** Entries in the history of a server's health. Beyond it, the oldest is forgotten. */
export const HEALTH_ENTRIES_MAX = 50;
/** One reason in the history of a server's health. Beyond it, the rest is cut off. */
export const HEALTH_REASON_CHARS_MAX = 300;

export interface HealthEntry {
  /** Since when, ISO 8601 in UTC. */
  readonly at: string;
  readonly status: ServerStatus;
  readonly reachable: boolean;
  /** Why the probe failed; `null` when it did not. Names no URL. */
  readonly error: string | null;
}

type Found = Pick<ServerRecord, 'status' | 'reachable' | 'lastError'>;

/** Whether a probe has found something else than the last. @param before `undefined` for a new server. */
export function isHealthChanged(before: Found | undefined, after: Found): boolean {
  if (before === undefined) return true;
  const { status, reachable, lastError } = after;
  return status !== before.status || reachable !== before.reachable || lastError !== before.lastError;
}

/** The latest first; entries beyond the bound are dropped. */
export function withHealth(history: readonly HealthEntry[], after: Found, at: string): readonly HealthEntry[] {
  const { status, reachable, lastError } = after;
  const error = lastError === null ? null : lastError.slice(0, HEALTH_REASON_CHARS_MAX);
  return [{ at, status, reachable, error }, ...history].slice(0, HEALTH_ENTRIES_MAX);
}
