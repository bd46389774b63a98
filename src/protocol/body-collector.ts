// A body put together from the pieces that it comes in, which are copied: into one memory when its length is known. Hot:
// most bodies are one piece.
import { Buffer } from 'node:buffer';
import { largeMemory } from '../shared/large-memory.js';
import { limits } from '../shared/limits.js';
import { addPiece } from './byte-pieces.js';

const NOTHING = Buffer.alloc(0);

export class BodyCollector {
  #length = 0;
  /** The first piece; with room for the whole body when its length was known. */
  #memory: Buffer = NOTHING;
  /** Once the memory was too small. */
  #pieces: Buffer[] | undefined;

  get length(): number {
    return this.#length;
  }

  /** What there is, as one; large memory that its last owner may give back (shared/large-memory.ts). */
  get bytes(): Buffer {
    if (this.#pieces !== undefined) return Buffer.concat(this.#pieces);
    return this.#length === this.#memory.length ? this.#memory : this.#memory.subarray(0, this.#length);
  }

  /**
   * Takes a copy of the piece.
   * @param bodyBytes of the whole body, as far as is known: anything below the truth, `NaN` too, when it is not.
   */
  add(piece: Uint8Array, bodyBytes: number): void {
    const at = this.#length;
    this.#length += piece.length;
    if (at === 0 && piece.length > 0) {
      // No more than that on the word of who may never send it.
      const bytes = Math.max(piece.length, Math.min(bodyBytes || 0, limits.bodyReservedBytesMax));
      this.#memory = bytes < limits.largeMemoryFromBytes ? Buffer.allocUnsafe(bytes) : largeMemory.take(bytes);
    }
    if (this.#length <= this.#memory.length) {
      this.#memory.set(piece, at);
    } else {
      this.#pieces ??= [this.#memory.subarray(0, at)];
      addPiece(this.#pieces, piece);
    }
  }

  clear(): void {
    this.#length = 0;
    this.#memory = NOTHING;
    this.#pieces = undefined;
  }
}
