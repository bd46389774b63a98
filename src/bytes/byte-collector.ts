// Collects bytes piece by piece. The memory doubles at first, so many small pieces are copied about twice. Hot path.
import { Buffer } from 'node:buffer';
import { grownBytes } from './body-collector.js';

const NOTHING = Buffer.alloc(0);

export class ByteCollector {
  readonly #bytesMax: number;
  #memory: Buffer = NOTHING;
  #length = 0;

  /** @param bytesMax the most bytes ever collected, which the owner enforces. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get length(): number {
    return this.#length;
  }

  /** The bytes collected so far; valid until more are appended. */
  get view(): Buffer {
    return this.#memory.subarray(0, this.#length);
  }

  append(bytes: Buffer, start: number, end: number): void {
    this.#reserve(end - start);
    bytes.copy(this.#memory, this.#length, start, end);
    this.#length += end - start;
  }

  appendByte(byte: number): void {
    this.#reserve(1);
    this.#memory[this.#length++] = byte;
  }

  /** Hands the collected bytes over to the caller; the collector starts again with new memory. */
  take(): Buffer {
    const bytes = this.#memory.subarray(0, this.#length);
    this.#memory = NOTHING;
    this.#length = 0;
    return bytes;
  }

  #reserve(bytesMore: number): void {
    const needed = this.#length + bytesMore;
    if (needed <= this.#memory.length) return;
    const memory = Buffer.allocUnsafe(grownBytes(this.#memory.length, needed, this.#bytesMax));
    this.#memory.copy(memory, 0, 0, this.#length);
    this.#memory = memory;
  }
}
