// The frames of a hop's link, and the decoder that cuts them out of its bytes. Independent of streams and sockets. Hot path.
//
//   frame = payload bytes (u32) · kind (u8) · stream (u32) · payload           all little-endian
//
//   caller → owner   hello (the secret, first and once) · request · data (its body) · credit · abort · reset
//   owner → caller   sessionless (a backend's URL) · respond · open-stream · open-body · data (body or stream) · end (the last of it) · cut · credit · reset · leave
//
// `reset`: the sender found a fault in the stream and has forgotten the stream. `leave`: the owner has a
// successor at its path, so the link takes no more requests and is closed when those on it are answered.
import { hopBounds } from './hop-bounds.js';

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

/** The peer sent no valid frame, or one that is never sent in this direction: the link cannot be followed any more and is closed. */
export class HopFault extends Error {
  override readonly name = 'HopFault';
}

/** A frame is invalid for its stream. The link's other frames are still good, so only this stream ends. */
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

/** Cuts frames out of bytes that arrive in arbitrary pieces. Unusable once it has thrown. */
export class FrameDecoder {
  readonly #onFrame: (kind: FrameKind, stream: number, payload: Buffer) => void;

  /** Collects a header that arrives in pieces. */
  readonly #header = Buffer.allocUnsafe(FRAME_HEADER_BYTES);
  #headerFilled = 0;

  /** Collects the payload of a frame that arrives in pieces; `undefined` between frames and within a header. */
  #payload: Buffer | undefined;
  #payloadFilled = 0;
  #kind: FrameKind = 'hello';
  #stream = 0;

  /** @param onFrame is given payloads that share the memory of the piece they arrived in, and may keep them. */
  constructor(onFrame: (kind: FrameKind, stream: number, payload: Buffer) => void) {
    this.#onFrame = onFrame;
  }

  /** @throws {HopFault} for an unknown kind, and for a payload above `hopFrameBytesMax` before it is gathered. */
  push(piece: Buffer): void {
    let at = 0;
    while (at < piece.length) {
      at = this.#payload === undefined ? this.#readHeader(piece, at) : this.#readPayload(this.#payload, piece, at);
    }
  }

  #readHeader(piece: Buffer, from: number): number {
    if (this.#headerFilled === 0 && piece.length - from >= FRAME_HEADER_BYTES) {
      return this.#startFrame(piece, from, piece, from + FRAME_HEADER_BYTES);
    }
    const copied = piece.copy(this.#header, this.#headerFilled, from);
    this.#headerFilled += copied;
    if (this.#headerFilled < FRAME_HEADER_BYTES) return piece.length;
    this.#headerFilled = 0;
    return this.#startFrame(this.#header, 0, piece, from + copied);
  }

  #startFrame(header: Buffer, headerAt: number, piece: Buffer, from: number): number {
    const payloadBytes = header.readUInt32LE(headerAt);
    const kind = FRAME_KINDS[header[headerAt + 4] as number];
    const stream = header.readUInt32LE(headerAt + 5);
    if (kind === undefined) throw new HopFault('unknown kind of frame');
    if (payloadBytes > hopBounds.hopFrameBytesMax) throw new HopFault(`${kind} frame of ${payloadBytes} bytes`);

    const to = from + payloadBytes;
    if (to <= piece.length) {
      this.#onFrame(kind, stream, piece.subarray(from, to));
      return to;
    }
    this.#kind = kind;
    this.#stream = stream;
    this.#payload = Buffer.allocUnsafe(payloadBytes);
    this.#payloadFilled = piece.copy(this.#payload, 0, from);
    return piece.length;
  }

  #readPayload(payload: Buffer, piece: Buffer, from: number): number {
    const copied = piece.copy(payload, this.#payloadFilled, from);
    this.#payloadFilled += copied;
    if (this.#payloadFilled === payload.length) {
      this.#payload = undefined;
      this.#onFrame(this.#kind, this.#stream, payload);
    }
    return from + copied;
  }
}
