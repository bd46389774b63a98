// Sends and receives frames on a socket, in the same way at both ends of a link: joins the frames of one turn of the event loop into one
// write, and closes the socket when arriving bytes are no frames. Only large bodies heed the socket's own backpressure, because each stream
// has a window (flow.ts). Hot path.
import assert from 'node:assert';
import type { Socket } from 'node:net';
import { FairQueue, type FairQueueEntry } from '../../fair/index.js';
import type { Logger } from '../../shared/index.js';
import {
  FRAME_HEADER_BYTES,
  FrameDecoder,
  HopFault,
  StreamFault,
  writeFrameHeader,
  type FrameKind,
  hopBounds,
} from './frames.js';

// The streams of a link by number. Not a `Map`, because streams come and go with every hop (fair/list-node.ts tells that cost): a number
// contains an array index, and a counter that tells the uses of an index apart.
//   stream = use (u16, from 1) · index (u16)

const INDEX_MASK = 0xffff;
const USE_MAX = 0xffff;

export const STREAMS_MAX = INDEX_MASK + 1;

/**
 * Hands out stream numbers, never 0. A number returns after 65,535 others at the earliest. By then every frame with it has arrived,
 * because a link keeps order.
 */
export class StreamNumbers {
  /** Free indexes. The last one freed is used first, which keeps the tables at both ends short. */
  readonly #freeIndexes: number[] = [];
  #indexCount = 0;
  #lastUse = 0;

  take(): number {
    const index = this.#freeIndexes.pop() ?? this.#indexCount++;
    this.#lastUse = this.#lastUse === USE_MAX ? 1 : this.#lastUse + 1;
    return ((this.#lastUse << 16) | index) >>> 0;
  }

  giveBack(stream: number): void {
    this.#freeIndexes.push(stream & INDEX_MASK);
  }
}

export class StreamTable<Stream extends { readonly stream: number }> {
  readonly #streams: (Stream | undefined)[] = [];
  /** The number of streams. Changed only here. */
  size = 0;

  get(stream: number): Stream | undefined {
    const member = this.#streams[stream & INDEX_MASK];
    return member?.stream === stream ? member : undefined;
  }

  /** Adds a stream. @returns false when its array index is taken. */
  add(member: Stream): boolean {
    const index = member.stream & INDEX_MASK;
    if (this.#streams[index] !== undefined) return false;
    // The array is filled: one with holes would become a dictionary, as slow as a `Map`.
    while (this.#streams.length < index) this.#streams.push(undefined);
    this.#streams[index] = member;
    this.size += 1;
    return true;
  }

  delete(stream: number): void {
    if (this.get(stream) === undefined) return;
    this.#streams[stream & INDEX_MASK] = undefined;
    this.size -= 1;
  }

  values(): Stream[] {
    return this.#streams.filter((member) => member !== undefined);
  }
}

/** The stream number of frames that concern the whole link. */
export const LINK_STREAM = 0;

/** This end of one hop. */
export interface HopStream {
  readonly stream: number;
  /**
   * Takes a frame. @throws {HopFault} when further frames of the peer cannot be read: the socket is closed.
   * @throws {StreamFault} when only this stream is affected: it is reset at the peer, and `fail` is called.
   */
  onFrame(kind: FrameKind, payload: Buffer): void;
  /** Called with the peer's credit, and with 0 once the link is writable, after `waitUntilWritable`. */
  onCredit(creditBytes: number): void;
  fail(): void;
}

export interface HopSocketHandler {
  /** Takes a frame of a stream that is not open here. Throws as `HopStream.onFrame` does. */
  onFrame(kind: FrameKind, stream: number, payload: Buffer): void;
  /** Called once, whichever side closed the socket. */
  onClose(): void;
}

export class HopSocket<Stream extends HopStream = HopStream> {
  readonly logger: Logger;
  readonly streams = new StreamTable<Stream>();
  readonly #socket: Socket;

  /** Frames back to back; the bytes before `#batchSent` have been given to the socket. */
  #batch = Buffer.allocUnsafeSlow(hopBounds.hopBatchBytes);
  #batchSent = 0;
  #batchFilled = 0;
  #isFlushDue = false;

  /** Streams that wait until the link is writable. */
  readonly #waitingStreams = new FairQueue<HopStream>(Infinity, Infinity);

  readonly #decoder: FrameDecoder;

  /** @param socket emits `data` events, or has an `onread` callback that calls `onPiece`. */
  constructor(socket: Socket, logger: Logger, handler: HopSocketHandler) {
    this.logger = logger;
    this.#socket = socket;
    this.#decoder = new FrameDecoder((kind, stream, payload) => {
      // The handler may have closed the socket because of an earlier frame in the same piece.
      if (socket.destroyed) return;
      const hop = this.streams.get(stream);
      try {
        if (hop === undefined) handler.onFrame(kind, stream, payload);
        else hop.onFrame(kind, payload);
      } catch (fault) {
        if (!(fault instanceof StreamFault)) throw fault;
        logger.error({ fault: fault.message }, 'hop ended over what its peer sent');
        this.addFrame('reset', stream, 0);
        hop?.fail();
      }
    });
    socket.on('data', (piece) => this.onPiece(piece));
    socket.on('drain', () => {
      while (this.#waitingStreams.isReady && this.isWritable) this.#waitingStreams.take()?.onCredit(0);
    });
    socket.on('error', (error) => logger.debug({ err: error }, 'hop link failed'));
    socket.on('close', () => handler.onClose());
  }

  get isDestroyed(): boolean {
    return this.#socket.destroyed;
  }

  get isWritable(): boolean {
    return this.#socket.writableLength + this.#batchFilled - this.#batchSent < hopBounds.hopQueuedBytesMax;
  }

  waitUntilWritable(subject: string, stream: HopStream): FairQueueEntry<HopStream> {
    const entry = this.#waitingStreams.add(subject, stream);
    assert(typeof entry !== 'string', 'the queue has no bound of its own: streams have');
    return entry;
  }

  /**
   * Adds a frame to this turn's batch.
   * @returns the memory of its payload, to be filled before anything else is sent.
   */
  addFrame(kind: FrameKind, stream: number, payloadBytes: number): Buffer {
    assert(payloadBytes <= hopBounds.hopFrameBytesMax, 'a frame is within its limit');
    const frameBytes = FRAME_HEADER_BYTES + payloadBytes;
    if (this.#batch.length - this.#batchFilled < frameBytes) this.#startBatch(frameBytes);
    const at = this.#batchFilled;
    this.#batchFilled += frameBytes;
    writeFrameHeader(this.#batch, at, kind, stream, payloadBytes);
    if (!this.#isFlushDue) {
      this.#isFlushDue = true;
      setImmediate(() => this.#flush());
    }
    return this.#batch.subarray(at + FRAME_HEADER_BYTES, this.#batchFilled);
  }

  end(): void {
    setImmediate(() => this.#socket.end());
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Begins a batch. The full one is sent with the turn's last. Its memory is never reused, because it may be in transit for long. */
  #startBatch(frameBytes: number): void {
    if (this.#batchFilled > this.#batchSent) {
      this.#socket.cork();
      this.#socket.write(this.#batch.subarray(this.#batchSent, this.#batchFilled));
    }
    this.#batch = Buffer.allocUnsafeSlow(Math.max(hopBounds.hopBatchBytes, frameBytes));
    this.#batchSent = 0;
    this.#batchFilled = 0;
  }

  #flush(): void {
    this.#isFlushDue = false;
    const last = this.#batch.subarray(this.#batchSent, this.#batchFilled);
    this.#batchSent = this.#batchFilled;
    if (this.#socket.destroyed) return;
    this.#socket.write(last);
    while (this.#socket.writableCorked > 0) this.#socket.uncork();
  }

  /** Takes bytes of the socket. @param piece must not change afterwards: payloads are slices of it. */
  onPiece(piece: Buffer): void {
    try {
      this.#decoder.push(piece);
    } catch (fault) {
      if (!(fault instanceof HopFault)) throw fault;
      this.logger.error({ fault: fault.message }, 'hop link closed over what its peer sent');
      this.#socket.destroy();
    }
  }
}
