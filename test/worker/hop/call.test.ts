// The caller's end of one hop by itself: the test plays the owner, and the frames of the call are recorded as words.
import { Socket } from 'node:net';
import t from 'tap';
import { limits } from '../../../src/shared/limits.js';
import { HopCall } from '../../../src/worker/hop/call.js';
import { StreamFault, type FrameKind, hopBounds } from '../../../src/worker/hop/frames.js';
import { HopSocket } from '../../../src/worker/hop/socket.js';
import { RecordedExchange } from '../../support/recorded-exchange.js';
import { HOP, logger } from './pair.js';
import { respondHead, u32 } from './raw-peer.js';

const STREAM = 1;
const QUARTER = hopBounds.hopWindowBytes / 4;

/** Records frames instead of sending them. */
class SaidFrames extends HopSocket {
  readonly said: string[] = [];

  override addFrame(kind: FrameKind, _stream: number, payloadBytes: number): Buffer {
    this.said.push(payloadBytes > 0 && kind !== 'request' ? `${kind} ${payloadBytes}` : kind);
    return Buffer.alloc(payloadBytes);
  }
}

class Scene {
  readonly exchange: RecordedExchange;
  readonly socket = new SaidFrames(new Socket(), logger, {
    onFrame: () => undefined,
    onClose: () => undefined,
  });
  readonly call: HopCall;
  /** How often the stream was forgotten. */
  forgottenCount = 0;

  constructor(body = 'body') {
    this.exchange = new RecordedExchange({ body: Buffer.from(body) });
    const forget = (): void => void (this.forgottenCount += 1);
    this.call = new HopCall(this.socket, STREAM, HOP, this.exchange, this.exchange.onFailure, forget);
    this.call.start();
  }

  /** The owner sends a frame; its memory is overwritten afterwards, as by the next frame. */
  hear(kind: FrameKind, payload: Buffer | string = ''): this {
    const bytes = Buffer.from(payload);
    this.call.onFrame(kind, bytes);
    bytes.fill('!');
    return this;
  }

  /** The frames recorded since the last read. */
  get said(): string[] {
    return this.socket.said.splice(0);
  }

  /** Discards the frames recorded so far. */
  skip(): void {
    this.socket.said.length = 0;
  }
}

t.test('an answer is passed on when all of it has arrived, and the stream is forgotten once', async (t) => {
  const scene = new Scene();
  t.same(scene.said, ['request', 'data 4']);
  scene.hear('respond', respondHead(4)).hear('data', 'ab');
  t.same([scene.exchange.outcome, scene.forgottenCount], ['none', 0]);
  scene.hear('data', 'cd');
  t.same([scene.exchange.outcome, scene.forgottenCount], ['responded', 1]);
  t.equal(scene.exchange.answer?.body.toString(), 'abcd');
  t.same([scene.exchange.onAbort, scene.exchange.onDrain], [undefined, undefined], 'the exchange is let go');
});

t.test('data that a slow reader has not taken waits, even the end, and gives no credit back', async (t) => {
  const scene = new Scene();
  scene.exchange.isSlow = true;
  scene.hear('open-stream').hear('data', Buffer.alloc(QUARTER)).hear('data', Buffer.alloc(QUARTER));
  t.same([scene.said, scene.exchange.writtenBytes], [['request', 'data 4'], QUARTER]);
  scene.exchange.drain();
  t.same([scene.said, scene.exchange.writtenBytes], [['credit 4'], 2 * QUARTER]);
  scene.hear('end', 'last');
  t.equal(scene.forgottenCount, 1, 'the owner has no more to say');
  t.equal(scene.exchange.outcome, 'streaming');
  scene.exchange.isSlow = false;
  scene.exchange.drain();
  t.equal(scene.exchange.outcome, 'ended');
  t.equal(scene.exchange.written.toString('utf8', 2 * QUARTER), 'last');
  t.same(scene.said, [], 'who has said everything needs no credit');
});

t.test('a request is sent to its end though its caller is gone, and its stream is known until then', async (t) => {
  const scene = new Scene('x'.repeat(hopBounds.hopWindowBytes + 7));
  scene.skip();
  scene.exchange.abort();
  t.same([scene.said, scene.forgottenCount], [['abort'], 0]);
  scene.hear('respond', respondHead(0));
  scene.hear('credit', u32(QUARTER));
  t.same([scene.said, scene.forgottenCount], [['data 7'], 1]);
  t.equal(scene.exchange.outcome, 'none', 'what the owner says meanwhile is dropped');
});

t.test('the loss of a link is reported to the caller as such', async (t) => {
  const asked = new Scene();
  asked.call.fail('owner-absent');
  t.equal(asked.exchange.outcome, 'owner-absent');
  const gathering = new Scene().hear('respond', respondHead(4)).hear('data', 'ab');
  gathering.call.fail('owner-lost');
  t.equal(gathering.exchange.outcome, 'owner-lost', 'half an answer is none');
  const streaming = new Scene().hear('open-stream').hear('data', 'ab');
  streaming.call.fail('owner-lost');
  t.equal(streaming.exchange.outcome, 'cut');
  const ending = new Scene();
  ending.exchange.isSlow = true;
  ending.hear('open-stream').hear('data', 'ab').hear('end');
  ending.call.fail('owner-lost');
  ending.exchange.drain();
  t.equal(ending.exchange.outcome, 'ended', 'all of it has come before');
});

t.test('an impossible frame is a fault of its stream, which is reset', async (t) => {
  const scene = new Scene();
  t.throws(() => scene.hear('data', 'x'), StreamFault);
  scene.skip();
  scene.call.fail();
  t.same([scene.said, scene.forgottenCount], [[], 1]);
  t.equal(scene.exchange.outcome, 'hop-failed');
  const body = new Scene().hear('open-body', Buffer.from([...u32(4), 0]));
  t.throws(() => body.hear('end', 'abc'), /body shorter than its head says/);
  t.throws(() => body.hear('end', 'abcde'), /body longer than its head says/);
  body.hear('end', 'abcd');
  t.equal(body.exchange.written.toString(), 'abcd');
});

t.test('a large answer waits for room; without room the caller is told and the owner stops sending', async (t) => {
  const bytes = limits.countedFromBytes;
  const scene = new Scene();
  scene.exchange.hasRoom = false;
  scene.hear('respond', respondHead(bytes));
  t.equal(scene.exchange.roomAsked?.bytes, bytes);
  scene.skip();
  scene.exchange.roomAsked?.waiter.onNoRoom('totalMax');
  t.same([scene.said, scene.exchange.outcome, scene.forgottenCount], [['reset'], 'answer-bytes-full', 1]);
  scene.exchange.roomAsked?.waiter.onNoRoom('totalMax');
  t.same([scene.said, scene.forgottenCount], [[], 1], 'once');
  const small = new Scene().hear('respond', respondHead(bytes - 1));
  t.equal(small.exchange.roomAsked, undefined, 'a small one takes none');
});
