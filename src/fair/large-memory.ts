// Memory of large bodies, reused after the body is gone. Allocating it each time would cause a full garbage collection every few dozen
// bodies, and each new block would cost a page fault every 4 KiB.
import { Buffer } from 'node:buffer';
import { channel } from 'node:diagnostics_channel';
import { KIB, MIB } from '../shared/index.js';

/** Smallest body, of a caller or a backend, whose memory is reused. That of smaller ones is left to the garbage collector. */
export const LARGE_MEMORY_FROM_BYTES = 64 * KIB;

const returnedMemory = channel('switchyard:memory:returned');

/**
 * Announces memory that is about to be reused. Code that still reads it would now and then read another message's bytes, perhaps another
 * tenant's; so tests overwrite it at once (test/support/poison.ts). Hot path: one check for subscribers.
 */
export function noteReturned(memory: Uint8Array): void {
  if (returnedMemory.hasSubscribers) returnedMemory.publish(memory);
}

/** Memory of large bodies that a process keeps for reuse. Beyond that, the rest is left to the garbage collector. */
const SPARE_MEMORY_BYTES_MAX = 32 * MIB;

export class LargeMemory {
  readonly #spareBytesMax: number;
  /** Spare buffers by size; the size that was returned last comes last. */
  readonly #spares = new Map<number, Buffer[]>();
  #spareBytes = 0;
  /** Memory that may be given back. If nobody does, it is garbage collected like any other. */
  readonly #lent = new WeakSet<ArrayBufferLike>();

  constructor(spareBytesMax: number = SPARE_MEMORY_BYTES_MAX) {
    this.#spareBytesMax = spareBytesMax;
  }

  /** @returns at least this many bytes, with arbitrary content, whose memory is shared with no other buffer. */
  take(bytes: number): Buffer {
    const size = sizeFor(bytes);
    const spare = this.#spares.get(size)?.pop();
    if (spare !== undefined) this.#spareBytes -= size;
    const memory = spare ?? Buffer.allocUnsafeSlow(size);
    this.#lent.add(memory.buffer);
    return memory;
  }

  /**
   * Takes back the whole memory behind this view, if it was lent: nobody may read it any more, through any view. Other memory is ignored.
   * @param isFromThread whether a thread has transferred the memory back, which is then in another `ArrayBuffer` than the lent one.
   */
  giveBack({ buffer }: Uint8Array, isFromThread = false): void {
    const size = buffer.byteLength;
    if (!this.#lent.delete(buffer) && !isFromThread) return;
    const memory = Buffer.from(buffer);
    noteReturned(memory);
    // One very large body must not displace many smaller ones.
    if (size > this.#spareBytesMax / 4) return;
    const spares = this.#spares.get(size) ?? [];
    // Re-inserted, so that the size returned last comes last.
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

/** The instance of this process. */
export const largeMemory = new LargeMemory();

/** @returns at least this many bytes, with arbitrary content; large memory if they are many. */
export function bodyMemory(bytes: number): Buffer {
  return bytes < LARGE_MEMORY_FROM_BYTES ? Buffer.allocUnsafe(bytes) : largeMemory.take(bytes);
}

/** Four sizes per doubling, so that bodies of similar size use the same one. */
function sizeFor(bytes: number): number {
  const step = 2 ** Math.max(0, Math.floor(Math.log2(bytes)) - 2);
  return Math.ceil(bytes / step) * step;
}
