// Both ends of the channel between the primary and a worker: typed, and limited to the messages in messages.ts. A closed peer is no
// error here: messages to it are lost, and its supervisor sees the exit.
//
// A worker ignores SIGINT and SIGTERM: Ctrl-C reaches the whole process group, but only the primary decides when a worker drains.
// `stop` may come at any time after `start`, and a worker exits by itself when the channel closes.
import assert from 'node:assert';
import type { ChildProcess } from 'node:child_process';
import { isFromWorker, isToWorker, type FromWorker, type ToWorker } from './messages.js';

// A worker's heartbeat: a message from its event loop, which a hung worker does not send. Primary and worker compute the same
// period, so that the primary never expects a heartbeat before it is due. Cold path.

/** Longest interval between two heartbeats of a worker. After that, no effect: a short `--worker-hang-timeout` makes them more frequent. */
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

/** The primary's end: sends one message to a worker. */
export function sendToWorker(worker: ChildProcess, message: ToWorker): void {
  // With a callback, a closed channel is reported only to the callback, and neither thrown nor emitted.
  if (worker.connected) worker.send(message, () => {});
}

/**
 * The primary's end: passes each message of a worker to `onMessage`, and calls `onUnknown` for any other value, because one faulty
 * worker must not end the primary.
 */
export function receiveFromWorker(
  worker: ChildProcess,
  onMessage: (message: FromWorker) => void,
  onUnknown: () => void,
): void {
  worker.on('message', (value: unknown) => {
    if (isFromWorker(value)) onMessage(value);
    else onUnknown();
  });
}

/** The worker's end. */
export interface PrimaryChannel {
  send(message: FromWorker): void;
  /** A value that is no message means a broken build: it throws, which ends the worker. */
  onMessage(handler: (message: ToWorker) => void): void;
  /** The primary is gone, or has closed this worker's channel. If that has already happened, the handler is called in a microtask. */
  onDisconnect(handler: () => void): void;
}

/** Messages that arrive before `onMessage` is called are not lost: Node.js holds them back until then. */
export function connectToPrimary(): PrimaryChannel {
  return {
    send(message) {
      if (process.connected) process.send?.(message, undefined, undefined, () => {});
    },
    onMessage(handler) {
      process.on('message', (value: unknown) => {
        assert(isToWorker(value), 'the primary sent an unknown message');
        // Runs after Node.js has delivered all messages that it held back: a handler that closes
        // the channel in the middle of that would break the delivery.
        queueMicrotask(() => handler(value));
      });
    },
    onDisconnect(handler) {
      if (process.connected) process.once('disconnect', handler);
      else queueMicrotask(handler);
    },
  };
}
