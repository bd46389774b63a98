// Assembles a body of known size from its parts. The parts are copied, so that a small body does not keep the whole piece alive
// that it arrived in. Its memory is allocated with the first part, not on the word of the head.
import { BodyCollector } from '../../bytes/index.js';
import { bodyMemory } from '../../fair/index.js';
import { StreamFault } from './frames.js';
import { FlowReceiver } from './flow.js';
import type { HopSocket } from './socket.js';

export class HopBody {
  readonly #inflow: FlowReceiver;
  readonly #totalBytes: number;
  readonly #received: BodyCollector;
  /** There is no room for the body yet: its bytes are not returned as credit, so at most one window of it arrives. */
  #isHeld = false;
  #heldBytes = 0;

  constructor(socket: HopSocket, stream: number, totalBytes: number) {
    this.#inflow = new FlowReceiver(socket, stream);
    this.#totalBytes = totalBytes;
    this.#received = new BodyCollector(totalBytes, () => bodyMemory(totalBytes));
  }

  get isComplete(): boolean {
    return this.#received.length === this.#totalBytes;
  }

  /** The body, once complete. Its last owner may give large memory back (large-memory.ts). */
  get bytes(): Buffer {
    return this.#received.bytes;
  }

  /** @throws {StreamFault} when the part exceeds the declared size. */
  add(part: Buffer): void {
    if (part.length > this.#totalBytes - this.#received.length) throw new StreamFault('body longer than its head says');
    this.#inflow.arrive(part.length);
    this.#received.add(part, this.#totalBytes);
    if (this.#isHeld) this.#heldBytes += part.length;
    else if (!this.isComplete) this.#inflow.release(part.length);
  }

  /** Accepts at most one window until `letGo`. */
  hold(): void {
    this.#isHeld = true;
  }

  letGo(): void {
    this.#isHeld = false;
    if (!this.isComplete) this.#inflow.release(this.#heldBytes);
    this.#heldBytes = 0;
  }
}
