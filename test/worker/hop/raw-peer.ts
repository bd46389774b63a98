// One end of a hop's link, driven by hand, for what a real worker never does: wrong secrets, malformed frames, half a response.
import type { Socket } from 'node:net';
import { FRAME_HEADER_BYTES, FrameDecoder, writeFrameHeader, type FrameKind } from '../../../src/worker/hop/frames.js';

export interface Frame {
  readonly kind: FrameKind;
  readonly stream: number;
  readonly payload: Buffer;
}

export function encodeFrame({ kind, stream, payload }: Frame): Buffer {
  const bytes = Buffer.alloc(FRAME_HEADER_BYTES + payload.length);
  writeFrameHeader(bytes, 0, kind, stream, payload.length);
  payload.copy(bytes, FRAME_HEADER_BYTES);
  return bytes;
}

export class RawPeer {
  readonly socket: Socket;
  readonly frames: Frame[] = [];
  isClosed = false;

  constructor(socket: Socket) {
    this.socket = socket;
    const decoder = new FrameDecoder((kind, stream, payload) => this.frames.push({ kind, stream, payload }));
    socket.on('data', (piece) => decoder.push(piece));
    socket.on('error', () => {});
    socket.on('close', () => (this.isClosed = true));
  }

  send(kind: FrameKind, stream: number, payload: Buffer | string = ''): void {
    this.socket.write(encodeFrame({ kind, stream, payload: Buffer.from(payload) }));
  }

  /** The frames of one stream, as words; `data`, and an `end` with a payload, with their number of bytes. */
  told(stream: number): string[] {
    return this.frames
      .filter((frame) => frame.stream === stream)
      .map(({ kind, payload: { length } }) =>
        kind === 'data' || (kind === 'end' && length > 0) ? `${kind} ${length}` : kind,
      );
  }
}

/** The test encodes the fixed fields (u32, u8 or u16 and so on); the strings follow, encoded as heads have them. */
export function head(fixed: readonly number[], strings: readonly string[]): Buffer {
  const encoded = strings.map((text) => {
    const bytes = Buffer.from(text, 'utf16le');
    const length = Buffer.alloc(4);
    length.writeUInt32LE(bytes.length);
    return Buffer.concat([length, bytes]);
  });
  return Buffer.concat([Buffer.from(fixed), ...encoded]);
}

export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** A request's head: POST, accepting both response formats. */
export function requestHead(bodyBytes: number): Buffer {
  return head([...u32(bodyBytes), 0, 2, 0, 0], ['a-subject', 'a-host', 'a-session', '', 'an-id', 'a-parent', '']);
}

/** A response's head: status 200, JSON. */
export function respondHead(bodyBytes: number): Buffer {
  return head([...u32(bodyBytes), 200, 0], ['application/json', '']);
}
