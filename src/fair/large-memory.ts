// Memory of large bodies, which is reused. Allocating it each time would cause a full garbage collection every few dozen bodies, and a page
// fault every 4 KiB.
import { Buffer } from 'node:buffer';
import { channel } from 'node:diagnostics_channel';
import { KIB, MIB } from '../shared/index.js';

export const LARGE_MEMORY_FROM_BYTES = 64 * KIB;

const returnedMemory = channel('switchyard:memory:returned');

/**
 * Announces memory that is about to be reused. Code that still read it would see another message, perhaps another tenant's, so tests
 * overwrite it at once (test/support/poison.ts). Hot path: one check for subscribers.
 */
export function announceReturned(memory: Uint8Array): void {
  if (returnedMemory.hasSubscribers) returnedMemory.publish(memory);
}

const SPARE_MEMORY_BYTES_MAX = 32 * MIB;

export class LargeMemory {
  readonly #spareBytesMax: number;
  /** Buffers to reuse, by size; the size that was returned last comes last. */
  readonly #spares = new Map<number, Buffer[]>();
  #spareBytes = 0;
  /** The lent buffers. One that nobody gives back is garbage collected like any other. */
  readonly #lent = new WeakSet<ArrayBufferLike>();

  constructor(spareBytesMax: number = SPARE_MEMORY_BYTES_MAX) {
    this.#spareBytesMax = spareBytesMax;
  }

  /** Lends memory. @returns at least this many bytes, with arbitrary content, in an `ArrayBuffer` of their own. */
  take(bytes: number): Buffer {
    const size = sizeFor(bytes);
    const spare = this.#spares.get(size)?.pop();
    if (spare !== undefined) this.#spareBytes -= size;
    const memory = spare ?? Buffer.allocUnsafeSlow(size);
    this.#lent.add(memory.buffer);
    return memory;
  }

  /** Takes back lent memory, which nobody may read any more. @param isFromThread whether a thread returned it, as another `ArrayBuffer`. */
  giveBack({ buffer }: Uint8Array, isFromThread = false): void {
    const size = buffer.byteLength;
    if (!this.#lent.delete(buffer) && !isFromThread) return;
    const memory = Buffer.from(buffer);
    announceReturned(memory);
    // Very large memory is not kept: it must not displace many smaller ones.
    if (size > this.#spareBytesMax / 4) return;
    const spares = this.#spares.get(size) ?? [];
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

export const largeMemory = new LargeMemory();

export function bodyMemory(bytes: number): Buffer {
  return bytes < LARGE_MEMORY_FROM_BYTES ? Buffer.allocUnsafe(bytes) : largeMemory.take(bytes);
}

/** The size of the buffer for so many bytes: there are four sizes per power of two, so that similar bodies have the same. */
function sizeFor(bytes: number): number {
  const step = 2 ** Math.max(0, Math.floor(Math.log2(bytes)) - 2);
  return Math.ceil(bytes / step) * step;
}
