import t from 'tap';
import {
  FRAME_HEADER_BYTES,
  FrameDecoder,
  HopFault,
  writeFrameHeader,
  hopBounds,
} from '../../../src/worker/hop/frames.js';
import { Random } from '../../support/random.js';
import { encodeFrame, type Frame } from './raw-peer.js';

const KINDS = [
  'hello',
  'request',
  'respond',
  'open-stream',
  'data',
  'end',
  'cut',
  'credit',
  'abort',
  'open-body',
  'reset',
  'leave',
  'sessionless',
] as const;

function decode(pieces: readonly Buffer[]): Frame[] {
  const frames: Frame[] = [];
  const decoder = new FrameDecoder((kind, stream, payload) => frames.push({ kind, stream, payload }));
  for (const piece of pieces) decoder.push(piece);
  return frames;
}

function randomFrame(random: Random): Frame {
  const size = random.pick([0, 1, 8, 9, 10, 300, 70_000]);
  const payload = Buffer.alloc(size === 0 ? 0 : random.below(size + 1), random.below(256));
  return { kind: random.pick(KINDS), stream: random.pick([0, 1, 77, 0xffffffff]), payload };
}

t.test('frames come out as they went in, cut into any pieces', async (t) => {
  const random = new Random(20_251);
  let frameCount = 0;
  for (let round = 0; round < 300; round++) {
    const frames = Array.from({ length: 1 + random.below(12) }, () => randomFrame(random));
    const bytes = Buffer.concat(frames.map(encodeFrame));
    const decoded = decode(random.pieces(bytes, random.pick([3, 10, 1_000, 65_536, bytes.length])));
    frameCount += frames.length;
    const isSame = decoded.every((frame, at) => {
      const sent = frames[at];
      return frame.kind === sent?.kind && frame.stream === sent.stream && frame.payload.equals(sent.payload);
    });
    if (!isSame || decoded.length !== frames.length) t.fail(`round ${round} differs`);
  }
  t.ok(frameCount > 1_000);
});

t.test('one byte at a time', async (t) => {
  const frames: Frame[] = [
    { kind: 'end', stream: 3, payload: Buffer.alloc(0) },
    { kind: 'data', stream: 4, payload: Buffer.from('payload') },
  ];
  const bytes = Buffer.concat(frames.map(encodeFrame));
  t.same(decode(Array.from(bytes, (byte) => Buffer.from([byte]))), frames);
});

t.test('a frame is passed on as soon as its last byte has arrived', async (t) => {
  const bytes = encodeFrame({ kind: 'data', stream: 4, payload: Buffer.from('payload') });
  t.equal(decode([bytes.subarray(0, -1)]).length, 0);
  t.equal(decode([bytes.subarray(0, -1), bytes.subarray(-1)]).length, 1);
  t.equal(decode([encodeFrame({ kind: 'end', stream: 1, payload: Buffer.alloc(0) })]).length, 1);
});

t.test('the largest frame passes, and one byte more is refused by its header alone', async (t) => {
  const largest = { kind: 'data', stream: 1, payload: Buffer.alloc(hopBounds.hopFrameBytesMax, 7) } as const;
  t.same(decode([encodeFrame(largest)]), [largest]);
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  writeFrameHeader(header, 0, 'data', 1, hopBounds.hopFrameBytesMax + 1);
  t.throws(() => decode([header]), HopFault);
});

t.test('an unknown kind is refused', async (t) => {
  const bytes = encodeFrame({ kind: 'end', stream: 1, payload: Buffer.alloc(0) });
  bytes[4] = KINDS.length;
  t.throws(() => decode([bytes]), HopFault);
});
