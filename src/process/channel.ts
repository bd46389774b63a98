// Both ends of the channel between the primary and a worker: typed, and limited to the messages in messages.ts. A closed peer is no
// error here: messages to it are lost, and its supervisor sees the exit.
//
// A worker ignores SIGINT and SIGTERM: Ctrl-C reaches the whole process group, but only the primary decides when a worker drains.
// `stop` may come at any time after `start`, and a worker exits by itself when the channel closes.
import assert from 'node:assert';
import type { ChildProcess } from 'node:child_process';
import { isSeries } from '../metrics/index.js';
import { isLogLevel } from '../shared/index.js';
import { type FromWorker, type ToWorker, isViewQuestion } from './messages.js';

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
 * The primary's end: passes each message of a worker to `onMessage`, and any other value to `onStray`, because one faulty worker
 * must not end the primary.
 */
export function receiveFromWorker(
  worker: ChildProcess,
  onMessage: (message: FromWorker) => void,
  onStray: () => void,
): void {
  worker.on('message', (value: unknown) => {
    if (isFromWorker(value)) onMessage(value);
    else onStray();
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

/** Exported for tests only, like `isToWorker`. */
export function isFromWorker(value: unknown): value is FromWorker {
  return isOneOf(fromWorkerChecks, value);
}

export function isToWorker(value: unknown): value is ToWorker {
  return isOneOf(toWorkerChecks, value);
}

type Fields = Readonly<Record<string, unknown>>;
type Checks<Kind extends string> = Readonly<Record<Kind, (fields: Fields) => boolean>>;

// A table by kind instead of a switch: a message kind without its check does not compile.
const fromWorkerChecks: Checks<FromWorker['kind']> = {
  listening: ({ version }) => version === undefined || typeof version === 'string',
  'start-failed': (fields) => typeof fields.reason === 'string',
  left: () => true,
  drained: () => true,
  heartbeat: () => true,
  report: ({ ticket, series }) => typeof ticket === 'number' && Array.isArray(series) && series.every(isSeries),
  store: (fields) => typeof fields.obstacle === 'string',
  keys: ({ obstacle, isInTheWay }) => typeof obstacle === 'string' && typeof isInTheWay === 'boolean',
  view: ({ ticket, answer }) => typeof ticket === 'number' && typeof answer === 'string',
  written: (fields) => typeof fields.subject === 'string' && typeof fields.ticket === 'number',
  forgotten: (fields) => typeof fields.ticket === 'number',
};

const toWorkerChecks: Checks<ToWorker['kind']> = {
  // The options were checked where they were created (config), in the same build of the program.
  start: (fields) =>
    typeof fields.slot === 'number' &&
    typeof fields.slotCount === 'number' &&
    typeof fields.options === 'object' &&
    fields.options !== null &&
    typeof fields.hopDirectory === 'string' &&
    fields.hopSecret instanceof Uint8Array &&
    (fields.bootstrapModule === undefined || typeof fields.bootstrapModule === 'string'),
  retire: () => true,
  'announce-drain': () => true,
  drain: () => true,
  stop: (fields) => typeof fields.withinMs === 'number' && typeof fields.farewellsMs === 'number',
  forget: (fields) => typeof fields.subject === 'string' && typeof fields.ticket === 'number',
  'all-forgotten': (fields) => typeof fields.ticket === 'number',
  report: ({ ticket, series }) => typeof ticket === 'number' && series === undefined,
  view: ({ ticket, question }) => typeof ticket === 'number' && isViewQuestion(question),
  'log-level': ({ level }) => isLogLevel(level),
  readiness: (fields) => typeof fields.isReady === 'boolean',
};

function isOneOf<Kind extends string>(checks: Checks<Kind>, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const fields = value as Fields;
  // Only own properties: `toString` is not a message.
  return typeof fields.kind === 'string' && Object.hasOwn(checks, fields.kind) && checks[fields.kind as Kind](fields);
}
