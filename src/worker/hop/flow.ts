// Flow control of one stream in one direction: the receiver returns credit for the bytes that it has passed on or dropped, and the sender
// sends at most `hopWindowBytes` before credit returns, so a slow reader costs both workers bounded memory. Large bodies wait while the
// link has too much to send, round robin by subject, so that they do not block other hops.
import { StreamFault, hopBounds } from './frames.js';
import { sendCredit } from './heads.js';
import type { HopSocket, HopStream } from './socket.js';
import { BodyCollector } from '../../bytes/index.js';
import { bodyMemory, type FairQueueEntry } from '../../fair/index.js';

/** The least credit that is returned at once: a quarter of the window keeps the sender going without a frame for each piece. */
const CREDIT_BYTES_MIN = hopBounds.hopWindowBytes / 4;

export class FlowSender {
  readonly #socket: HopSocket;
  readonly #stream: HopStream;
  readonly #subject: string;
  #creditBytes: number = hopBounds.hopWindowBytes;
  /** Bytes that wait for credit, or until the link is writable. */
  #waitingChunks: Uint8Array[] = [];
  #waitingEntry: FairQueueEntry<HopStream> | undefined;

  constructor(socket: HopSocket, stream: HopStream, subject: string) {
    this.#socket = socket;
    this.#stream = stream;
    this.#subject = subject;
  }

  get isEmpty(): boolean {
    return this.#waitingChunks.length === 0;
  }

  get canSendMore(): boolean {
    return this.#creditBytes > 0 && this.isEmpty;
  }

  /** Sends bytes, all of which are accepted. Until `isEmpty`, they must not change: bytes that wait are not copied. */
  write(bytes: Uint8Array): void {
    const sentBytes = this.isEmpty ? this.#send(bytes) : 0;
    if (sentBytes < bytes.length) this.#waitingChunks.push(bytes.subarray(sentBytes));
  }

  /** Takes credit: 0 when only the link has become writable. @throws {StreamFault} when more is returned than was sent. */
  addCredit(creditBytes: number): void {
    this.#creditBytes += creditBytes;
    if (this.#creditBytes > hopBounds.hopWindowBytes) throw new StreamFault('more credit than the window holds');
    for (let next = this.#waitingChunks[0]; next !== undefined; next = this.#waitingChunks[0]) {
      const sentBytes = this.#send(next);
      if (sentBytes < next.length) {
        this.#waitingChunks[0] = next.subarray(sentBytes);
        return;
      }
      this.#waitingChunks.shift();
    }
  }

  drop(): void {
    this.#waitingChunks = [];
    this.#waitingEntry?.leave();
  }

  #send(bytes: Uint8Array): number {
    const uncreditedBytes = hopBounds.hopWindowBytes - this.#creditBytes;
    const isUrgent = uncreditedBytes + bytes.length <= hopBounds.hopUrgentBytesMax;
    const bytesMax = Math.min(bytes.length, this.#creditBytes);
    let sentBytes = 0;
    while (sentBytes < bytesMax && (isUrgent || this.#socket.isWritable)) {
      const part = bytes.subarray(sentBytes, Math.min(sentBytes + hopBounds.hopPartBytesMax, bytesMax));
      this.#socket.addFrame('data', this.#stream.stream, part.length).set(part);
      sentBytes += part.length;
    }
    this.#creditBytes -= sentBytes;
    if (sentBytes < bytesMax && this.#waitingEntry?.isLinked !== true) {
      this.#waitingEntry = this.#socket.waitUntilWritable(this.#subject, this.#stream);
    }
    return sentBytes;
  }
}

export class FlowReceiver {
  readonly #socket: HopSocket;
  readonly #stream: number;
  /** How many bytes the sender may still send. */
  #openBytes: number = hopBounds.hopWindowBytes;
  /** How many bytes were passed on or dropped, but not yet returned as credit. */
  #releasedBytes = 0;

  constructor(socket: HopSocket, stream: number) {
    this.#socket = socket;
    this.#stream = stream;
  }

  /** Counts bytes that arrive. @throws {StreamFault} when the sender had no credit for them. */
  countArrived(bytes: number): void {
    this.#openBytes -= bytes;
    if (this.#openBytes < 0) throw new StreamFault('data beyond the window');
  }

  countReleased(bytes: number): void {
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
  /** Whether the body waits for memory: meanwhile no credit is returned, so that at most one window arrives. */
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

  /** The body, once it is complete. Its last user may give its memory back (large-memory.ts). */
  get bytes(): Buffer {
    return this.#received.bytes;
  }

  /** Adds a part. @throws {StreamFault} when it exceeds the declared size. */
  add(part: Buffer): void {
    if (part.length > this.#totalBytes - this.#received.length) throw new StreamFault('body longer than its head says');
    this.#inflow.countArrived(part.length);
    this.#received.add(part, this.#totalBytes);
    if (this.#isPaused) this.#pausedBytes += part.length;
    else if (!this.isComplete) this.#inflow.countReleased(part.length);
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    if (!this.isComplete) this.#inflow.countReleased(this.#pausedBytes);
    this.#pausedBytes = 0;
  }
}
