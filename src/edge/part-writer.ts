// Writes an answer of known length, whole or in parts, as fast as its caller reads it. A part that does not fit stays in its
// own memory, which must not change until the library has taken all of it. Hot path for large answers only.
import { largeMemory } from '../fair/index.js';
import type { HttpResponse } from './http-library.js';

const NOTHING = new Uint8Array(0);

/** `room`: the part was taken, and another may follow. `full`: some of the part has to wait. `complete`: the whole answer was taken. */
export type WriteProgress = 'room' | 'full' | 'complete';

export class PartWriter {
  readonly #res: HttpResponse;
  readonly #answerBytes: number;
  /** Writes the response head, which goes out with the first part; `undefined` once it was written. */
  #writeHead: (() => void) | undefined;
  #part: Uint8Array = NOTHING;
  /** Where the part begins in the answer. */
  #partStart = 0;
  #takenBytes = 0;

  /** @param writeHead is called once, within a `cork`, before the first part. */
  constructor(res: HttpResponse, answerBytes: number, writeHead: () => void) {
    this.#res = res;
    this.#answerBytes = answerBytes;
    this.#writeHead = writeHead;
  }

  /** How many bytes the library had taken at its last report. */
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

  /** @param offset in the answer: how much of it the library has taken. */
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
      this.#part = NOTHING;
      return 'complete';
    }
    if (!hasRoom) return 'full';
    // The part's owner may reuse its memory now.
    this.#partStart += this.#part.length;
    this.#takenBytes = this.#partStart;
    this.#part = NOTHING;
    return 'room';
  }

  /** Drops the part that waits: the answer is over. */
  drop(): void {
    this.#part = NOTHING;
  }
}
