// The caller's end of a link against owners that behave as no real worker does.
import t from 'tap';
import { StreamNumbers } from '../../../src/worker/hop/socket.js';
import { limits } from '../../../src/shared/limits.js';
import { until } from '../../support/until.js';
import type { HopPair } from './pair.js';
import { startRawOwner } from './raw-ends.js';
import { type RawPeer, requestHead, respondHead, u32, type Frame } from './raw-peer.js';
import { RecordedExchange } from '../../support/recorded-exchange.js';
import { hopBounds } from '../../../src/worker/hop/frames.js';
import { LARGE_MEMORY_FROM_BYTES } from '../../../src/fair/large-memory.js';

const numbers = new StreamNumbers();
const [FIRST, SECOND, THIRD] = [numbers.take(), numbers.take(), numbers.take()];

/** Forwards a request, and waits until the owner has received it: it is the first stream of the newest link. */
async function ask(pair: HopPair, links: RawPeer[], downstream: RecordedExchange): Promise<RawPeer> {
  const linksBefore = links.length;
  pair.forward(downstream);
  await until(() => links.length > linksBefore && links.at(-1)?.told(FIRST)[0] === 'request', 'the request');
  return links.at(-1) as RawPeer;
}

t.test('the secret goes first, once, and one link serves every hop', async (t) => {
  const { pair, links } = await startRawOwner(t);
  for (let hop = 0; hop < 3; hop++) pair.forward(new RecordedExchange({ body: Buffer.from('body') }));
  await until(() => links[0]?.frames.length === 7, 'three requests');
  t.equal(links.length, 1);
  t.same(links[0]?.frames[0], { kind: 'hello', stream: 0, payload: pair.secret });
  for (const stream of [FIRST, SECOND, THIRD]) t.same(links[0]?.told(stream), ['request', 'data 4']);
});

const frame = (kind: Frame['kind'], payload: Buffer | string = ''): Frame => ({
  kind,
  stream: FIRST,
  payload: Buffer.from(payload),
});

t.test('a frame that no owner sends closes the link', async (t) => {
  const { pair, links } = await startRawOwner(t);
  const cases: [string, Frame][] = [
    ['a request', frame('request', requestHead(0))],
    ['an abort', frame('abort')],
    ['a hello', frame('hello', pair.secret)],
  ];
  for (const [name, { kind, stream, payload }] of cases) {
    const downstream = new RecordedExchange();
    const link = await ask(pair, links, downstream);
    link.send(kind, stream, payload);
    await until(() => link.isClosed, `the close after ${name}`);
    t.equal(downstream.outcome, 'owner-lost', name);
  }
});

t.test('an impossible answer ends its hop, and no other on the link', async (t) => {
  const { pair, links } = await startRawOwner(t);
  const open = frame('open-stream');
  const part = frame('data', Buffer.alloc(hopBounds.hopPartBytesMax));
  const openBody = frame('open-body', Buffer.from([...u32(4), 0]));
  const cases: [string, 'hop-failed' | 'cut', Frame[]][] = [
    ['data before an answer', 'hop-failed', [frame('data', 'x')]],
    ['an end before an answer', 'hop-failed', [frame('end')]],
    ['half a head', 'hop-failed', [frame('respond', respondHead(0).subarray(0, 9))]],
    ['the head of a body of no known type', 'hop-failed', [frame('open-body', Buffer.from([...u32(4), 9]))]],
    ['an answer above its limit', 'hop-failed', [frame('respond', respondHead(hopBounds.hopAnswerBytesMax + 1))]],
    ['two answers', 'hop-failed', [frame('respond', respondHead(9)), frame('respond', respondHead(9))]],
    ['a stream within an answer', 'hop-failed', [frame('respond', respondHead(9)), open]],
    ['an answer longer than its head says', 'hop-failed', [frame('respond', respondHead(1)), frame('data', 'xx')]],
    ['credit for bytes that were not sent', 'hop-failed', [frame('credit', u32(hopBounds.hopWindowBytes))]],
    ['credit of three bytes', 'hop-failed', [frame('credit', 'xxx')]],
    ['an answer within a stream', 'cut', [open, frame('respond', respondHead(0))]],
    ['two streams', 'cut', [open, open]],
    ['data beyond the window', 'cut', [open, part, part, part, part, frame('data', 'x')]],
    ['a body longer than its head says', 'cut', [openBody, frame('data', '12345')]],
    ['a body shorter than its head says', 'cut', [openBody, frame('data', '123'), frame('end')]],
  ];
  for (const [name, outcome, frames] of cases) {
    const downstream = new RecordedExchange();
    downstream.isSlow = true;
    const link = await ask(pair, links, downstream);
    const other = pair.forward(new RecordedExchange());
    await until(() => link.told(SECOND)[0] === 'request', 'the other request');
    for (const { kind, stream, payload } of frames) link.send(kind, stream, payload);
    await until(() => link.told(FIRST).includes('reset'), `the reset after ${name}`);
    t.equal(downstream.outcome, outcome, name);
    // A frame that the owner sent before it knew of the reset is dropped.
    link.send('data', FIRST, 'late');
    link.send('respond', SECOND, respondHead(2));
    link.send('data', SECOND, 'ok');
    await until(() => other.outcome === 'responded', `the other answer after ${name}`);
    t.notOk(link.isClosed, name);
    link.socket.destroy();
    await until(() => link.isClosed, 'the end of the link');
  }
});

t.test('an owner that gives up a stream ends that hop alone, in whatever state it is', async (t) => {
  const { pair, links } = await startRawOwner(t);
  const downstream = new RecordedExchange();
  const link = await ask(pair, links, downstream);
  link.send('reset', FIRST);
  await until(() => downstream.outcome === 'hop-failed', 'the failure');
  link.send('reset', FIRST);
  link.send('reset', 77);
  const gone = pair.forward(new RecordedExchange({ body: Buffer.alloc(hopBounds.hopWindowBytes + 1) }));
  await until(() => link.frames.filter(({ kind }) => kind === 'request').length === 2, 'the second request');
  const stream = link.frames.filter(({ kind }) => kind === 'request')[1]?.stream ?? 0;
  gone.abort();
  await until(() => link.told(stream).includes('abort'), 'the abort');
  link.send('reset', stream);
  const last = pair.forward(new RecordedExchange());
  await until(() => link.frames.filter(({ kind }) => kind === 'request').length === 3, 'the third request');
  link.send('respond', link.frames.filter(({ kind }) => kind === 'request')[2]?.stream ?? 0, respondHead(0));
  await until(() => last.outcome === 'responded', 'the answer');
  t.notOk(link.isClosed);
});

t.test('a request that its owner would refuse is not sent', async (t) => {
  const { pair, links } = await startRawOwner(t);
  const tooLong = new RecordedExchange({ passthroughHeaders: ['x', 'x'.repeat(hopBounds.hopFrameBytesMax / 2)] });
  const other = new RecordedExchange();
  const link = await ask(pair, links, other);
  pair.forward(tooLong);
  t.equal(tooLong.outcome, 'hop-failed');
  link.send('respond', FIRST, respondHead(0));
  await until(() => other.outcome === 'responded', 'the answer');
  t.equal(link.frames.filter(({ kind }) => kind === 'request').length, 1);
});

t.test('a window that the reader has consumed is given back, and can be used again', async (t) => {
  const { pair, links } = await startRawOwner(t);
  const downstream = new RecordedExchange();
  const link = await ask(pair, links, downstream);
  link.send('open-stream', FIRST);
  const parts = hopBounds.hopWindowBytes / hopBounds.hopPartBytesMax;
  for (let window = 1; window <= 3; window++) {
    for (let part = 0; part < parts; part++) link.send('data', FIRST, Buffer.alloc(hopBounds.hopPartBytesMax));
    await until(() => {
      const credits = link.frames.filter(({ kind }) => kind === 'credit').map(({ payload }) => payload.readUInt32LE(0));
      return credits.reduce((sum, credit) => sum + credit, 0) === window * hopBounds.hopWindowBytes;
    }, 'the credit');
  }
  t.equal(downstream.writtenBytes, 3 * hopBounds.hopWindowBytes);
});

t.test('an owner that dies within a request’s body has not begun to answer', async (t) => {
  const { pair, links } = await startRawOwner(t);
  const downstream = new RecordedExchange();
  const link = await ask(pair, links, downstream);
  link.send('respond', FIRST, respondHead(1_000));
  link.send('data', FIRST, Buffer.alloc(999));
  link.socket.end();
  await until(() => downstream.outcome !== 'none', 'the failure');
  t.equal(downstream.outcome, 'owner-lost');
});

t.test('frames of hops that are over, or never were, do no harm', async (t) => {
  const { pair, links } = await startRawOwner(t);
  const gone = new RecordedExchange();
  const link = await ask(pair, links, gone);
  gone.abort();
  const downstream = pair.forward(new RecordedExchange());
  const itsNumbers = new StreamNumbers();
  itsNumbers.giveBack(itsNumbers.take());
  const inItsPlace = itsNumbers.take();
  await until(() => link.told(inItsPlace).length === 2, 'the second request');
  t.same(link.told(FIRST), ['request', 'data 17', 'abort']);
  link.send('open-stream', FIRST);
  link.send('data', FIRST, 'late');
  link.send('end', FIRST);
  link.send('cut', 77);
  link.send('respond', inItsPlace, respondHead(0));
  await until(() => downstream.outcome === 'responded', 'the answer');
  t.notOk(link.isClosed);
});

t.test('a request is sent no further than its window, but to its end after its caller went away', async (t) => {
  const { pair, links } = await startRawOwner(t);
  const downstream = new RecordedExchange({ body: Buffer.alloc(hopBounds.hopWindowBytes + 10) });
  const link = await ask(pair, links, downstream);
  const sentBytes = (): number =>
    link.frames.reduce((sum, { kind, payload }) => sum + (kind === 'data' ? payload.length : 0), 0);
  downstream.abort();
  await until(() => link.told(FIRST).includes('abort'), 'the abort');
  t.equal(sentBytes(), hopBounds.hopWindowBytes);
  link.send('respond', FIRST, respondHead(0));
  link.send('credit', FIRST, u32(4));
  await until(() => sentBytes() === hopBounds.hopWindowBytes + 4, 'what the credit allows');
  link.send('credit', FIRST, u32(100));
  await until(() => sentBytes() === hopBounds.hopWindowBytes + 10, 'the rest');
  t.equal(downstream.outcome, 'none');
});

t.test('the number of a stream that has ended is reused', async (t) => {
  const { pair, links } = await startRawOwner(t);
  const downstream = new RecordedExchange();
  const link = await ask(pair, links, downstream);
  link.send('open-stream', FIRST);
  link.send('data', FIRST, 'data: 1\n\n');
  link.send('end', FIRST);
  await until(() => downstream.outcome === 'ended', 'the end');
  pair.forward(new RecordedExchange());
  const asked = (): number[] => link.frames.filter(({ kind }) => kind === 'request').map(({ stream }) => stream);
  await until(() => asked().length === 2, 'the second request');
  const itsNumbers = new StreamNumbers();
  itsNumbers.giveBack(itsNumbers.take());
  t.same(asked(), [FIRST, itsNumbers.take()], 'the same place, used once more');
});

t.test('without room, no more than a window of a large answer comes; the rest comes once there is room', async (t) => {
  const { pair, links } = await startRawOwner(t);
  const downstream = new RecordedExchange();
  downstream.hasRoom = false;
  const link = await ask(pair, links, downstream);
  const bytes = Math.max(limits.countedFromBytes, 2 * hopBounds.hopWindowBytes);
  const part = Buffer.alloc(hopBounds.hopPartBytesMax, 'x');
  const sendWindow = (): void => {
    for (let sent = 0; sent < hopBounds.hopWindowBytes; sent += part.length) link.send('data', FIRST, part);
  };
  link.send('respond', FIRST, respondHead(bytes));
  sendWindow();
  const other = pair.forward(new RecordedExchange());
  await until(() => link.told(SECOND).length === 2, 'another request');
  link.send('respond', SECOND, respondHead(0));
  await until(() => other.outcome === 'responded', 'its answer, behind all of that');
  t.equal(downstream.roomAsked?.bytes, bytes);
  t.notOk(link.told(FIRST).includes('credit'), 'nothing more may come');
  downstream.roomAsked?.waiter.onRoom();
  await until(() => link.told(FIRST).includes('credit'), 'the credit');
  for (let left = bytes - hopBounds.hopWindowBytes; left > 0; left -= hopBounds.hopWindowBytes) sendWindow();
  await until(() => downstream.outcome === 'responded', 'the answer');
  t.ok(downstream.answer?.body.equals(Buffer.alloc(bytes, 'x')));
});

t.test('a large body is released once all of it was sent, and not before', async (t) => {
  const { pair, links } = await startRawOwner(t);
  const downstream = new RecordedExchange({ body: Buffer.alloc(hopBounds.hopWindowBytes + LARGE_MEMORY_FROM_BYTES) });
  const link = await ask(pair, links, downstream);
  t.notOk(downstream.isBodyReleased);
  link.send('credit', FIRST, u32(hopBounds.hopWindowBytes));
  await until(() => downstream.isBodyReleased, 'the body to be let go of');
});
