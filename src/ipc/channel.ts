// Both ends of the channel between the primary and a worker, typed, and closed to anything that is not in messages.ts.
// An end that is gone is not an error here: what is sent to it is lost, and whoever supervises it hears of its exit.
//
// A worker ignores SIGINT and SIGTERM: on Ctrl-C the whole process group gets them, but only the primary decides when a
// worker drains. `stop` may come at any time after `start`, and a worker exits by itself when the channel closes.
import assert from 'node:assert';
import type { ChildProcess } from 'node:child_process';
import { isSeries } from '../metrics/series.js';
import { isLogLevel } from '../shared/logger.js';
import type { FromWorker, ToWorker } from './messages.js';
import { isViewQuestion } from './view-question.js';

/** The primary's end: sends one message to a worker. */
export function sendToWorker(worker: ChildProcess, message: ToWorker): void {
  // With a callback a closed channel is reported to it alone, and neither thrown nor emitted.
  if (worker.connected) worker.send(message, () => {});
}

/**
 * The primary's end: hands each message of a worker to `onMessage`, and what is none of the set to `onStray`, because
 * one faulty worker must not end the primary.
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
  /** A value that is none of the set means a broken build: it throws, and so ends the worker. */
  onMessage(handler: (message: ToWorker) => void): void;
  /** The primary is gone, or has let go of this worker. Called at once if that has happened already. */
  onDisconnect(handler: () => void): void;
}

/** Messages that came before `onMessage` was called are not lost: Node.js holds them back until then. */
export function connectToPrimary(): PrimaryChannel {
  return {
    send(message) {
      if (process.connected) process.send?.(message, undefined, undefined, () => {});
    },
    onMessage(handler) {
      process.on('message', (value: unknown) => {
        assert(isToWorker(value), 'the primary sent an unknown message');
        // After Node.js has handed out what it held back: a handler that closes the channel in the midst of that would
        // take away what Node.js goes on with.
        queueMicrotask(() => handler(value));
      });
    },
    onDisconnect(handler) {
      if (process.connected) process.once('disconnect', handler);
      else queueMicrotask(handler);
    },
  };
}

/** Exported for tests alone, as `isToWorker` is. */
export function isFromWorker(value: unknown): value is FromWorker {
  return isOneOf(fromWorkerChecks, value);
}

export function isToWorker(value: unknown): value is ToWorker {
  return isOneOf(toWorkerChecks, value);
}

type Fields = Readonly<Record<string, unknown>>;
type Checks<Kind extends string> = Readonly<Record<Kind, (fields: Fields) => boolean>>;

// A table by kind rather than a switch: a message without its check does not compile.
const fromWorkerChecks: Checks<FromWorker['kind']> = {
  listening: () => true,
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
  // The options were checked where they were made (config), in the same build of the program.
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
  // Own kinds only: `toString` is not a message.
  return typeof fields.kind === 'string' && Object.hasOwn(checks, fields.kind) && checks[fields.kind as Kind](fields);
}
