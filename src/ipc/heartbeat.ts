// A worker's sign of life: a message from its event loop, which one that hangs does not send. Primary and worker go by the
// same period, so that the one never waits for what the other has no reason to send yet. Cold.
import { limits } from '../shared/limits.js';
import type { PrimaryChannel } from './channel.js';

/** Between two heartbeats, ms: several of them fit into the time after which a silent worker counts as hung. */
export function heartbeatPeriodMs(hangTimeoutMs: number): number {
  return Math.min(Math.max(1, Math.floor(hangTimeoutMs / limits.heartbeatsPerHangTimeout)), limits.heartbeatMsMax);
}

/** Begins to send them, for the life of the process. A `hangTimeoutMs` of 0 needs none. */
export function sendHeartbeats(primary: PrimaryChannel, hangTimeoutMs: number): void {
  if (hangTimeoutMs === 0) return;
  setInterval(() => primary.send({ kind: 'heartbeat' }), heartbeatPeriodMs(hangTimeoutMs)).unref();
}
