// Writes an answer of known length, whole or in parts, as fast as the caller reads it. The memory of a part must not change until the
// library has taken all of it. Hot path for large answers only.
import { largeMemory } from '../fair/index.js';
import type { HttpResponse } from './http-library.js';

const NO_BYTES = new Uint8Array(0);

/** `room`: the part was taken, and another may follow. `full`: some of the part has to wait. `complete`: the whole answer was taken. */
export type WriteProgress = 'room' | 'full' | 'complete';

export class PartWriter {
  readonly #res: HttpResponse;
  readonly #answerBytes: number;
  /** Writes the response head, which goes out with the first part; `undefined` once it was written. */
  #writeHead: (() => void) | undefined;
  #part: Uint8Array = NO_BYTES;
  /** The offset of `#part` in the answer. */
  #partStart = 0;
  #takenBytes = 0;

  /** @param writeHead called once, within a `cork`, before the first part. */
  constructor(res: HttpResponse, answerBytes: number, writeHead: () => void) {
    this.#res = res;
    this.#answerBytes = answerBytes;
    this.#writeHead = writeHead;
  }

  /** The bytes that the library had taken when it last reported. */
  get takenBytes(): number {
    return this.#takenBytes;
  }

  /** Whether the whole answer was handed to this writer. */
  get isGiven(): boolean {
    return this.#partStart + this.#part.length === this.#answerBytes;
  }

  write(part: Uint8Array): WriteProgress {
    this.#part = part;
    return this.tryMore(this.#partStart);
  }

  /** Writes more of the waiting part. @param offset how many bytes of the answer the library has taken. */
  tryMore(offset: number): WriteProgress {
    let progress: WriteProgress = 'room';
    this.#res.cork(() => {
      this.#writeHead?.();
      this.#writeHead = undefined;
      progress = this.#try(offset);
    });
    return progress;
  }

  #try(offset: number): WriteProgress {
    this.#takenBytes = offset;
    const [hasRoom, isComplete] = this.#res.tryEnd(this.#part.subarray(offset - this.#partStart), this.#answerBytes);
    if (isComplete) {
      largeMemory.giveBack(this.#part);
      this.#takenBytes = this.#answerBytes;
      this.#part = NO_BYTES;
      return 'complete';
    }
    if (!hasRoom) return 'full';
    // The part's owner may reuse its memory now.
    this.#partStart += this.#part.length;
    this.#takenBytes = this.#partStart;
    this.#part = NO_BYTES;
    return 'room';
  }

  /** Drops the part that waits: the answer is over. */
  drop(): void {
    this.#part = NO_BYTES;
  }
}
