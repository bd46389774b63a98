// Watches one caller that takes its answer slowly. uWebSockets.js closes a connection on which nothing could be written
// for about ten seconds; a write that is tried begins them anew, also when the kernel takes none of it. So while a caller
// is slow something is tried every few seconds, and how long it may take nothing is ours to say. Cold: made when a
// caller is slow for the first time.
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
   * Begins to watch.
   * @param tryMore tries to hand over more, and answers whether any of it was taken.
   * @param onStalled is called once nothing was taken for `timeoutMs`; the watch is over then.
   */
  constructor(deadlines: DeadlineWheel, timeoutMs: number, tryMore: () => boolean, onStalled: () => void) {
    this.#timeoutMs = timeoutMs;
    this.#tryMore = tryMore;
    this.#onStalled = onStalled;
    this.#next = deadlines.after(this.#waitMs(), () => this.#look());
  }

  /** The caller has become slow again. Changes nothing while it is slow. */
  start(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    this.noteProgress();
    this.#next.restart();
  }

  /** The caller has taken something. */
  noteProgress(): void {
    this.#progressAtMs = performance.now();
  }

  /** It has taken everything, or nothing more matters. */
  stop(): void {
    this.#isWatching = false;
    this.#next.cancel();
  }

  #look(): void {
    if (this.#tryMore()) this.noteProgress();
    // What was tried may have been the last of the answer.
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
