// Hands over an answer of a known length, whole or in parts, as fast as its caller takes it. What does not fit waits where it
// is: its memory is the answer's until the library has taken all of it. Hot for large answers only.
import { largeMemory } from '../../shared/large-memory.js';
import type { HttpResponse } from './http-library.js';

const NOTHING = new Uint8Array(0);

/** `room`: the part was taken, and there is room for another. `full`: it waits. `complete`: that was all of the answer. */
export type Handover = 'room' | 'full' | 'complete';

export class PartWriter {
  readonly #res: HttpResponse;
  readonly #answerBytes: number;
  #part: Uint8Array = NOTHING;
  /** Where the part begins in the answer. */
  #partStart = 0;
  #takenBytes = 0;

  constructor(res: HttpResponse, answerBytes: number) {
    this.#res = res;
    this.#answerBytes = answerBytes;
  }

  /** How much the library had taken when it last said. */
  get takenBytes(): number {
    return this.#takenBytes;
  }

  /** Whether all of the answer was given. */
  get isGiven(): boolean {
    return this.#partStart + this.#part.length === this.#answerBytes;
  }

  /** Within a `cork`. */
  write(part: Uint8Array): Handover {
    this.#part = part;
    return this.tryMore(this.#partStart);
  }

  /** Within a `cork`, or `onWritable`. @param offset in the answer, from where the library has none. */
  tryMore(offset: number): Handover {
    this.#takenBytes = offset;
    const [hasRoom, isComplete] = this.#res.tryEnd(this.#part.subarray(offset - this.#partStart), this.#answerBytes);
    if (isComplete) {
      largeMemory.giveBack(this.#part);
      this.#takenBytes = this.#answerBytes;
      this.#part = NOTHING;
      return 'complete';
    }
    if (!hasRoom) return 'full';
    // Its owner may use the memory again.
    this.#partStart += this.#part.length;
    this.#takenBytes = this.#partStart;
    this.#part = NOTHING;
    return 'room';
  }

  /** Nobody takes the rest. */
  drop(): void {
    this.#part = NOTHING;
  }
}
