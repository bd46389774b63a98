// Flow control of one stream in one direction: at most `hopWindowBytes` are in transit or waiting at the receiver, which returns
// credit for the bytes that it has passed on or dropped. So a large body leaves room on the link for other hops, and a slow reader
// costs both workers a bounded amount of memory.
import { StreamFault, hopBounds } from './frames.js';
import { sendCredit } from './heads.js';
import type { HopSocket } from './socket.js';

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
