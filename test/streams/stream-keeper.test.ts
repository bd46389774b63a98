// How a call's stream outlives its connections, step by step: what its owner hears, what makes room for what, and how a loss is
// reported. The larger scenes are in caller-stream.test.ts.
import t from 'tap';
import { limits } from '../../src/shared/limits.js';
import { readEvents } from '../support/event-stream.js';
import { KIB, StreamScene, text, type Streamed } from '../relay/stream-scene.js';
import {
  DELIVERED_STREAMS_KEPT,
  DELIVERED_STREAMS_KEPT_MS,
  KEPT_STREAMS_SWEEP_MS,
} from '../../src/streams/stream-keeper.js';
import { WRITTEN_BYTES_KEPT } from '../../src/streams/replay-buffer.js';

t.test('a stream knows its events once they were said, and is complete once it has its answer', async (t) => {
  const { stream } = new StreamScene(t).stream().say('1');
  t.same([stream.hasEmitted(0), stream.hasEmitted(1), stream.hasEmitted(2)], [true, true, false]);
  t.notOk(stream.isCompleteAt(1));
  stream.finish([Buffer.from('2')]);
  t.same([stream.isCompleteAt(1), stream.isCompleteAt(2)], [false, true]);
});

t.test('a stream sends its opening event once', async (t) => {
  const { stream, exchange } = new StreamScene(t).stream();
  stream.prime();
  stream.prime();
  stream.emit(Buffer.from('1'));
  t.equal(exchange.written.toString().match(/^id: \d+-Nw_0\nretry: 1000\ndata: $/gm)?.length, 1);
});

t.test('the owner hears of connections that break and come back, and that there is room again', async (t) => {
  const streamed = new StreamScene(t).stream(true).say('1');
  t.same(streamed.heard, []);
  streamed.exchange.isSlow = false;
  streamed.exchange.drain();
  t.same(streamed.heard, ['room']);
  streamed.exchange.abort();
  streamed.goOn(1);
  t.same(streamed.heard, ['room', 'detached', 'attached', 'room']);
});

t.test('each client that comes back is told once of what was lost for it', async (t) => {
  const streamed = new StreamScene(t).stream().say('1');
  streamed.exchange.abort();
  streamed.say(text(2, 300 * KIB));
  t.match(readEvents(streamed.goOn(1).written), [/^\{.*"1 messages from backends were lost/], 'at once');
  const exchange = streamed.goOn(1);
  streamed.say('3', '4');
  t.match(
    exchange.written.toString(),
    /^id: \d+-Nw_2\nevent: message\ndata: \{.*lost/m,
    'again if it resumes before it',
  );
  const [notice = '', ...events] = readEvents(exchange.written);
  t.match((JSON.parse(notice) as { params: unknown }).params, { data: /^1 messages from backends were lost/ });
  t.same(events, ['3', '4']);
});

t.test('the sender of a dropped event is told', async (t) => {
  const streamed = new StreamScene(t, 32 * KIB).stream().say('1');
  streamed.exchange.abort();
  let lostCount = 0;
  for (let number = 2; number <= 101; number += 1) {
    streamed.stream.emit(Buffer.from(text(number)), () => (lostCount += 1));
  }
  const [, ...events] = readEvents(streamed.goOn(1).written);
  t.ok(lostCount > 50, `${lostCount} of 100`);
  t.equal(lostCount + events.length, 100);
});

t.test('an event that is kept for long keeps every byte', async (t) => {
  const scene = new StreamScene(t);
  const streamed = scene.stream().say('1');
  streamed.exchange.abort();
  streamed.say('"é🚂\u0000"');
  scene.advance(KEPT_STREAMS_SWEEP_MS + 100);
  t.same(readEvents(streamed.goOn(1).written), ['"é🚂\u0000"']);
});

t.test('what waits for a slow connection is still sent after the end of the keeper', async (t) => {
  const scene = new StreamScene(t);
  const streamed = scene.stream(true).say('1', '2', '3');
  scene.keeper.end();
  for (let count = 0; count < 3; count += 1) streamed.exchange.drain();
  t.same(readEvents(streamed.exchange.written), ['1', '2', '3']);
});

t.test('the last written event is kept, however large, while others wait', async (t) => {
  const scene = new StreamScene(t, 64 * KIB * KIB);
  const streamed = scene.stream(true).say('1');
  const events = [text(2, WRITTEN_BYTES_KEPT + KIB), '3'];
  t.ok(events[0]!.length < limits.readAtOnceBytesMax, 'and not so large that it goes in pieces');
  streamed.say(...events);
  streamed.exchange.drain();
  streamed.exchange.abort();
  t.same(readEvents(streamed.goOn(1).written), events);
});

t.test('an answer takes the room of older ones, never its own; an event that is no answer does not', async (t) => {
  const scene = new StreamScene(t, 40 * KIB);
  const isThere = ({ stream }: Streamed): boolean => scene.keeper.find(stream.number) !== undefined;
  const answered = Array.from({ length: 5 }, (_, number) => {
    const streamed = scene.stream();
    streamed.exchange.abort();
    streamed.stream.finish([Buffer.from(text(number, 10 * KIB))]);
    return streamed;
  });
  t.same(answered.map(isThere), [false, false, true, true, true]);
  const talking = scene.stream();
  talking.exchange.abort();
  for (let number = 0; number < 20; number += 1) talking.say(text(number, 2 * KIB));
  t.same(answered.map(isThere), [false, false, true, true, true]);
  t.same(readEvents(answered[4]!.goOn(0).written), [text(4, 10 * KIB)]);
});

t.test('a slow connection that breaks after its answer makes other streams go', async (t) => {
  const scene = new StreamScene(t, 16 * KIB);
  const slow = scene.stream(true).say('1');
  slow.stream.finish([Buffer.from(text(2, 10 * KIB))]);
  const other = scene.stream();
  other.exchange.abort();
  other.stream.finish([Buffer.from(text(0, 10 * KIB))]);
  slow.exchange.abort();
  t.equal(scene.keeper.find(other.stream.number), undefined);
  t.equal(scene.keeper.find(slow.stream.number), slow.stream);
  t.same(readEvents(slow.goOn(1).written), [text(2, 10 * KIB)]);
});

t.test('an answer that is fetched repeatedly counts once', async (t) => {
  const scene = new StreamScene(t);
  const delivered = Array.from({ length: DELIVERED_STREAMS_KEPT }, () => {
    const streamed = scene.stream().say('1');
    streamed.stream.finish([Buffer.from('2')]);
    return streamed;
  });
  for (let count = 0; count < 10; count += 1) t.same(readEvents(delivered[3]!.goOn(1).written), ['2']);
  for (const { stream } of delivered) t.ok(scene.keeper.find(stream.number) !== undefined);
});

t.test('expired streams are removed again after there were none for a time', async (t) => {
  const scene = new StreamScene(t);
  for (let round = 0; round < 3; round += 1) {
    scene
      .stream()
      .say('1')
      .stream.finish([Buffer.from('2')]);
    t.ok(scene.heldBytes > 0);
    for (let ms = 0; ms < 2 * DELIVERED_STREAMS_KEPT_MS; ms += 10_000) scene.advance(10_000);
    t.equal(scene.heldBytes, 0, `round ${round}`);
  }
});

t.test('streams that begin all the time put off the removal of none', async (t) => {
  const scene = new StreamScene(t);
  const old = scene.stream().say('1');
  old.stream.finish([Buffer.from('2')]);
  for (let ms = 0; ms < 2 * DELIVERED_STREAMS_KEPT_MS; ms += KEPT_STREAMS_SWEEP_MS / 2) {
    scene.advance(KEPT_STREAMS_SWEEP_MS / 2);
    scene.stream();
  }
  t.equal(scene.keeper.find(old.stream.number), undefined);
});

t.test('as much is kept as there is room for, to the byte', async (t) => {
  const scene = new StreamScene(t, 40 * KIB);
  const { stream } = scene.stream();
  t.ok(scene.keeper.tryTake(40 * KIB, stream, false));
  t.notOk(scene.keeper.tryTake(1, stream, false));
});

t.test('after the end of the session nothing is kept, and nothing counts', async (t) => {
  const scene = new StreamScene(t);
  t.ok(scene.keeper.tryTake(100, scene.stream().stream, false));
  scene.keeper.end();
  t.equal(scene.heldBytes, 0);
  const late = scene.stream().say('1');
  late.stream.finish([Buffer.from('2')]);
  t.same(readEvents(late.exchange.written), ['1', '2']);
  t.equal(scene.keeper.find(late.stream.number), undefined);
  t.equal(scene.heldBytes, 0);
});
