// Flow control of one stream in one direction: the receiver returns credit for the bytes that it has passed on or dropped, and at most
// `hopWindowBytes` are without it. So large bodies do not block other hops, and a slow reader costs both workers bounded memory.
import { StreamFault, hopBounds } from './frames.js';
import { sendCredit } from './heads.js';
import type { HopSocket } from './socket.js';
import { BodyCollector } from '../../bytes/index.js';
import { bodyMemory } from '../../fair/index.js';

/** Returned in quarters of the window, to keep the sender going without a frame for each piece. */
const CREDIT_BYTES_MIN = hopBounds.hopWindowBytes / 4;

export class FlowSender {
  readonly #socket: HopSocket;
  readonly #stream: number;
  #creditBytes: number = hopBounds.hopWindowBytes;
  /** Bytes without credit yet. */
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

  /** Accepts all bytes. Until `isEmpty`, they must not change: bytes that wait for credit are not copied. */
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

export class FlowReceiver {
  readonly #socket: HopSocket;
  readonly #stream: number;
  /** Bytes that the sender may still send. */
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

// Assembles a body of known size. Parts are copied, so that a small body does not keep alive the whole piece that it arrived in. Memory
// is allocated with the first part, because a head alone costs its sender nothing.

export class HopBody {
  readonly #inflow: FlowReceiver;
  readonly #totalBytes: number;
  readonly #received: BodyCollector;
  /** While there is no memory for the body, its bytes are not returned as credit: at most one window arrives. */
  #isPaused = false;
  #pausedBytes = 0;

  constructor(inflow: FlowReceiver, totalBytes: number) {
    this.#inflow = inflow;
    this.#totalBytes = totalBytes;
    this.#received = new BodyCollector(totalBytes, () => bodyMemory(totalBytes));
  }

  get isComplete(): boolean {
    return this.#received.length === this.#totalBytes;
  }

  /** The body, once complete. Its last user may give its memory back (large-memory.ts). */
  get bytes(): Buffer {
    return this.#received.bytes;
  }

  /** @throws {StreamFault} when the part exceeds the declared size. */
  add(part: Buffer): void {
    if (part.length > this.#totalBytes - this.#received.length) throw new StreamFault('body longer than its head says');
    this.#inflow.arrive(part.length);
    this.#received.add(part, this.#totalBytes);
    if (this.#isPaused) this.#pausedBytes += part.length;
    else if (!this.isComplete) this.#inflow.release(part.length);
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    if (!this.isComplete) this.#inflow.release(this.#pausedBytes);
    this.#pausedBytes = 0;
  }
}
