// The only file that uses pino: JSON lines on standard output, one logger per process.
import { createHash } from 'node:crypto';
import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino, type Logger as PinoLogger } from 'pino';
import { KIB, MIB } from './values.js';

// A fault of something outside of this process, such as the store. It is logged without a stack trace: where it was noticed is of no use.

export class OutsideFault extends Error {
  override readonly name: string = 'OutsideFault';
}

/** Interval between log lines about failed requests to one backend. After that, failures in between are counted in the next line. */
export const FAILURE_LOG_INTERVAL_MS = 10_000;

// Log lines that a caller could trigger over and over: the first of a kind is logged at once, the others are counted in the next line of
// that kind once an interval has passed. Cold path: only for failures.

/**
 * Kinds of log line, such as about one subject's broken config, whose repetitions are counted. Beyond that, the oldest kind is forgotten,
 * and logged again when it recurs.
 */
export const REPEATED_LOG_KINDS_MAX = 1_024;

/** Limits the lines of all kinds together. */
interface SharedLines {
  /** @returns whether the event may be logged. */
  tryTake(who: string): boolean;
  /** How many events were not logged since the last call. */
  takeRefused(): number;
}

interface RepeatedKind {
  loggedAtMs: number;
  unloggedCount: number;
}

export class RepeatedLog {
  readonly #nowMs: () => number;
  /** Ordered by when they were last logged. */
  readonly #kinds = new Map<string, RepeatedKind>();

  readonly #shares: SharedLines | undefined;

  /** @param shares limits the lines in total and per subject, where there are many kinds. */
  constructor(nowMs: () => number = () => performance.now(), shares?: SharedLines) {
    this.#nowMs = nowMs;
    this.#shares = shares;
  }

  /**
   * @param kind lines of the same kind count as repetitions.
   * @param who the subject whose share of lines it takes from.
   */
  log(level: 'info' | 'warn' | 'error', logger: Logger, kind: string, fields: object, message: string, who = ''): void {
    const notLogged = this.#take(kind, who);
    if (notLogged === undefined) return;
    const withoutRoom = this.#shares?.takeRefused() ?? 0;
    const counts = { ...(notLogged > 0 && { notLogged }), ...(withoutRoom > 0 && { withoutRoom }) };
    logger[level]({ ...fields, ...counts }, message);
  }

  warn(logger: Logger, kind: string, fields: object, message: string): void {
    this.log('warn', logger, kind, fields, message);
  }

  error(logger: Logger, kind: string, fields: object, message: string): void {
    this.log('error', logger, kind, fields, message);
  }

  /** @returns how many lines of the kind were not logged before this one, or `undefined` when this one is not logged either. */
  #take(kind: string, who = ''): number | undefined {
    const nowMs = this.#nowMs();
    const known = this.#kinds.get(kind);
    if (known !== undefined && nowMs - known.loggedAtMs < FAILURE_LOG_INTERVAL_MS) {
      known.unloggedCount += 1;
      return undefined;
    }
    if (this.#shares?.tryTake(who) === false) return undefined;
    this.#kinds.delete(kind);
    if (this.#kinds.size >= REPEATED_LOG_KINDS_MAX) {
      const [oldest] = this.#kinds.keys();
      if (oldest !== undefined) this.#kinds.delete(oldest);
    }
    this.#kinds.set(kind, { loggedAtMs: nowMs, unloggedCount: 0 });
    return known?.unloggedCount ?? 0;
  }
}

// Writes log lines to standard output. A reader that is slow, stuck or gone, or a full disk, must neither block the process nor end it. So
// nothing here waits: what is not accepted at once is kept up to a bound, and what exceeds the bound is dropped and counted. Hot path when
// the access log is on.
//
//   open ── EAGAIN ──▶ waiting ── everything taken ──▶ open        waiting: lines are kept, a timer tries again
//   any ── another error ──▶ failed ── a pause ──▶ open            failed: lines are dropped without a try

/** Bytes of log lines of a process that wait for a slow reader of standard output. Beyond that, further lines are dropped and counted. */
const LOG_BYTES_WAITING_MAX = MIB;
/** Interval between attempts to write waiting log lines, and pause after standard output failed. */
export const LOG_RETRY_MS = 50;
/** Time that a process which ends waits for the reader of its last log lines. After that, the lines are lost. */
const LOG_FLUSH_MS_MAX = 1_000;
/** The reused buffer that log lines are encoded in. A longer line gets a buffer of its own. */
const LOG_LINE_SCRATCH_BYTES = 16 * KIB;

const FLUSH_LOOK_MS = 5;

/** A process has one, for its standard output. */
export class LogOutput {
  readonly #fd: number;
  readonly #onDropped: (lines: number) => void;
  /** Lines are encoded here, so that a line needs no buffer of its own. */
  readonly #scratch = Buffer.allocUnsafe(LOG_LINE_SCRATCH_BYTES);
  /** Waiting lines; the first may be a remainder. */
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #retryTimer: NodeJS.Timeout | undefined;
  #failedUntilMs = 0;
  #droppedLines = 0;

  /**
   * @param fd is made non-blocking if it could block.
   * @param onDropped receives the number of lost lines, once lines are accepted again.
   */
  constructor(fd: number, onDropped: (lines: number) => void) {
    this.#fd = openNonBlocking(fd);
    this.#onDropped = onDropped;
  }

  /** Gives a slow reader a moment to take the waiting lines; what it has not taken by then is lost. */
  async flush(): Promise<void> {
    const endMs = performance.now() + LOG_FLUSH_MS_MAX;
    while (this.#waiting.length > 0 && performance.now() < endMs) {
      await sleep(FLUSH_LOOK_MS);
      this.#retry();
    }
  }

  /** @param line a whole line with its line end. Never throws. */
  write(line: string): void {
    // A UTF-16 unit takes at most three bytes.
    const isShort = line.length * 3 <= this.#scratch.length;
    const bytes = isShort ? this.#scratch.subarray(0, this.#scratch.write(line)) : Buffer.from(line);
    if (this.#waiting.length > 0) this.#keep(bytes);
    else if (this.#failedUntilMs > 0 && performance.now() < this.#failedUntilMs) this.#droppedLines++;
    else this.#offer(bytes);
  }

  #offer(bytes: Buffer): void {
    const taken = this.#tryWrite(bytes);
    if (taken === undefined) return;
    if (taken < bytes.length) this.#keep(bytes.subarray(taken));
    else if (this.#droppedLines > 0) this.#tellDropped();
  }

  /** How many bytes were accepted; `undefined` when the line is lost and its rest must not be kept. */
  #tryWrite(bytes: Buffer): number | undefined {
    try {
      this.#failedUntilMs = 0;
      return writeSync(this.#fd, bytes);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return 0;
      this.#failedUntilMs = performance.now() + LOG_RETRY_MS;
      this.#droppedLines++;
      return undefined;
    }
  }

  #keep(bytes: Buffer): void {
    if (this.#waitingBytes + bytes.length > LOG_BYTES_WAITING_MAX) {
      this.#droppedLines++;
      return;
    }
    this.#waiting.push(Buffer.from(bytes));
    this.#waitingBytes += bytes.length;
    this.#retryTimer ??= setTimeout(() => this.#retry(), LOG_RETRY_MS).unref();
  }

  /** Line by line: the kernel keeps short writes of several processes to one pipe apart, but not the parts of long ones. */
  #retry(): void {
    clearTimeout(this.#retryTimer);
    this.#retryTimer = undefined;
    let index = 0;
    for (const bytes of this.#waiting) {
      const taken = this.#tryWrite(bytes);
      if (taken !== undefined && taken < bytes.length) {
        this.#waiting[index] = bytes.subarray(taken);
        this.#waitingBytes -= taken;
        break;
      }
      index++;
      this.#waitingBytes -= bytes.length;
    }
    this.#waiting = this.#waiting.slice(index);
    if (this.#waiting.length > 0) this.#retryTimer = setTimeout(() => this.#retry(), LOG_RETRY_MS).unref();
    else if (this.#droppedLines > 0 && this.#failedUntilMs === 0) this.#tellDropped();
  }

  #tellDropped(): void {
    const lines = this.#droppedLines;
    this.#droppedLines = 0;
    this.#onDropped(lines);
  }
}

/**
 * Opens a pipe or a terminal again where the system allows it: the non-blocking flag is shared by all holders of a descriptor, and other
 * programs did not ask for it. A socket cannot be opened again, but only processes of this program share it.
 */
function openNonBlocking(fd: number): number {
  const stats = fstatSync(fd);
  if (stats.isFIFO() || stats.isCharacterDevice()) {
    try {
      return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    } catch {
      // Not supported here, or the pipe has no reader: then a write fails at once and does not block.
    }
  }
  if (stats.isSocket() || stats.isFIFO()) heldSockets.push(new Socket({ fd, readable: false }).unref());
  return fd;
}

/** Sockets that made their descriptors non-blocking; collected as garbage, they would close them. */
const heldSockets: Socket[] = [];

const STDOUT = 1;

export type Logger = PinoLogger;

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export function isLogLevel(value: unknown): value is LogLevel {
  return LOG_LEVELS.some((level) => level === value);
}

let output: LogOutput | undefined;
/** One per process, a few in tests. A logger made by `child` keeps the level that it was created with. */
const loggers: Logger[] = [];

/** @param bindings members of every line, for example `{slot: 2}`. */
export function createLogger(level: string, bindings: Record<string, string | number>): Logger {
  output ??= new LogOutput(STDOUT, (droppedLines) => {
    logger.warn({ droppedLines }, 'log lines were dropped: standard output did not accept them');
  });
  const options = {
    level,
    base: { pid: process.pid, ...bindings },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: errorInLog },
  };
  const logger = pino(options, output);
  loggers.push(logger);
  return logger;
}

function errorInLog(error: Error): object {
  const told = pino.stdSerializers.err(error);
  return error instanceof OutsideFault ? { ...told, stack: undefined } : told;
}

/** Sets the level of every logger that `createLogger` has made in this process. */
export function setLogLevel(level: LogLevel): void {
  for (const logger of loggers) logger.level = level;
}

/** Call before the process exits: lines that a slow reader has not taken yet would be lost. */
export async function flushLog(): Promise<void> {
  await output?.flush();
}

/** A subject as it appears in log lines: the first 12 hex digits of its SHA-256, so that no identity is logged (X23). */
export function subjectHash(subject: string): string {
  return createHash('sha256').update(subject).digest('hex').slice(0, 12);
}

/** A session as it appears to people: its id gives access to it, so it is never shown whole. */
export function sessionHash(id: string): string {
  return subjectHash(id);
}
