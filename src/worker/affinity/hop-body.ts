// Puts a body of a known size together from its parts. It is a copy: a small body must not keep the whole piece that it
// came in with others. Its memory is taken when the first part comes, not on the head's word.
import { StreamFault } from './hop-frames.js';
import { Inflow } from './hop-flow.js';
import type { HopSocket } from './hop-socket.js';

export class HopBody {
  readonly #inflow: Inflow;
  readonly #totalBytes: number;
  #filledBytes = 0;
  #bytes: Buffer = Buffer.alloc(0);

  constructor(socket: HopSocket, stream: number, totalBytes: number) {
    this.#inflow = new Inflow(socket, stream);
    this.#totalBytes = totalBytes;
  }

  get isComplete(): boolean {
    return this.#filledBytes === this.#totalBytes;
  }

  /** The body, once complete. */
  get bytes(): Buffer {
    return this.#bytes;
  }

  /** @throws {StreamFault} when the part does not fit. */
  add(part: Buffer): void {
    if (part.length > this.#totalBytes - this.#filledBytes) throw new StreamFault('body longer than its head says');
    this.#inflow.arrive(part.length);
    if (this.#filledBytes === 0) this.#bytes = Buffer.allocUnsafe(this.#totalBytes);
    part.copy(this.#bytes, this.#filledBytes);
    this.#filledBytes += part.length;
    if (!this.isComplete) this.#inflow.release(part.length);
  }
}
