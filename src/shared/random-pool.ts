// Random bytes, drawn for many uses at once, because a call for random bytes costs far more than the bytes.
import { randomFillSync } from 'node:crypto';

const DRAWS = 256;

export class RandomPool {
  readonly #pool: Buffer;
  readonly #bytes: number;
  #used: number;

  /** @param bytes that each `next` returns. */
  constructor(bytes: number) {
    this.#bytes = bytes;
    this.#pool = Buffer.alloc(bytes * DRAWS);
    this.#used = this.#pool.length;
  }

  /** Bytes that were never returned before. They belong to the caller only until the next call, which may refill the pool. */
  next(): Buffer {
    if (this.#used === this.#pool.length) {
      randomFillSync(this.#pool);
      this.#used = 0;
    }
    const from = this.#used;
    this.#used += this.#bytes;
    return this.#pool.subarray(from, this.#used);
  }
}
