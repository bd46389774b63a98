// A body put together from the pieces that it comes in, which are copied: into one memory when its length is known. Hot:
// most bodies are one piece.
import { Buffer } from 'node:buffer';
import { largeMemory } from '../shared/large-memory.js';
import { limits } from '../shared/limits.js';
import { shortMemory } from '../shared/short-memory.js';
import { grownBytes } from './growth.js';

const NOTHING = Buffer.alloc(0);

export class BodyCollector {
  readonly #bytesMax: number;
  readonly #isPassing: boolean;
  #length = 0;
  /** Has room for the whole body when its length is known. */
  #memory: Buffer = NOTHING;

  /**
   * @param bytesMax that are ever in it, as its owner sees to.
   * @param isPassing whether nobody keeps what was put together: a request's body is kept until its answer, perhaps an hour.
   */
  constructor(bytesMax: number, isPassing: boolean) {
    this.#bytesMax = bytesMax;
    this.#isPassing = isPassing;
  }

  get length(): number {
    return this.#length;
  }

  /** What there is, as one, until more is added; large memory that its last owner may give back (large-memory.ts). */
  get bytes(): Buffer {
    return this.#length === this.#memory.length ? this.#memory : this.#memory.subarray(0, this.#length);
  }

  /**
   * Takes a copy of the piece.
   * @param bodyBytes of the whole body, as far as is known: anything below the truth, `NaN` too, when it is not.
   */
  add(piece: Uint8Array, bodyBytes: number): void {
    const at = this.#length;
    this.#length += piece.length;
    if (this.#length > this.#memory.length) this.#grow(at, bodyBytes || 0);
    this.#memory.set(piece, at);
  }

  clear(): void {
    this.#length = 0;
    this.#memory = NOTHING;
  }

  #grow(filledBytes: number, bodyBytes: number): void {
    const before = this.#memory;
    if (filledBytes === 0) {
      // Its length is only announced: whoever announced it may never send it, so little is reserved ahead.
      this.#memory = this.#take(Math.max(this.#length, Math.min(bodyBytes, limits.bodyReservedBytesMax)));
      return;
    }
    // Who has sent that much is believed: what is reserved is not there before it is written to.
    const isBelieved = Math.min(bodyBytes, this.#bytesMax) > this.#length && this.#length > limits.bodyReservedBytesMax;
    this.#memory = this.#take(
      isBelieved ? Math.min(bodyBytes, this.#bytesMax) : grownBytes(before.length, this.#length, this.#bytesMax),
    );
    before.copy(this.#memory, 0, 0, filledBytes);
    largeMemory.giveBack(before);
  }

  #take(bytes: number): Buffer {
    if (bytes >= limits.largeMemoryFromBytes) return largeMemory.take(bytes);
    return this.#isPassing ? shortMemory(bytes) : Buffer.allocUnsafe(bytes);
  }
}
