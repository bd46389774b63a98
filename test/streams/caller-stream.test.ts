// What is kept of a call's stream for a client whose connection broke, and what is dropped first when there is no room; how clients
// resume is in test/spec/resumption.rows.ts.
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { FINAL_ID, parseEventId, KEPT_ID_BYTES_MAX, WRITTEN_BYTES_KEPT } from '../../src/streams/replay-buffer.js';
import {
  StreamKeeper,
  DELIVERED_STREAMS_KEPT,
  DELIVERED_STREAMS_KEPT_MS,
  KEPT_STREAMS_SWEEP_MS,
} from '../../src/streams/stream-keeper.js';
import { JOINED_EVENT_BYTES_MAX } from '../../src/exchange/exchange.js';
import { limits } from '../../src/shared/limits.js';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';
import { readEvents } from '../support/event-stream.js';
import { createAccounts } from '../support/shares.js';
import { until } from '../support/until.js';
import { KIB, RESUMPTION_MS, Streamed, StreamScene, text } from '../relay/stream-scene.js';

const LOST_ANSWER =
  '{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"The response came while the connection was lost, and is too large to be kept"}}';

t.test('an event id names the stream and the event, and a malformed id is none', async (t) => {
  const scene = new StreamScene(t);
  const streams = [scene.stream(), scene.stream()];
  for (const streamed of streams) streamed.say('1', '2');
  const ids = streams.flatMap(({ exchange }) =>
    [...exchange.written.toString().matchAll(/^id: (.*)$/gm)].map(([, id]) => id ?? ''),
  );
  t.equal(new Set(ids).size, 6);
  for (const id of ids) t.equal(scene.keeper.find(parseEventId(id)?.stream ?? 0)?.isResumable, true);
  for (const id of ids) t.equal(namedIn(id), '7', 'and the request');
  t.equal(scene.keeper.find(scene.keeper.sessionStreamNumber), undefined);
  t.same(parseEventId(FINAL_ID), { stream: 0, position: 0, request: undefined }, 'the final one names no stream');
  for (const garbled of ['', 'x', '1', '1_', '_1', '1_2_3', ' 1_2', '1_2\n', '-1_2', '1_1e3', `${'1'.repeat(16)}_1`]) {
    t.equal(parseEventId(garbled), undefined, garbled);
  }
});

t.test('an event id names any request id byte by byte, unless it is very long', async (t) => {
  const scene = new StreamScene(t);
  const ids = ['7', '7.0', '-1e3', '"7"', '"\\u0061_-+"', '"🚂"', `"${'i'.repeat(KEPT_ID_BYTES_MAX - 2)}"`];
  for (const id of [...ids, `"${'i'.repeat(KEPT_ID_BYTES_MAX)}"`]) {
    const bytes = Buffer.from(`{"id":${id}}`);
    const { exchange } = scene.stream(false, { bytes, start: 6, end: bytes.length - 1 }).say('1');
    const [, eventId = ''] = /^id: (.*_1)$/m.exec(exchange.written.toString()) ?? [];
    t.match(eventId, /^[\w-]+$/, 'fit for a header');
    t.equal(namedIn(eventId), ids.includes(id) ? id : undefined, id.slice(0, 20));
  }
  const long = `"${'i'.repeat(KEPT_ID_BYTES_MAX)}"`;
  const forged = ['{}', 'null', '[7]', 'true', '7 8', '', '"a', '7,"x":1', long];
  for (const id of forged) t.equal(namedIn(`1000000001-${Buffer.from(id).toString('base64url')}_1`), undefined, id);
});

function namedIn(eventId: string): string | undefined {
  const { bytes, start, end } = parseEventId(eventId)?.request ?? {};
  return bytes?.toString('utf8', start, end);
}

t.test('recent written events and all others are kept, and the oldest go when there is no room', async (t) => {
  const scene = new StreamScene(t, 32 * KIB);
  const streamed = scene.stream();
  for (let number = 1; number <= 200; number += 1) streamed.say(text(number));
  t.ok(scene.heldBytes <= 32 * KIB, `${scene.heldBytes} bytes while it is connected`);
  streamed.exchange.abort();
  for (let number = 201; number <= 300; number += 1) streamed.say(text(number));
  t.ok(scene.heldBytes <= 32 * KIB, `${scene.heldBytes} bytes`);
  t.ok(scene.heldBytes > 20 * KIB, 'all that may be');
  const [notice = '', ...events] = readEvents(streamed.goOn(200).written);
  const { params } = JSON.parse(notice) as { params: { data: string } };
  const numbers = events.map((event) => (JSON.parse(event) as { number: number }).number);
  t.match(params.data, new RegExp(`^${100 - numbers.length} messages from backends were lost`), 'and it says so');
  t.equal(numbers.at(-1), 300);
  t.same(
    numbers,
    numbers.map((_, index) => (numbers[0] ?? 0) + index),
  );
});

t.test('written events are kept up to a bound', async (t) => {
  const scene = new StreamScene(t, 64 * KIB * KIB);
  const streamed = scene.stream();
  for (let number = 1; number <= 200; number += 1) streamed.say(text(number));
  t.ok(scene.heldBytes <= WRITTEN_BYTES_KEPT + 8 * KIB, `${scene.heldBytes} bytes`);
  t.ok(scene.heldBytes > WRITTEN_BYTES_KEPT / 2);
  const exchange = streamed.goOn(199);
  t.same(readEvents(exchange.written), [text(200)]);
  t.equal(streamed.exchange.outcome, 'ended', 'the older connection');
});

t.test('an event that is too large to be kept does not shorten what is kept after it', async (t) => {
  const scene = new StreamScene(t, 256 * KIB);
  const streamed = scene.stream().say(text(1, 300 * KIB));
  for (let number = 2; number <= 6; number += 1) streamed.say(text(number));
  t.same(
    readEvents(streamed.goOn(2).written),
    [3, 4, 5, 6].map((number) => text(number)),
  );
});

t.test(
  'the last events of a backlog are kept when they were written, in case the connection breaks again',
  async (t) => {
    const scene = new StreamScene(t, 64 * KIB * KIB);
    const streamed = scene.stream().say('1');
    streamed.exchange.abort();
    for (let number = 2; number <= 200; number += 1) streamed.say(text(number));
    const second = streamed.goOn(1);
    t.equal(readEvents(second.written).length, 199);
    second.abort();
    t.same(readEvents(streamed.goOn(197).written), [text(198), text(199), text(200)]);
  },
);

t.test('an answer that is too large to be kept is replaced by an error, and any other is kept', async (t) => {
  const scene = new StreamScene(t, 256 * KIB);
  const large = scene.stream().say('1');
  large.exchange.abort();
  large.stream.finish([Buffer.from(text(2, 300 * KIB))]);
  t.same(readEvents(large.goOn(0).written), ['1', LOST_ANSWER]);
  const fitting = scene.stream().say('1');
  fitting.exchange.abort();
  const parts = [Buffer.from('{"a":"'), Buffer.from('y'.repeat(200 * KIB)), Buffer.from('"}')];
  fitting.stream.finish(parts);
  const exchange = fitting.goOn(1);
  t.same(readEvents(exchange.written), [Buffer.concat(parts).toString()]);
  t.equal(exchange.outcome, 'ended');
});

t.test(
  'an answer beyond a few KiB is delivered when its caller has taken it, a smaller one with the end',
  async (t) => {
    for (const [bytes, outcome] of [
      [100, 'ended'],
      [2 * JOINED_EVENT_BYTES_MAX, 'streaming'],
    ] as const) {
      const { exchange, stream } = new StreamScene(t).stream().say('1');
      exchange.isSlow = true;
      stream.finish([Buffer.from(text(2, bytes))]);
      t.equal(exchange.outcome, outcome, `${bytes} bytes`);
      exchange.drain();
      t.equal(exchange.outcome, 'ended');
    }
  },
);

t.test('an event that is kept for longer is kept apart from the memory that it was sent from', async (t) => {
  const scene = new StreamScene(t);
  const streamed = scene.stream();
  const sent: Uint8Array[] = [];
  const write = streamed.exchange.write.bind(streamed.exchange);
  streamed.exchange.write = (bytes) => (sent.push(bytes), write(bytes));
  streamed.say('1', '2', '3');
  scene.advance(KEPT_STREAMS_SWEEP_MS + 100);
  scene.advance(KEPT_STREAMS_SWEEP_MS + 100);
  t.equal(sent.length, 3);
  for (const bytes of sent) bytes.fill(0);
  t.same(readEvents(streamed.goOn(1).written), ['2', '3']);
});

t.test('a client whose connection breaks within a large event gets it again, whole', async (t) => {
  const scene = new StreamScene(t, 64 * KIB * KIB);
  const streamed = scene.stream(true).say('1');
  t.ok(streamed.stream.isBlocked);
  const parts = [Buffer.from(text(2, 400 * KIB))];
  streamed.stream.finish(parts);
  streamed.exchange.drain();
  streamed.exchange.drain();
  t.ok(streamed.exchange.writtenBytes < 300 * KIB, 'a part of it is on its way');
  streamed.exchange.abort();
  t.same(readEvents(streamed.goOn(1).written), [parts[0]!.toString()]);
  t.same(readEvents(streamed.goOn(0, true).written), [], 'one that does not read');
  t.same(readEvents(streamed.goOn(1).written), [parts[0]!.toString()], 'is left for one that does');
});

t.test('streams that nobody resumed go oldest first, and delivered ones go before them', async (t) => {
  const scene = new StreamScene(t, 40 * KIB);
  const delivered = scene.stream().say(text(0));
  delivered.stream.finish([Buffer.from(text(0))]);
  const broken = Array.from({ length: 6 }, (_, number) => {
    const streamed = scene.stream().say('1');
    streamed.exchange.abort();
    streamed.stream.finish([Buffer.from(text(number, 10 * KIB))]);
    return streamed;
  });
  const isThere = ({ stream }: Streamed): boolean => scene.keeper.find(stream.number) !== undefined;
  t.notOk(isThere(delivered));
  t.same(broken.map(isThere), [false, false, false, true, true, true]);
  t.ok(scene.heldBytes <= 40 * KIB);
});

t.test('a few delivered streams are kept for a while, and the others until their time', async (t) => {
  const scene = new StreamScene(t);
  const delivered = Array.from({ length: 10 }, () => {
    const streamed = scene.stream().say('1');
    streamed.stream.finish([Buffer.from('2')]);
    t.equal(streamed.exchange.outcome, 'ended');
    return streamed;
  });
  const isThere = ({ stream }: Streamed): boolean => scene.keeper.find(stream.number) !== undefined;
  t.equal(delivered.filter(isThere).length, DELIVERED_STREAMS_KEPT);
  t.same(readEvents(delivered[9]!.goOn(1).written), ['2'], 'it may not have arrived');
  const broken = scene.stream().say('1');
  broken.exchange.abort();
  broken.stream.finish([Buffer.from('2')]);
  scene.advance(DELIVERED_STREAMS_KEPT_MS + KEPT_STREAMS_SWEEP_MS + 100);
  t.equal(delivered.filter(isThere).length, 0);
  t.ok(isThere(broken));
  for (let ms = 0; ms < RESUMPTION_MS; ms += 10_000) scene.advance(10_000);
  t.notOk(isThere(broken));
  t.equal(scene.heldBytes, 0);
});

t.test('a large event is no longer written to a connection that a newer one has replaced', async (t) => {
  const scene = new StreamScene(t, 64 * KIB * KIB);
  const streamed = scene.stream().say('1');
  const first = streamed.exchange;
  streamed.stream.emit(Buffer.alloc(16 * KIB * KIB, ' '));
  const writtenBytes = first.writtenBytes;
  t.ok(writtenBytes < 16 * KIB * KIB, 'a part of it is on its way');
  streamed.goOn(1);
  for (let count = 0; count < 100; count += 1) await turn();
  t.equal(first.writtenBytes, writtenBytes);
});

t.test('a delivered answer counts as such, however large it is and however long that took', async (t) => {
  const scene = new StreamScene(t, 8 * KIB * KIB);
  const large = Array.from({ length: DELIVERED_STREAMS_KEPT }, (_, number) => {
    const streamed = scene.stream().say('1');
    streamed.stream.finish([Buffer.from(text(number, 400 * KIB))]);
    return streamed;
  });
  const slow = scene.stream(true).say('1');
  slow.stream.finish([Buffer.from('2')]);
  slow.exchange.drain();
  slow.exchange.drain();
  t.equal(slow.exchange.outcome, 'ended');
  const isThere = ({ stream }: Streamed): boolean => scene.keeper.find(stream.number) !== undefined;
  t.same(large.map(isThere), [false, true, true, true], 'the oldest made room for the latest');
  t.ok(isThere(slow));
  scene.advance(DELIVERED_STREAMS_KEPT_MS + KEPT_STREAMS_SWEEP_MS + 100);
  t.notOk([...large, slow].some(isThere));
  t.equal(scene.heldBytes, 0);
});

t.test(
  'the error in place of an answer that cannot be kept has the id as it was sent, although its memory is used again',
  async (t) => {
    const scene = new StreamScene(t);
    const body = Buffer.from(`{"id":"${'i'.repeat(100)}"}`);
    const streamed = scene.stream(true, { bytes: body, start: 6, end: 108 }).say('1');
    streamed.stream.finish([Buffer.from(text(2, 300 * KIB))]);
    body.fill('secret of somebody else ');
    streamed.exchange.abort();
    const [, lost = ''] = readEvents(streamed.goOn(0).written);
    t.match(JSON.parse(lost), { id: 'i'.repeat(100), error: { code: -32000 } });
  },
);

t.test('when not even that error can be kept, the stream cannot be resumed', async (t) => {
  const scene = new StreamScene(t);
  const id = { bytes: Buffer.alloc(KEPT_ID_BYTES_MAX + 1, '1'), start: 0, end: KEPT_ID_BYTES_MAX + 1 };
  const streamed = scene.stream(false, id).say('1');
  streamed.exchange.abort();
  streamed.stream.finish([Buffer.from(text(2, 300 * KIB))]);
  t.equal(scene.keeper.find(streamed.stream.number), undefined);
  t.equal(scene.heldBytes, 0);
  const small = new StreamScene(t, 100);
  const others = Array.from({ length: 3 }, () => {
    const other = small.stream();
    other.exchange.abort();
    other.stream.finish([Buffer.from(text(2, KIB))]);
    return other;
  });
  t.same(
    others.map(({ stream }) => small.keeper.find(stream.number)),
    [undefined, undefined, undefined],
  );
  t.equal(small.heldBytes, 0);
});

t.test('what a client that cannot resume will not get is reported to its sender', async (t) => {
  const streamed = new Streamed(undefined, true);
  let lostCount = 0;
  for (let count = 0; count < 3; count += 1) streamed.stream.emit(Buffer.from('1'), () => (lostCount += 1));
  streamed.stream.detach();
  t.equal(lostCount, 2, 'the first was written');
});

t.test('kept events never take the room of sessions, and the end of a session gives all of it back', async (t) => {
  const shareBytes = 64 * KIB;
  const scene = new StreamScene(t, 64 * KIB * KIB, shareBytes);
  const streams = Array.from({ length: 20 }, () => scene.stream().say(text(0, 5 * KIB)));
  for (const { exchange } of streams) exchange.abort();
  for (const streamed of streams) streamed.say(text(1, 5 * KIB), text(2, 5 * KIB));
  t.ok(scene.heldBytes <= shareBytes / 2, `${scene.heldBytes} bytes`);
  t.ok(scene.heldBytes > shareBytes / 4);
  for (const { stream } of streams) stream.finish([Buffer.from(text(3, 5 * KIB))]);
  t.ok(scene.heldBytes <= shareBytes / 2, `${scene.heldBytes} bytes`);
  scene.keeper.end();
  t.equal(scene.heldBytes, 0);
  t.equal(scene.keeper.find(streams[19]!.stream.number), undefined);
});

t.test('after random breaks every event arrives once and in order', async (t) => {
  const scene = new StreamScene(t, 64 * KIB * KIB);
  let seed = 4_711;
  const chance = (of: number): boolean => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor(seed / 65_536) % of === 0;
  };
  for (let round = 0; round < 50; round += 1) {
    const streamed = scene.stream();
    let exchange = streamed.exchange;
    const seen: string[] = [];
    let arrived = 0;
    const said: string[] = [];
    const breakOff = (): void => {
      const events = readEvents(exchange.written);
      // The last event may have been lost on the way.
      const lostCount = events.length > 0 && chance(2) ? 1 : 0;
      seen.push(...events.slice(0, events.length - lostCount));
      arrived += events.length - lostCount;
      if (!exchange.isAborted && exchange.outcome === 'streaming') exchange.abort();
    };
    for (let number = 0; number < 60; number += 1) {
      const event = text(number, chance(15) ? 200 * KIB : 10);
      said.push(event);
      streamed.stream.emit(Buffer.from(event));
      if (chance(4)) {
        breakOff();
        if (chance(2)) streamed.say((said.push(text(-number, 5)), said.at(-1)!));
        exchange = streamed.goOn(arrived);
      }
    }
    streamed.stream.finish([Buffer.from('{"last":true}')]);
    said.push('{"last":true}');
    breakOff();
    seen.push(...readEvents(streamed.goOn(arrived).written));
    t.same(seen, said, `round ${round}`);
  }
});

t.test('behind a large event a slow connection gets the rest once it has drained', async (t) => {
  const streamed = new StreamScene(t, 64 * KIB * KIB).stream();
  const large = text(1, 2 * limits.readAtOnceBytesMax);
  streamed.stream.emit(Buffer.from(large));
  await until(() => !streamed.stream.isBlocked, 'the large event');
  streamed.exchange.isSlow = true;
  streamed.say('2', '3');
  t.same(readEvents(streamed.exchange.written), [large, '2']);
  streamed.exchange.isSlow = false;
  streamed.exchange.drain();
  t.same(readEvents(streamed.exchange.written), [large, '2', '3']);
});

t.test('without event ids nothing outlives the connection', async (t) => {
  const streamed = new Streamed(undefined);
  streamed.say('1');
  t.equal(streamed.exchange.written.toString(), 'event: message\ndata: 1\n\n');
  streamed.exchange.abort();
  streamed.say('2');
  streamed.stream.finish([Buffer.from('3')]);
  t.same(streamed.heard, ['detached']);
  const slow = new Streamed(undefined, true).say('1');
  slow.say('2');
  slow.stream.finish([Buffer.from('3')]);
  slow.exchange.isSlow = false;
  slow.exchange.drain();
  t.same(readEvents(slow.exchange.written), ['1', '2', '3']);
  t.equal(slow.exchange.outcome, 'ended');
});

t.test('what many subjects have kept leaves half of the total to their sessions', async (t) => {
  const totalBytes = 1024 * KIB;
  const accounts = createAccounts({ sessionBytesMax: totalBytes, subjectSessionBytesMax: totalBytes / 8 });
  const deadlines = new DeadlineWheel();
  t.teardown(() => deadlines.stop());
  const answers = { slowAnswerMs: 5_000, streamKeepAliveMs: 14_000, resumptionTimeMs: RESUMPTION_MS };
  for (let subject = 1; subject <= 32; subject += 1) {
    const account = accounts.of(`subject ${subject}`);
    account.sessions.take(1);
    const keeper = new StreamKeeper(account, deadlines, { ...answers, resumptionBytesMax: totalBytes });
    const streamed = new Streamed(keeper);
    streamed.exchange.abort();
    for (let number = 1; number <= 100; number += 1) streamed.say(text(number));
    t.ok(account.sessionBytes.used <= totalBytes / 16 + KIB, `subject ${subject}: half of its own`);
  }
  const held = accounts.used('sessionBytes');
  // A stream without any room still keeps the notice of what was lost.
  t.ok(held <= totalBytes / 2 + 32 * KIB, `${held} bytes of all`);
  t.ok(held > totalBytes / 2 - 32 * KIB, `${held} bytes of all: they may be used`);
});
