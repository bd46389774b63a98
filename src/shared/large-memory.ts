// Memory of large bodies, used again when its body is gone. Thrown away, it brings on a full garbage collection every few
// dozen bodies, and each new stretch costs a page fault every 4 KiB.
import { Buffer } from 'node:buffer';
import { limits } from './limits.js';
import { noteReturned } from './returned-memory.js';

export class LargeMemory {
  readonly #spareBytesMax: number;
  /** By size, the size that came back last behind the others. */
  readonly #spares = new Map<number, Buffer[]>();
  #spareBytes = 0;
  /** What may come back. What nobody gives back is collected like anything else. */
  readonly #lent = new WeakSet<ArrayBufferLike>();

  constructor(spareBytesMax: number = limits.spareMemoryBytesMax) {
    this.#spareBytesMax = spareBytesMax;
  }

  /** @returns as many bytes at least, with anything in them. They share their memory with nobody. */
  take(bytes: number): Buffer {
    const size = sizeFor(bytes);
    const spare = this.#spares.get(size)?.pop();
    if (spare !== undefined) this.#spareBytes -= size;
    const memory = spare ?? Buffer.allocUnsafeSlow(size);
    this.#lent.add(memory.buffer);
    return memory;
  }

  /**
   * Takes all the memory that the view is of, if it was lent: nobody may read it any more, through this view or another.
   * Anything else is left alone.
   */
  giveBack({ buffer }: Uint8Array): void {
    const size = buffer.byteLength;
    if (!this.#lent.delete(buffer)) return;
    const memory = Buffer.from(buffer);
    noteReturned(memory);
    // One body of a rare size must not take the room of many.
    if (size > this.#spareBytesMax / 4) return;
    const spares = this.#spares.get(size) ?? [];
    // Last in its order is the size that came back last.
    this.#spares.delete(size);
    this.#spares.set(size, spares);
    spares.push(memory);
    this.#spareBytes += size;
    this.#dropOldest();
  }

  #dropOldest(): void {
    for (const [size, spares] of this.#spares) {
      while (this.#spareBytes > this.#spareBytesMax && spares.pop() !== undefined) this.#spareBytes -= size;
      if (this.#spareBytes <= this.#spareBytesMax) return;
      this.#spares.delete(size);
    }
  }
}

/** Of this process. */
export const largeMemory = new LargeMemory();

/** Four sizes for each doubling, so that bodies of about one size have the same. */
function sizeFor(bytes: number): number {
  const step = 2 ** Math.max(0, Math.floor(Math.log2(bytes)) - 2);
  return Math.ceil(bytes / step) * step;
}
