// A worker's heartbeat: a message from its event loop, which a hung worker does not send. Primary and worker compute the same
// period, so that the primary never expects a heartbeat before it is due. Cold path.
import type { PrimaryChannel } from './channel.js';

/** Longest interval between two heartbeats of a worker. After it, no effect: a short `--worker-hang-timeout` makes them more frequent. */
const HEARTBEAT_MS_MAX = 2_500;

/**
 * Heartbeats of a worker per `--worker-hang-timeout`, so that one late heartbeat has no effect. A worker that sends none for the whole
 * timeout is killed.
 */
const HEARTBEATS_PER_HANG_TIMEOUT = 4;

/** The period of heartbeats, ms: several of them fit into the time after which a silent worker counts as hung. */
export function heartbeatPeriodMs(hangTimeoutMs: number): number {
  return Math.min(Math.max(1, Math.floor(hangTimeoutMs / HEARTBEATS_PER_HANG_TIMEOUT)), HEARTBEAT_MS_MAX);
}

/** Sends heartbeats for the life of the process. None are needed when `hangTimeoutMs` is 0. */
export function sendHeartbeats(primary: PrimaryChannel, hangTimeoutMs: number): void {
  if (hangTimeoutMs === 0) return;
  setInterval(() => primary.send({ kind: 'heartbeat' }), heartbeatPeriodMs(hangTimeoutMs)).unref();
}
