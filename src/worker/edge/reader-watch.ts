// Watches a caller that reads its answer slowly. uWebSockets.js closes a connection on which nothing could be written for about ten
// seconds; each attempted write restarts that timer, even if the kernel accepts nothing. So a write is tried every few seconds, and
// the timeout is this class's own. Cold path: created when a caller first becomes slow.
import type { Deadline, DeadlineWheel } from '../../shared/deadline-wheel.js';
import { limits } from '../../shared/limits.js';

export class ReaderWatch {
  readonly #timeoutMs: number;
  readonly #tryMore: () => boolean;
  readonly #onStalled: () => void;
  readonly #next: Deadline;
  #isWatching = true;
  #progressAtMs = performance.now();

  /**
   * Starts watching.
   * @param tryMore tries to write more, and returns whether any of it was taken.
   * @param onStalled is called once nothing was taken for `timeoutMs`; the watch has stopped by then.
   */
  constructor(deadlines: DeadlineWheel, timeoutMs: number, tryMore: () => boolean, onStalled: () => void) {
    this.#timeoutMs = timeoutMs;
    this.#tryMore = tryMore;
    this.#onStalled = onStalled;
    this.#next = deadlines.after(this.#waitMs(), () => this.#look());
  }

  /** The caller has become slow again. No effect while the watch is already running. */
  start(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    this.noteProgress();
    this.#next.restart();
  }

  /** The caller has read something. */
  noteProgress(): void {
    this.#progressAtMs = performance.now();
  }

  /** The caller has read everything, or the answer no longer matters. */
  stop(): void {
    this.#isWatching = false;
    this.#next.cancel();
  }

  #look(): void {
    if (this.#tryMore()) this.noteProgress();
    // `#tryMore` may have completed the answer, which stops the watch.
    if (!this.#isWatching) return;
    if (performance.now() - this.#progressAtMs < this.#timeoutMs) {
      this.#next.restart();
      return;
    }
    this.stop();
    this.#onStalled();
  }

  #waitMs(): number {
    return Math.min(limits.slowReaderTryMs, this.#timeoutMs);
  }
}
