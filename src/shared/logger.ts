// The only file that uses pino: JSON lines on standard output, one logger per process.
import { createHash } from 'node:crypto';
import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino, type Logger as PinoLogger } from 'pino';
import { KIB, MIB } from './values.js';

/** A fault of something outside this process, such as the store. It is logged without a stack trace. */
export class OutsideFault extends Error {
  override readonly name: string = 'OutsideFault';
}

/** Interval between log lines of one kind. Repetitions are counted in the next line. */
export const FAILURE_LOG_INTERVAL_MS = 10_000;

/** The most kinds of log lines whose repetitions are counted. Then the oldest kind is forgotten. */
export const REPEATED_LOG_KINDS_MAX = 1_024;

interface LineLimiter {
  /** Takes room for one line about the subject. @returns false if there is none, so that the line must not be logged. */
  tryTake(subject: string): boolean;
  /** How many lines were refused since the last call. */
  takeRefused(): number;
}

interface RepeatedKind {
  loggedAtMs: number;
  unloggedCount: number;
}

/**
 * Logs lines that a caller could trigger over and over: the first of a kind at once, later ones are counted in the next line of that
 * kind, after an interval. Cold path.
 */
export class RepeatedLog {
  readonly #nowMs: () => number;
  readonly #kinds = new Map<string, RepeatedKind>();
  readonly #limiter: LineLimiter | undefined;

  /** @param limiter limits all lines together, and those about one subject. */
  constructor(nowMs: () => number = () => performance.now(), limiter?: LineLimiter) {
    this.#nowMs = nowMs;
    this.#limiter = limiter;
  }

  /** Logs a line, or counts it. @param kind lines of one kind are repetitions. @param subject whom the line is about. */
  log(
    level: 'info' | 'warn' | 'error',
    logger: Logger,
    kind: string,
    fields: object,
    message: string,
    subject = '',
  ): void {
    const notLogged = this.#takeLine(kind, subject);
    if (notLogged === undefined) return;
    const withoutRoom = this.#limiter?.takeRefused() ?? 0;
    const counts = { ...(notLogged > 0 && { notLogged }), ...(withoutRoom > 0 && { withoutRoom }) };
    logger[level]({ ...fields, ...counts }, message);
  }

  warn(logger: Logger, kind: string, fields: object, message: string): void {
    this.log('warn', logger, kind, fields, message);
  }

  error(logger: Logger, kind: string, fields: object, message: string): void {
    this.log('error', logger, kind, fields, message);
  }

  /** Decides about a line. @returns how many lines of its kind were not logged before; `undefined` if this line must not be logged. */
  #takeLine(kind: string, subject = ''): number | undefined {
    const nowMs = this.#nowMs();
    const known = this.#kinds.get(kind);
    if (known !== undefined && nowMs - known.loggedAtMs < FAILURE_LOG_INTERVAL_MS) {
      known.unloggedCount += 1;
      return undefined;
    }
    if (this.#limiter?.tryTake(subject) === false) return undefined;
    this.#kinds.delete(kind);
    if (this.#kinds.size >= REPEATED_LOG_KINDS_MAX) {
      const [oldest] = this.#kinds.keys();
      if (oldest !== undefined) this.#kinds.delete(oldest);
    }
    this.#kinds.set(kind, { loggedAtMs: nowMs, unloggedCount: 0 });
    return known?.unloggedCount ?? 0;
  }
}

// Writes log lines to standard output. A slow reader or a full disk must neither block nor end the process: lines that are not accepted at
// once are kept, up to a bound; further lines are dropped and counted. Hot path when the access log is on.
//   open ── EAGAIN ──▶ waiting ── everything taken ──▶ open        waiting: lines are kept, a timer tries again
//   any ── another error ──▶ failed ── a pause ──▶ open            failed: lines are dropped without a try

/** The most bytes of lines that wait for a slow reader. Further lines are dropped and counted. */
const LOG_BYTES_WAITING_MAX = MIB;
/** Interval between attempts to write, and pause after a write has failed. */
export const LOG_RETRY_MS = 50;
/** The most time that a process waits, before it exits, for a slow reader of its last lines. */
const LOG_FLUSH_MS_MAX = 1_000;
/** The size of the buffer in which lines are encoded. A longer line gets a buffer of its own. */
const LOG_LINE_SCRATCH_BYTES = 16 * KIB;

const FLUSH_CHECK_MS = 5;

export class LogOutput {
  readonly #fd: number;
  readonly #onDropped: (lines: number) => void;
  readonly #scratch = Buffer.allocUnsafe(LOG_LINE_SCRATCH_BYTES);
  /** The lines that wait. The first may be the rest of a line. */
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #retryTimer: NodeJS.Timeout | undefined;
  #droppingUntilMs = 0;
  #droppedLines = 0;

  /**
   * @param fd is made non-blocking.
   * @param onDropped gets the number of lost lines, once lines are accepted again.
   */
  constructor(fd: number, onDropped: (lines: number) => void) {
    this.#fd = openNonBlocking(fd);
    this.#onDropped = onDropped;
  }

  /** Writes the waiting lines; gives up after `LOG_FLUSH_MS_MAX` if the reader is slow. */
  async flush(): Promise<void> {
    const endMs = performance.now() + LOG_FLUSH_MS_MAX;
    while (this.#waiting.length > 0 && performance.now() < endMs) {
      await sleep(FLUSH_CHECK_MS);
      this.#retry();
    }
  }

  /** Writes a line. @param line with its line end. Never throws. */
  write(line: string): void {
    // A UTF-16 unit takes at most three bytes.
    const isShort = line.length * 3 <= this.#scratch.length;
    const bytes = isShort ? this.#scratch.subarray(0, this.#scratch.write(line)) : Buffer.from(line);
    if (this.#waiting.length > 0) this.#keep(bytes);
    else if (this.#droppingUntilMs > 0 && performance.now() < this.#droppingUntilMs) this.#droppedLines++;
    else this.#offer(bytes);
  }

  #offer(bytes: Buffer): void {
    const acceptedBytes = this.#tryWrite(bytes);
    if (acceptedBytes === undefined) return;
    if (acceptedBytes < bytes.length) this.#keep(bytes.subarray(acceptedBytes));
    else if (this.#droppedLines > 0) this.#reportDropped();
  }

  /** Tries to write. @returns the accepted bytes; `undefined` when the line is lost. */
  #tryWrite(bytes: Buffer): number | undefined {
    try {
      this.#droppingUntilMs = 0;
      return writeSync(this.#fd, bytes);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return 0;
      this.#droppingUntilMs = performance.now() + LOG_RETRY_MS;
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

  /** Writes the waiting lines one by one: the kernel does not mix short writes of several processes to one pipe. */
  #retry(): void {
    clearTimeout(this.#retryTimer);
    this.#retryTimer = undefined;
    let index = 0;
    for (const bytes of this.#waiting) {
      const acceptedBytes = this.#tryWrite(bytes);
      if (acceptedBytes !== undefined && acceptedBytes < bytes.length) {
        this.#waiting[index] = bytes.subarray(acceptedBytes);
        this.#waitingBytes -= acceptedBytes;
        break;
      }
      index++;
      this.#waitingBytes -= bytes.length;
    }
    this.#waiting = this.#waiting.slice(index);
    if (this.#waiting.length > 0) this.#retryTimer = setTimeout(() => this.#retry(), LOG_RETRY_MS).unref();
    else if (this.#droppedLines > 0 && this.#droppingUntilMs === 0) this.#reportDropped();
  }

  #reportDropped(): void {
    const lines = this.#droppedLines;
    this.#droppedLines = 0;
    this.#onDropped(lines);
  }
}

/**
 * Opens a pipe or a terminal again where possible, because all holders of a descriptor share the non-blocking flag. A socket cannot be
 * opened again, but only this program's processes share it.
 */
function openNonBlocking(fd: number): number {
  const stats = fstatSync(fd);
  if (stats.isFIFO() || stats.isCharacterDevice()) {
    try {
      return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    } catch {
      // The descriptor cannot be opened again here, or the pipe has no reader: then a write fails at once.
    }
  }
  if (stats.isSocket() || stats.isFIFO()) keptSockets.push(new Socket({ fd, readable: false }).unref());
  return fd;
}

/** Sockets that are kept, because a garbage-collected one closes its descriptor. */
const keptSockets: Socket[] = [];

const STDOUT = 1;

export type Logger = PinoLogger;

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export function isLogLevel(value: unknown): value is LogLevel {
  return LOG_LEVELS.some((level) => level === value);
}

let output: LogOutput | undefined;
/** The loggers: one, or a few in tests. `setLogLevel` does not reach those made by `child`. */
const loggers: Logger[] = [];

/** Creates a logger. @param bindings members of every line, such as `{slot: 2}`. */
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
  const fields = pino.stdSerializers.err(error);
  return error instanceof OutsideFault ? { ...fields, stack: undefined } : fields;
}

export function setLogLevel(level: LogLevel): void {
  for (const logger of loggers) logger.level = level;
}

/** Writes the lines that wait for a slow reader. To be called before the process exits. */
export async function flushLog(): Promise<void> {
  await output?.flush();
}

/** A subject in the log: the first 12 hex digits of its SHA-256 (X23). */
export function subjectHash(subject: string): string {
  return createHash('sha256').update(subject).digest('hex').slice(0, 12);
}

/** A session in logs and views: a hash, since the id gives access to the session. */
export function sessionHash(id: string): string {
  return subjectHash(id);
}
