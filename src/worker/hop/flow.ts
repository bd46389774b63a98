// Flow control of one stream in one direction: at most `hopWindowBytes` are in transit or waiting at the receiver, which returns
// credit for the bytes that it has passed on or dropped. So a large body leaves room on the link for other hops, and a slow reader
// costs both workers a bounded amount of memory.
import { StreamFault, hopBounds } from './frames.js';
import { sendCredit } from './heads.js';
import type { HopSocket } from './socket.js';
import { BodyCollector } from '../../bytes/index.js';
import { bodyMemory } from '../../fair/index.js';

/** Credit is returned in quarters of the window: often enough to keep the sender going, without a frame per piece. */
const CREDIT_BYTES_MIN = hopBounds.hopWindowBytes / 4;

/** The sender's side. */
export class FlowSender {
  readonly #socket: HopSocket;
  readonly #stream: number;
  #creditBytes: number = hopBounds.hopWindowBytes;
  /** Bytes written beyond the credit; `grant` sends them. Empty while there is credit. */
  #waiting: Uint8Array[] = [];

  constructor(socket: HopSocket, stream: number) {
    this.#socket = socket;
    this.#stream = stream;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  get hasCredit(): boolean {
    return this.#creditBytes > 0;
  }

  /** Accepts all bytes. Bytes that wait for credit are not copied and must not change until they are sent: see `isEmpty`. */
  write(bytes: Uint8Array): void {
    const sentBytes = this.#send(bytes);
    if (sentBytes < bytes.length) this.#waiting.push(bytes.subarray(sentBytes));
  }

  /** @throws {StreamFault} when more credit is returned than bytes were sent. */
  grant(creditBytes: number): void {
    this.#creditBytes += creditBytes;
    if (this.#creditBytes > hopBounds.hopWindowBytes) throw new StreamFault('more credit than the window holds');
    for (let next = this.#waiting[0]; next !== undefined && this.hasCredit; next = this.#waiting[0]) {
      const sentBytes = this.#send(next);
      if (sentBytes === next.length) this.#waiting.shift();
      else this.#waiting[0] = next.subarray(sentBytes);
    }
  }

  /** Drops the rest, which is no longer wanted. */
  drop(): void {
    this.#waiting = [];
  }

  #send(bytes: Uint8Array): number {
    const sentBytes = Math.min(bytes.length, this.#creditBytes);
    for (let at = 0; at < sentBytes; at += hopBounds.hopPartBytesMax) {
      const part = bytes.subarray(at, Math.min(at + hopBounds.hopPartBytesMax, sentBytes));
      this.#socket.reserve('data', this.#stream, part.length).set(part);
    }
    this.#creditBytes -= sentBytes;
    return sentBytes;
  }
}

/** The receiver's side. */
export class FlowReceiver {
  readonly #socket: HopSocket;
  readonly #stream: number;
  /** How many bytes the sender may still send. */
  #openBytes: number = hopBounds.hopWindowBytes;
  /** Bytes passed on or dropped, but not yet returned as credit. */
  #releasedBytes = 0;

  constructor(socket: HopSocket, stream: number) {
    this.#socket = socket;
    this.#stream = stream;
  }

  /** @throws {StreamFault} when the sender had no credit for the bytes. */
  arrive(bytes: number): void {
    this.#openBytes -= bytes;
    if (this.#openBytes < 0) throw new StreamFault('data beyond the window');
  }

  release(bytes: number): void {
    this.#releasedBytes += bytes;
    if (this.#releasedBytes < CREDIT_BYTES_MIN) return;
    sendCredit(this.#socket, this.#stream, this.#releasedBytes);
    this.#openBytes += this.#releasedBytes;
    this.#releasedBytes = 0;
  }
}

// Assembles a body of known size from its parts. The parts are copied, so that a small body does not keep the whole piece alive
// that it arrived in. Its memory is allocated with the first part, not on the word of the head.

export class HopBody {
  readonly #inflow: FlowReceiver;
  readonly #totalBytes: number;
  readonly #received: BodyCollector;
  /** There is no room for the body yet: its bytes are not returned as credit, so at most one window of it arrives. */
  #isHeld = false;
  #heldBytes = 0;

  constructor(inflow: FlowReceiver, totalBytes: number) {
    this.#inflow = inflow;
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
