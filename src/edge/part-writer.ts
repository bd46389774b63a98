// Writes an answer of known length as fast as the caller reads it. A part's memory must not change until the library has taken it. Hot
// path for large answers only.
import { largeMemory } from '../fair/index.js';
import type { HttpResponse } from './http-library.js';

const NO_BYTES = new Uint8Array(0);

/** The outcome of a write. `writable`: another part may follow. `full`: some of the part has to wait. `complete`: all was taken. */
export type WriteProgress = 'writable' | 'full' | 'complete';

export class PartWriter {
  readonly #res: HttpResponse;
  readonly #answerBytes: number;
  /** The function that writes the head, which goes out with the first part; then `undefined`. */
  #writeHead: (() => void) | undefined;
  #part: Uint8Array = NO_BYTES;
  #partStart = 0;
  /** How many bytes of the answer the library had taken after the last write. Changed only here. */
  takenBytes = 0;

  /** @param writeHead called within a `cork`, before the first part. */
  constructor(res: HttpResponse, answerBytes: number, writeHead: () => void) {
    this.#res = res;
    this.#answerBytes = answerBytes;
    this.#writeHead = writeHead;
  }

  /** Whether all parts of the answer were given to this writer. */
  get hasWholeAnswer(): boolean {
    return this.#partStart + this.#part.length === this.#answerBytes;
  }

  write(part: Uint8Array): WriteProgress {
    this.#part = part;
    return this.writeMore(this.#partStart);
  }

  /** Writes the rest of the part. @param offset how many bytes of the answer the library has taken. */
  writeMore(offset: number): WriteProgress {
    let progress: WriteProgress = 'writable';
    this.#res.cork(() => {
      this.#writeHead?.();
      this.#writeHead = undefined;
      progress = this.#writeRest(offset);
    });
    return progress;
  }

  #writeRest(offset: number): WriteProgress {
    this.takenBytes = offset;
    const [isTaken, isComplete] = this.#res.tryEnd(this.#part.subarray(offset - this.#partStart), this.#answerBytes);
    if (isComplete) {
      largeMemory.giveBack(this.#part);
      this.takenBytes = this.#answerBytes;
      this.#part = NO_BYTES;
      return 'complete';
    }
    if (!isTaken) return 'full';
    // The library has copied the part, whose memory may therefore be reused.
    this.#partStart += this.#part.length;
    this.takenBytes = this.#partStart;
    this.#part = NO_BYTES;
    return 'writable';
  }

  drop(): void {
    this.#part = NO_BYTES;
  }
}
