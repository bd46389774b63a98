// The frames of a hop's link, and the decoder that cuts them out of its bytes. Independent of streams and sockets. Hot path.
//
//   frame = payload bytes (u32) · kind (u8) · stream (u32) · payload           all little-endian
//
//   caller → owner   hello (the secret, first and once) · request · data (its body) · credit · abort · reset
//   owner → caller   sessionless (a URL) · respond · open-stream · open-body · data · end (the last of it) · cut · credit · reset · leave
//
// `reset`: the sender found a fault in the stream and has forgotten the stream. `leave`: the owner has a
// successor at its path, so the link takes no more requests and is closed when those on it are answered.
import { KIB, MIB } from '../../shared/index.js';

/** The sizes, numbers and times of hops. */
export const hopBounds = {
  /**
   * Bytes of one body that may be sent before credit returns: what a slow reader costs in memory. Until credit returns, the owner reads no
   * more from the backend.
   */
  hopWindowBytes: 256 * KIB,
  /** Body bytes in one frame, so that other hops are served in between. */
  hopPartBytesMax: 64 * KIB,
  /** Body bytes that a link queues for the kernel. A small message waits behind no more than these, whatever other streams have to send. */
  hopQueuedBytesMax: MIB,
  /** A stream that has sent no more than this without credit does not wait until the link is writable. */
  hopUrgentBytesMax: 16 * KIB,
  /** The buffer in which a link gathers frames. */
  hopBatchBytes: 32 * KIB,
  /**
   * Payload of one frame; a larger one closes the link. The largest request head fits: in UTF-16, the request's headers, and the subject in
   * its token.
   */
  hopFrameBytesMax: 256 * KIB,
  /** Concurrent hops on one link. Beyond that, 503 `owner-lost`; at the owner 500 `hop-failed`. */
  hopsPerLinkMax: 65_536,
  /** An answer sent as a whole, which the receiver gathers in memory. Beyond that, 500 `hop-failed`. */
  hopAnswerBytesMax: 256 * MIB,
  /** Interval between attempts to forward a request whose owner is being restarted. */
  ownerRetryMs: 50,
  /** Messages that wait until the replaced worker listens, a quarter for each subject. Beyond that, further ones are dropped. */
  predecessorMessagesMax: 1_024,
} as const;

const FRAME_CODES = {
  hello: 0,
  request: 1,
  respond: 2,
  'open-stream': 3,
  data: 4,
  end: 5,
  cut: 6,
  credit: 7,
  abort: 8,
  'open-body': 9,
  reset: 10,
  leave: 11,
  sessionless: 12,
} as const;

export type FrameKind = keyof typeof FRAME_CODES;

/** The kind of each code; codes are indexes into this list. */
const FRAME_KINDS = Object.keys(FRAME_CODES) as FrameKind[];

export const FRAME_HEADER_BYTES = 9;

/** Thrown when the peer's frames cannot be decoded: the link is closed. */
export class HopFault extends Error {
  override readonly name = 'HopFault';
}

/** Thrown when a frame is invalid for its stream: only this stream ends. */
export class StreamFault extends Error {
  override readonly name = 'StreamFault';
}

export function writeFrameHeader(
  target: Buffer,
  at: number,
  kind: FrameKind,
  stream: number,
  payloadBytes: number,
): void {
  target.writeUInt32LE(payloadBytes, at);
  target[at + 4] = FRAME_CODES[kind];
  target.writeUInt32LE(stream, at + 5);
}

/** Cuts frames out of bytes that arrive in arbitrary pieces. Unusable after it has thrown. */
export class FrameDecoder {
  readonly #onFrame: (kind: FrameKind, stream: number, payload: Buffer) => void;
  /** A frame that arrives in pieces: first only its header, then all of it. */
  #frame = Buffer.alloc(0);
  #filledBytes = 0;

  /** @param onFrame may keep the payloads. They are slices of the pieces. */
  constructor(onFrame: (kind: FrameKind, stream: number, payload: Buffer) => void) {
    this.#onFrame = onFrame;
  }

  /** Takes bytes. @throws {HopFault} for an unknown kind, and for a payload above `hopFrameBytesMax` before it is gathered. */
  push(piece: Buffer): void {
    let at = 0;
    while (at < piece.length) at = this.#filledBytes === 0 ? this.#takeFrame(piece, at) : this.#collect(piece, at);
  }

  #takeFrame(piece: Buffer, from: number): number {
    const leftBytes = piece.length - from;
    const frameBytes = leftBytes < FRAME_HEADER_BYTES ? FRAME_HEADER_BYTES : frameBytesAt(piece, from);
    if (leftBytes >= frameBytes) return this.#emit(piece, from, from + frameBytes);
    this.#frame = Buffer.allocUnsafe(frameBytes);
    return this.#collect(piece, from);
  }

  #collect(piece: Buffer, from: number): number {
    const copied = piece.copy(this.#frame, this.#filledBytes, from);
    this.#filledBytes += copied;
    if (this.#filledBytes === FRAME_HEADER_BYTES) {
      const header = this.#frame;
      this.#frame = Buffer.allocUnsafe(frameBytesAt(header, 0));
      header.copy(this.#frame, 0, 0, FRAME_HEADER_BYTES);
    }
    if (this.#filledBytes === this.#frame.length) {
      this.#filledBytes = 0;
      this.#emit(this.#frame, 0, this.#frame.length);
    }
    return from + copied;
  }

  #emit(bytes: Buffer, from: number, to: number): number {
    const kind = FRAME_KINDS[bytes[from + 4] as number] as FrameKind;
    this.#onFrame(kind, bytes.readUInt32LE(from + 5), bytes.subarray(from + FRAME_HEADER_BYTES, to));
    return to;
  }
}

/** The size of the frame whose header begins at `at`. */
function frameBytesAt(bytes: Buffer, at: number): number {
  const payloadBytes = bytes.readUInt32LE(at);
  const kind = FRAME_KINDS[bytes[at + 4] as number];
  if (kind === undefined) throw new HopFault('unknown kind of frame');
  if (payloadBytes > hopBounds.hopFrameBytesMax) throw new HopFault(`${kind} frame of ${payloadBytes} bytes`);
  return FRAME_HEADER_BYTES + payloadBytes;
}
