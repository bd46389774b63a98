// Both ends of the channel between the primary and a worker, limited to the messages in messages.ts. A message to a peer that is gone is
// lost without an error: the primary sees a worker's exit, and a worker exits when the channel closes.
import assert from 'node:assert';
import type { ChildProcess } from 'node:child_process';
import { isFromWorker, isToWorker, type FromWorker, type ToWorker } from './messages.js';

// A worker's heartbeat: a message that a hung event loop does not send. Both ends compute the same period. Cold path.

/** The longest period of heartbeats. A short `--worker-hang-timeout` makes them more frequent. */
const HEARTBEAT_MS_MAX = 2_500;

/** How many heartbeats there are in the time after which a worker counts as hung: one late heartbeat has no effect. */
const HEARTBEATS_PER_HANG_TIMEOUT = 4;

/** The time between two heartbeats, in ms. */
export function heartbeatPeriodMs(hangTimeoutMs: number): number {
  return Math.min(Math.max(1, Math.floor(hangTimeoutMs / HEARTBEATS_PER_HANG_TIMEOUT)), HEARTBEAT_MS_MAX);
}

/** Sends heartbeats for the life of the process; none if `hangTimeoutMs` is 0. */
export function sendHeartbeats(primary: PrimaryChannel, hangTimeoutMs: number): void {
  if (hangTimeoutMs === 0) return;
  setInterval(() => primary.send({ kind: 'heartbeat' }), heartbeatPeriodMs(hangTimeoutMs)).unref();
}

export function sendToWorker(worker: ChildProcess | undefined, message: ToWorker): void {
  // With a callback, the error of a closed channel is neither thrown nor emitted.
  if (worker?.connected === true) worker.send(message, () => {});
}

/** Receives messages at the primary's end. @param onUnknown called for any other value: a faulty worker must not end the primary. */
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

/** The worker's end of the channel to the primary. */
export interface PrimaryChannel {
  send(message: FromWorker): void;
  /** Sets the handler of messages. A value that is no message ends the worker. */
  onMessage(handler: (message: ToWorker) => void): void;
  /** Sets the handler for the channel's end. It is called in a microtask if the channel is closed already. */
  onDisconnect(handler: () => void): void;
}

/** Opens the worker's end of the channel. Node.js holds messages back until `onMessage` is called. */
export function connectToPrimary(): PrimaryChannel {
  return {
    send(message) {
      if (process.connected) process.send?.(message, undefined, undefined, () => {});
    },
    onMessage(handler) {
      process.on('message', (value: unknown) => {
        assert(isToWorker(value), 'the primary sent an unknown message');
        // First, Node.js delivers all messages that it held back, which a handler that closes the channel would prevent.
        queueMicrotask(() => handler(value));
      });
    },
    onDisconnect(handler) {
      if (process.connected) process.once('disconnect', handler);
      else queueMicrotask(handler);
    },
  };
}
