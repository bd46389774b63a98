// Puts a body of a known size together from its parts. It is a copy: a small body must not keep the whole piece that it
// came in with others. Its memory is taken when the first part comes, not on the head's word.
import { largeMemory } from '../../shared/large-memory.js';
import { limits } from '../../shared/limits.js';
import { StreamFault } from './frames.js';
import { Inflow } from './flow.js';
import type { HopSocket } from './socket.js';

export class HopBody {
  readonly #inflow: Inflow;
  readonly #totalBytes: number;
  #filledBytes = 0;
  /** There is no room for it yet: what came is not returned as credit, so that no more than a window of it comes. */
  #isHeld = false;
  #heldBytes = 0;
  #bytes: Buffer = Buffer.alloc(0);

  constructor(socket: HopSocket, stream: number, totalBytes: number) {
    this.#inflow = new Inflow(socket, stream);
    this.#totalBytes = totalBytes;
  }

  get isComplete(): boolean {
    return this.#filledBytes === this.#totalBytes;
  }

  /** The body, once complete; large memory that its last owner may give back (large-memory.ts). */
  get bytes(): Buffer {
    return this.#bytes.length === this.#totalBytes ? this.#bytes : this.#bytes.subarray(0, this.#totalBytes);
  }

  /** @throws {StreamFault} when the part does not fit. */
  add(part: Buffer): void {
    if (part.length > this.#totalBytes - this.#filledBytes) throw new StreamFault('body longer than its head says');
    this.#inflow.arrive(part.length);
    if (this.#filledBytes === 0) this.#bytes = memoryFor(this.#totalBytes);
    part.copy(this.#bytes, this.#filledBytes);
    this.#filledBytes += part.length;
    if (this.#isHeld) this.#heldBytes += part.length;
    else if (!this.isComplete) this.#inflow.release(part.length);
  }

  /** Takes no more than a window until `letGo`. */
  hold(): void {
    this.#isHeld = true;
  }

  letGo(): void {
    this.#isHeld = false;
    if (!this.isComplete) this.#inflow.release(this.#heldBytes);
    this.#heldBytes = 0;
  }
}

function memoryFor(bytes: number): Buffer {
  return bytes < limits.largeMemoryFromBytes ? Buffer.allocUnsafe(bytes) : largeMemory.take(bytes);
}
