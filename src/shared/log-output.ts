// Where log lines go: standard output, which somebody else reads, or does not. A reader that is slow, stands still or is
// gone, and a disk that is full, must neither hold up a process nor end it. So nothing here waits: what is not taken at
// once is kept up to a bound, and what is beyond it is dropped and counted. Hot, with the access log on.
//
//   open ── EAGAIN ──▶ waiting ── everything taken ──▶ open        waiting: lines are kept, a timer tries again
//   any ── another error ──▶ failed ── a pause ──▶ open            failed: lines are dropped without a try
import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from './limits.js';

const FLUSH_LOOK_MS = 5;

export class LogOutput {
  readonly #fd: number;
  readonly #onDropped: (lines: number) => void;
  /** A line is encoded here, so that it costs no buffer of its own. */
  readonly #scratch = Buffer.allocUnsafe(limits.logLineScratchBytes);
  /** Lines, each as far as it has not been taken. */
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #retryTimer: NodeJS.Timeout | undefined;
  #failedUntilMs = 0;
  #droppedLines = 0;

  /**
   * @param fd is made non-blocking where it can block.
   * @param onDropped is told how many lines are missing, once lines are taken again.
   */
  constructor(fd: number, onDropped: (lines: number) => void) {
    this.#fd = openNonBlocking(fd);
    this.#onDropped = onDropped;
  }

  /** Gives a slow reader of what waits a moment; what it has not taken by then stays behind. */
  async flush(): Promise<void> {
    const endMs = performance.now() + limits.logFlushMsMax;
    while (this.#waiting.length > 0 && performance.now() < endMs) {
      await sleep(FLUSH_LOOK_MS);
      this.#retry();
    }
  }

  /** A whole line with its end. Never throws. */
  write(line: string): void {
    // A UTF-16 unit takes three bytes at most.
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

  /** How much was taken; `undefined` when there is no use in keeping the rest. */
  #tryWrite(bytes: Buffer): number | undefined {
    try {
      this.#failedUntilMs = 0;
      return writeSync(this.#fd, bytes);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return 0;
      this.#failedUntilMs = performance.now() + limits.logRetryMs;
      this.#droppedLines++;
      return undefined;
    }
  }

  #keep(bytes: Buffer): void {
    if (this.#waitingBytes + bytes.length > limits.logBytesWaitingMax) {
      this.#droppedLines++;
      return;
    }
    this.#waiting.push(Buffer.from(bytes));
    this.#waitingBytes += bytes.length;
    this.#retryTimer ??= setTimeout(() => this.#retry(), limits.logRetryMs).unref();
  }

  /** Line by line: the kernel keeps short writes of several processes into one pipe apart, but not parts of long ones. */
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
    if (this.#waiting.length > 0) this.#retryTimer = setTimeout(() => this.#retry(), limits.logRetryMs).unref();
    else if (this.#droppedLines > 0 && this.#failedUntilMs === 0) this.#tellDropped();
  }

  #tellDropped(): void {
    const lines = this.#droppedLines;
    this.#droppedLines = 0;
    this.#onDropped(lines);
  }
}

/**
 * A pipe or a terminal is opened anew where the system lets us: whether a descriptor blocks is shared by all who hold
 * it, and those others did not ask for it. A socket cannot be opened anew; it is shared by our own processes.
 */
function openNonBlocking(fd: number): number {
  const stats = fstatSync(fd);
  if (stats.isFIFO() || stats.isCharacterDevice()) {
    try {
      return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    } catch {
      // No such way here, or nobody reads: then a write fails at once and does not block.
    }
  }
  if (stats.isSocket() || stats.isFIFO()) heldSockets.push(new Socket({ fd, readable: false }).unref());
  return fd;
}

/** They made their descriptors non-blocking, and would close them when they are collected. */
const heldSockets: Socket[] = [];
