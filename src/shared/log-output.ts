// Writes log lines to standard output. A reader that is slow, stuck or gone, or a full disk, must neither block the process nor end it. So
// nothing here waits: what is not accepted at once is kept up to a bound, and what exceeds the bound is dropped and counted. Hot path when
// the access log is on.
//
//   open ── EAGAIN ──▶ waiting ── everything taken ──▶ open        waiting: lines are kept, a timer tries again
//   any ── another error ──▶ failed ── a pause ──▶ open            failed: lines are dropped without a try
import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { KIB, MIB } from './limits/units.js';

/** Log lines of a process that wait for a slow reader of standard output. Beyond it, further lines are dropped and counted. */
const LOG_BYTES_WAITING_MAX = MIB;
/** Interval between attempts to write waiting log lines, and pause after standard output failed. After it, the write is tried again. */
export const LOG_RETRY_MS = 50;
/** Time that a process which ends waits for the reader of its last log lines. After it, the lines are lost. */
const LOG_FLUSH_MS_MAX = 1_000;
/** The reused buffer that log lines are encoded in. Beyond it, a longer line gets a buffer of its own. */
const LOG_LINE_SCRATCH_BYTES = 16 * KIB;

const FLUSH_LOOK_MS = 5;

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
