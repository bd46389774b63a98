import { createServer } from 'node:net';
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { NO_MIRROR, type ExchangeRequest } from '../../../src/exchange/exchange.js';
import { mirrorOfVersion } from '../../../src/exchange/transport.js';
import { limits } from '../../../src/shared/limits.js';
import { Random } from '../../support/random.js';
import { until } from '../../support/until.js';
import { HOP, HopPair, OWNER_SLOT, startHopPair } from './pair.js';
import { RecordedExchange } from '../../support/recorded-exchange.js';
import { hopBounds } from '../../../src/worker/hop/frames.js';

const MIB = 1024 * 1024;

function patterned(bytes: number, seed: number): Buffer {
  const random = new Random(seed);
  const block = Buffer.from(Array.from({ length: 4_099 }, () => random.below(256)));
  return Buffer.alloc(bytes, block);
}

t.test('a request arrives as it was sent, and its answer goes back', async (t) => {
  const pair = await startHopPair(t);
  const downstream = new RecordedExchange({
    method: 'POST',
    sessionId: 'sëssion-\u{1f600}',
    acceptedTypes: 'event-stream',
    passthroughHeaders: ['x-one', 'ünïcode', 'x-one', '', 'x-\ud800', 'lone surrogate'],
    body: Buffer.from([0, 255, 10, 13, 0]),
  });
  const hop = { subject: 'subject \udfff "\u0000', virtualHostId: 'höst' };
  const exchange = await pair.arrive(downstream, hop);
  t.same(pair.arrivals[0]?.hop, hop);
  t.same(exchange.request, downstream.request);
  t.equal(exchange.isAborted, false);

  exchange.respond(201, 'application/json', Buffer.from('{"a":1}'), 'new-session', ['x-a', 'b', 'x-c', 'd']);
  await until(() => downstream.outcome === 'responded', 'the answer');
  t.same(downstream.answer, {
    status: 201,
    contentType: 'application/json',
    body: Buffer.from('{"a":1}'),
    sessionId: 'new-session',
    headers: ['x-a', 'b', 'x-c', 'd'],
  });
  t.equal(downstream.onAbort, undefined, 'the hop lets go of the exchange');
  t.equal(downstream.onDrain, undefined);
});

t.test('the owner says of a request in no session which backend keeps none, before it answers', async (t) => {
  const pair = await startHopPair(t);
  for (const [sessionId, expected] of [
    ['', ['https://b.example/mcp']],
    ['a-session', []],
  ] as const) {
    const downstream = new RecordedExchange({ sessionId });
    const told: string[] = [];
    downstream.onSessionless = (url) => void told.push(url);
    const exchange = await pair.arrive(downstream);
    exchange.onSessionless?.('https://b.example/mcp');
    exchange.onSessionless?.('x'.repeat(hopBounds.hopFrameBytesMax / 2));
    exchange.respond(200, 'text/plain', '');
    await until(() => downstream.outcome === 'responded', 'the answer');
    t.same(told, expected, 'what does not fit into a frame is not said');
  }
});

t.test('each method and form of answer, and an empty body', async (t) => {
  const pair = await startHopPair(t);
  const requests: Partial<ExchangeRequest>[] = [
    { method: 'DELETE', acceptedTypes: 'json' },
    { method: 'GET', acceptedTypes: 'event-stream' },
    { method: 'POST', acceptedTypes: 'both' },
  ];
  for (const request of requests) {
    const downstream = new RecordedExchange({ ...request, body: Buffer.alloc(0) });
    const exchange = await pair.arrive(downstream);
    t.same(exchange.request, downstream.request);
    exchange.respond(202, 'text/plain', '');
    await until(() => downstream.outcome === 'responded', 'the answer');
    t.same(downstream.answer, {
      status: 202,
      contentType: 'text/plain',
      body: Buffer.alloc(0),
      sessionId: undefined,
      headers: [],
    });
  }
});

t.test('the headers that mirror the body arrive whole, or as few as there are', async (t) => {
  const pair = await startHopPair(t);
  const whole = {
    protocolVersion: '2026-07-28',
    method: 'tools/call',
    name: 'b-t',
    params: ['mcp-param-a', '', 'mcp-param-b', '=?base64?w6k=?='],
  };
  const mirrors = [
    NO_MIRROR,
    mirrorOfVersion('2025-11-25'),
    whole,
    { ...whole, params: [] },
    { ...whole, protocolVersion: '', name: '' },
  ];
  for (const mirror of mirrors) {
    const downstream = new RecordedExchange({ mirror, passthroughHeaders: ['x-one', '1'] });
    const exchange = await pair.arrive(downstream);
    t.same(exchange.request, downstream.request);
    exchange.respond(202, 'text/plain', '');
    await until(() => downstream.outcome === 'responded', 'the answer');
  }
  const plain = await pair.arrive(new RecordedExchange());
  t.equal(plain.request.mirror, NO_MIRROR, 'nothing is made for who sends none');
});

t.test('an answer given within the arrival, and a string beyond ASCII, arrive', async (t) => {
  const pair = await startHopPair(t);
  pair.onArrival = ({ exchange }) => exchange.respond(200, 'text/plain', 'grüße');
  const downstream = pair.forward(new RecordedExchange());
  await until(() => downstream.outcome === 'responded', 'the answer');
  t.equal(downstream.answer?.body.toString(), 'grüße');
});

t.test('a stream in many pieces arrives byte for byte, though the owner reuses its buffer', async (t) => {
  const pair = await startHopPair(t);
  const random = new Random(99);
  const downstream = new RecordedExchange();
  const exchange = await pair.arrive(downstream);
  exchange.openStream('streamed-session');

  const sent: Buffer[] = [];
  for (let piece = 0; piece < 300; piece++) {
    const size = piece === 100 ? 3 * hopBounds.hopWindowBytes + 1 : random.pick([0, 1, 17, 900, 5_000, 40_000]);
    const bytes = Buffer.alloc(size, random.below(256));
    sent.push(Buffer.from(bytes));
    const mayGoOn = exchange.write(bytes);
    if (!mayGoOn) {
      let isDrained = false;
      exchange.onDrain = () => (isDrained = true);
      await until(() => isDrained, 'the drain');
    }
    bytes.fill(0xee);
  }
  exchange.end();
  await until(() => downstream.outcome === 'ended', 'the end');
  t.equal(downstream.streamSessionId, 'streamed-session');
  t.ok(downstream.written.equals(Buffer.concat(sent)));
});

t.test('a body of a known length in parts arrives byte for byte', async (t) => {
  const pair = await startHopPair(t);
  const downstream = new RecordedExchange();
  const exchange = await pair.arrive(downstream);
  const body = patterned(3 * hopBounds.hopWindowBytes + 1, 5);
  exchange.openBody('text/event-stream', body.length);
  let at = 0;
  const goOn = (): void => {
    let mayGoOn = true;
    while (mayGoOn && at < body.length) {
      mayGoOn = exchange.write(body.subarray(at, at + hopBounds.hopPartBytesMax));
      at += hopBounds.hopPartBytesMax;
    }
    if (at >= body.length) exchange.end();
  };
  exchange.onDrain = goOn;
  goOn();
  await until(() => downstream.outcome === 'ended', 'the end');
  t.same(downstream.body, { contentType: 'text/event-stream', bodyBytes: body.length });
  t.ok(downstream.written.equals(body));
});

t.test('a stream without a session id, and without a byte, arrives', async (t) => {
  const pair = await startHopPair(t);
  const downstream = new RecordedExchange();
  const exchange = await pair.arrive(downstream);
  exchange.openStream();
  exchange.end();
  await until(() => downstream.outcome === 'ended', 'the end');
  t.equal(downstream.streamSessionId, undefined);
  t.equal(downstream.writtenBytes, 0);
});

t.test('a slow reader costs a constant number of bytes, however long the stream', async (t) => {
  const pair = await startHopPair(t);
  const downstream = new RecordedExchange();
  downstream.isSlow = true;
  const exchange = await pair.arrive(downstream);
  exchange.openStream();

  const event = patterned(10_000, 1);
  const eventCount = 800;
  let written = 0;
  let outstandingMax = 0;
  const pump = (): void => {
    for (let mayGoOn = true; mayGoOn && written < eventCount;) {
      written++;
      mayGoOn = exchange.write(event);
      outstandingMax = Math.max(outstandingMax, written * event.length - downstream.writtenBytes);
    }
    if (written === eventCount) exchange.end();
  };
  exchange.onDrain = pump;
  pump();
  t.equal(written, Math.ceil(hopBounds.hopWindowBytes / event.length), 'the owner stops at the end of its window');
  await until(() => downstream.writtenBytes > 0, 'the first event');

  while (downstream.outcome !== 'ended') {
    downstream.drain();
    await new Promise(setImmediate);
  }
  t.equal(downstream.writtenBytes, eventCount * event.length);
  t.ok(outstandingMax < hopBounds.hopWindowBytes + event.length, `${outstandingMax} bytes outstanding at most`);
});

t.test('a reader that has stopped gets no credit until it drains, and other hops continue', async (t) => {
  const pair = await startHopPair(t);
  const downstream = new RecordedExchange();
  downstream.isSlow = true;
  const exchange = await pair.arrive(downstream);
  exchange.openStream();
  let drains = 0;
  exchange.onDrain = () => drains++;
  while (exchange.write(Buffer.alloc(10_000)));
  // Once a later response has arrived on the same link, so has everything that this hop's owner had sent.
  for (let hop = 0; hop < 5; hop++) t.equal(await pair.roundTrip(), 'responded');
  t.equal(drains, 0);
  downstream.isSlow = false;
  downstream.drain();
  await until(() => drains === 1, 'the drain');
  exchange.end();
  await until(() => downstream.outcome === 'ended', 'the end');
});

t.test('a small answer and one of another subject come before most large answers of one that has many', async (t) => {
  const pair = await startHopPair(t);
  const MANY = 100;
  const large = patterned(hopBounds.hopWindowBytes, 5);
  const downstreams = Array.from({ length: MANY }, () => new RecordedExchange());
  const exchanges = [];
  for (const downstream of downstreams) exchanges.push(await pair.arrive(downstream));
  const [small, other] = [new RecordedExchange(), new RecordedExchange()];
  const smallExchange = await pair.arrive(small);
  const otherExchange = await pair.arrive(other, { ...HOP, subject: 'another' });
  const doneBefore: Record<string, number> = {};
  const note = (name: string, downstream: RecordedExchange): void => {
    downstream.onDone = () => (doneBefore[name] = downstreams.filter(({ outcome }) => outcome === 'responded').length);
  };
  note('small', small);
  note('other', other);
  for (const exchange of exchanges) exchange.respond(200, 'text/plain', large);
  otherExchange.respond(200, 'text/plain', large);
  smallExchange.respond(200, 'text/plain', 'small');
  await until(() => downstreams.every(({ outcome }) => outcome === 'responded'), 'all answers');
  t.ok([other, ...downstreams].every(({ answer }) => answer?.body.equals(large)));
  t.ok(doneBefore['small']! < 10, `${doneBefore['small']} large answers before the small one`);
  t.ok(doneBefore['other']! < 20, `${doneBefore['other']} of ${MANY} before the one of another`);
});

t.test('the end waits for the data that a slow reader has not taken', async (t) => {
  const pair = await startHopPair(t);
  const downstream = new RecordedExchange();
  downstream.isSlow = true;
  const exchange = await pair.arrive(downstream);
  exchange.openStream();
  exchange.write(Buffer.from('one '));
  exchange.write(Buffer.from('two '));
  const large = patterned(hopBounds.hopWindowBytes * 2, 5);
  exchange.write(large);
  exchange.end();
  await pair.roundTrip();
  t.equal(downstream.outcome, 'streaming');
  await until(() => {
    downstream.drain();
    return downstream.outcome === 'ended';
  }, 'the end');
  t.ok(downstream.written.equals(Buffer.concat([Buffer.from('one two '), large])), 'byte for byte');
});

t.test('a caller that goes away is reported at the owner, once, and its link continues', async (t) => {
  const pair = await startHopPair(t);
  for (const isStreaming of [false, true]) {
    const downstream = new RecordedExchange();
    const exchange = await pair.arrive(downstream);
    let aborts = 0;
    exchange.onAbort = () => aborts++;
    if (isStreaming) {
      exchange.openStream();
      exchange.write(Buffer.from('begun'));
      await until(() => downstream.writtenBytes === 5, 'the beginning');
    }
    downstream.abort();
    // The owner does not know yet, and continues its response.
    if (isStreaming) exchange.write(Buffer.from('late'));
    else exchange.respond(200, 'text/plain', 'late');
    await until(() => exchange.isAborted || !isStreaming, 'the abort');
    t.equal(await pair.roundTrip(), 'responded', 'answers that cross the abort are dropped');
    t.equal(aborts, isStreaming ? 1 : 0, 'what was answered completely is not aborted for the relay');

    t.equal(exchange.write(Buffer.from('later')), true);
    exchange.end();
    exchange.respond(200, 'text/plain', 'later');
    exchange.reset();
    t.equal(await pair.roundTrip(), 'responded', 'calls after the abort do nothing');
  }
});

t.test('an abort reaches an owner that waits for the reader to drain', async (t) => {
  const pair = await startHopPair(t);
  const downstream = new RecordedExchange();
  downstream.isSlow = true;
  const exchange = await pair.arrive(downstream);
  exchange.openStream();
  while (exchange.write(Buffer.alloc(10_000)));
  let aborts = 0;
  exchange.onAbort = () => aborts++;
  exchange.onDrain = () => t.fail('nothing drains after an abort');
  await until(() => downstream.writtenBytes > 0, 'the stream');
  downstream.abort();
  await until(() => aborts === 1, 'the abort');
  t.equal(exchange.isAborted, true);
  t.equal(await pair.roundTrip(), 'responded');
});

t.test('a caller that goes away while its answer waits for it is released', async (t) => {
  const pair = await startHopPair(t);
  const downstream = new RecordedExchange();
  downstream.isSlow = true;
  const exchange = await pair.arrive(downstream);
  exchange.openStream();
  exchange.write(Buffer.from('one'));
  exchange.write(Buffer.from('two'));
  exchange.end();
  await pair.roundTrip();
  downstream.abort();
  downstream.drain();
  t.equal(downstream.outcome, 'streaming');
  t.equal(downstream.onAbort, undefined);
});

t.test('a request is delivered whole though its caller goes away on the way (S12)', async (t) => {
  const pair = await startHopPair(t);
  const body = patterned(8 * MIB, 8);
  const downstream = new RecordedExchange({ body });
  let aborts = 0;
  pair.onArrival = ({ exchange }) => (exchange.onAbort = () => aborts++);
  pair.forward(downstream);
  downstream.abort();
  await until(() => pair.arrivals.length === 1, 'the request');
  t.ok(pair.arrivals[0]?.exchange.request.body.equals(body));
  await until(() => aborts === 1, 'the abort');
  t.equal(await pair.roundTrip(), 'responded');
});

t.test('a caller that is gone before the hop sends nothing', async (t) => {
  const pair = await startHopPair(t);
  const downstream = new RecordedExchange();
  downstream.abort();
  const exchange = await pair.arrive(downstream);
  await until(() => exchange.isAborted, 'the abort');
});

t.test('bodies of 8 MiB both ways', async (t) => {
  const pair = await startHopPair(t);
  const body = patterned(8 * MIB, 2);
  const downstream = new RecordedExchange({ body });
  const exchange = await pair.arrive(downstream);
  t.ok(exchange.request.body.equals(body));

  const answer = patterned(8 * MIB + 1, 3);
  exchange.respond(200, 'application/json', Buffer.from(answer));
  await until(() => downstream.outcome === 'responded', 'the answer');
  t.ok(downstream.answer?.body.equals(answer));
});

t.test('a large body does not keep a small hop waiting, either way', async (t) => {
  const pair = await startHopPair(t);
  const order: string[] = [];
  pair.onArrival = ({ exchange }) => order.push(`${exchange.request.body.length > MIB ? 'large' : 'small'} request`);
  const large = pair.forward(new RecordedExchange({ body: patterned(8 * MIB, 4) }));
  const small = pair.forward(new RecordedExchange());
  await until(() => pair.arrivals.length === 2, 'both requests');
  t.same(order, ['small request', 'large request']);

  pair.arrivals[1]?.exchange.respond(200, 'text/plain', patterned(8 * MIB, 5));
  pair.arrivals[0]?.exchange.respond(200, 'text/plain', 'small');
  await until(() => small.outcome === 'responded', 'the small answer');
  t.equal(large.outcome, 'none');
  await until(() => large.outcome === 'responded', 'the large answer');
});

t.test('many hops at once do not mix', async (t) => {
  const pair = await startHopPair(t);
  const random = new Random(31_337);
  pair.onArrival = ({ exchange }) => {
    const bytes = exchange.request.body;
    if (bytes.length % 2 === 0) {
      exchange.respond(200, 'text/plain', bytes, exchange.request.sessionId);
      return;
    }
    exchange.openStream(exchange.request.sessionId);
    const pieces = random.pieces(bytes, 20_000);
    const pump = (): void => {
      for (let mayGoOn = true; mayGoOn && pieces.length > 0;) mayGoOn = exchange.write(pieces.shift() as Buffer);
      if (pieces.length === 0) exchange.end();
    };
    exchange.onDrain = pump;
    setImmediate(pump);
  };
  const downstreams: RecordedExchange[] = [];
  for (let hop = 0; hop < 200; hop++) {
    const body = patterned(random.pick([1, 100, 5_000, 100_000, 700_000]) + random.below(50), hop);
    const downstream = new RecordedExchange({ body, sessionId: `session-${hop}` });
    downstream.isSlow = random.chance(0.2);
    downstreams.push(pair.forward(downstream));
    if (random.chance(0.3)) await new Promise(setImmediate);
  }
  await until(() => {
    for (const downstream of downstreams) downstream.drain();
    return downstreams.every(({ outcome }) => outcome === 'responded' || outcome === 'ended');
  }, 'every answer');
  let mixed = 0;
  for (const { answer, written, streamSessionId, request } of downstreams) {
    if (!request.body.equals(answer?.body ?? written)) mixed++;
    if ((answer?.sessionId ?? streamSessionId) !== request.sessionId) mixed++;
  }
  t.equal(mixed, 0);
});

t.test('without an owner nothing was sent', async (t) => {
  const pair = new HopPair(t);
  const downstream = pair.forward(new RecordedExchange());
  await until(() => downstream.outcome !== 'none', 'the failure');
  t.equal(downstream.outcome, 'owner-absent');
  t.equal(downstream.onAbort, undefined);
});

t.test('nothing of a request is copied for an owner that does not exist', async (t) => {
  const pair = new HopPair(t);
  const downstream = new RecordedExchange({ body: Buffer.alloc(100 * 1024, 'b') });
  const { request } = downstream;
  let looks = 0;
  const get = (): typeof request => {
    looks += 1;
    return request;
  };
  Object.defineProperty(downstream, 'request', { get });
  pair.forward(downstream);
  await until(() => downstream.outcome !== 'none', 'the failure');
  t.equal(downstream.outcome, 'owner-absent');
  t.equal(looks, 0);
});

t.test('a body is kept until there is an owner for it, as the request may go to the next owner', async (t) => {
  const pair = new HopPair(t);
  const body = Buffer.alloc(100 * 1024, 'b');
  const downstream = pair.forward(new RecordedExchange({ body }));
  await until(() => downstream.outcome !== 'none', 'the failure');
  t.equal(downstream.outcome, 'owner-absent');
  t.equal(downstream.isBodyReleased, false);
  await pair.startOwner();
  t.equal(await pair.roundTrip(), 'responded');
  const arrived = new RecordedExchange({ body });
  await pair.arrive(arrived);
  t.equal(arrived.isBodyReleased, true);
});

t.test('an owner that was killed leaves its socket behind; its successor takes the place', async (t) => {
  const pair = new HopPair(t);
  // A closing server removes the path that it was given: the renamed socket stays, with nothing listening behind it.
  const killed = createServer().listen(join(pair.directory, 'killed.sock'));
  await once(killed, 'listening');
  await rename(join(pair.directory, 'killed.sock'), pair.ownerPath);
  killed.close();
  await once(killed, 'close');

  const downstream = pair.forward(new RecordedExchange());
  await until(() => downstream.outcome !== 'none', 'the failure');
  t.equal(downstream.outcome, 'owner-absent');
  await pair.startOwner();
  t.equal(await pair.roundTrip(), 'responded');
});

t.test('an owner with a successor answers what it has; later requests go to the successor', async (t) => {
  const pair = await startHopPair(t);
  const begun = new RecordedExchange();
  const exchange = await pair.arrive(begun);
  const predecessor = await pair.replaceOwner();
  const between = await pair.arrive(new RecordedExchange());
  let isLeft = false;
  const left = predecessor.leave().then(() => (isLeft = true));
  // The other worker has one link, so a new one is the successor's: a request over it is unknown to the predecessor.
  t.equal(await pair.roundTrip(), 'responded');
  between.respond(200, 'text/plain', 'sent before it was known');
  t.notOk(isLeft, 'something is still under way');
  exchange.respond(200, 'text/plain', 'from the predecessor');
  await left;
  await until(() => begun.outcome === 'responded', 'the answer of the predecessor');
  t.equal(await pair.roundTrip(), 'responded', 'its link is gone, and nobody needs it');
});

t.test('the loss of an owner before, within and after the start of an answer is told apart', async (t) => {
  const pair = await startHopPair(t);
  const unanswered = new RecordedExchange();
  const streaming = new RecordedExchange();
  const held = new RecordedExchange();
  held.isSlow = true;
  const aborted = new RecordedExchange();
  await pair.arrive(unanswered);
  const stream = await pair.arrive(streaming);
  stream.openStream();
  stream.write(Buffer.from('begun'));
  const complete = await pair.arrive(held);
  complete.openStream();
  complete.write(Buffer.from('one '));
  complete.write(Buffer.from('two'));
  complete.end();
  await pair.arrive(aborted);
  aborted.abort();
  await until(() => streaming.writtenBytes === 5 && held.writtenBytes === 4, 'the beginning');
  await pair.roundTrip();

  await pair.stopOwner();
  await until(() => unanswered.outcome !== 'none', 'the failure');
  t.equal(unanswered.outcome, 'owner-lost');
  t.equal(streaming.outcome, 'cut');
  t.equal(aborted.outcome, 'none');
  held.isSlow = false;
  held.drain();
  t.equal(held.outcome, 'ended', 'an answer that had arrived is given to its end');
  t.equal(held.written.toString(), 'one two');

  const absent = pair.forward(new RecordedExchange());
  await until(() => absent.outcome !== 'none', 'the failure');
  t.equal(absent.outcome, 'owner-absent');
  await pair.startOwner();
  t.equal(await pair.roundTrip(), 'responded', 'the link is opened anew');
});

t.test('a worker that ends aborts its hops at their owners, and fails its own callers', async (t) => {
  const pair = await startHopPair(t);
  const downstream = new RecordedExchange();
  const exchange = await pair.arrive(downstream);
  let aborts = 0;
  exchange.onAbort = () => aborts++;
  pair.hops.close();
  await until(() => aborts === 1 && downstream.outcome !== 'none', 'the abort');
  t.equal(downstream.outcome, 'owner-lost');
  t.equal(pair.forward(new RecordedExchange()).outcome, 'owner-absent', 'nothing is opened after the close');
});

t.test('an owner can cut its answer off', async (t) => {
  const pair = await startHopPair(t);
  for (const isStreaming of [false, true]) {
    const downstream = new RecordedExchange();
    const exchange = await pair.arrive(downstream);
    if (isStreaming) exchange.openStream();
    exchange.reset();
    await until(() => downstream.outcome === 'cut', 'the cut');
    t.equal(exchange.isAborted, true);
  }
  t.equal(await pair.roundTrip(), 'responded');
});

t.test('an answer above hopAnswerBytesMax fails its hop, and no other', async (t) => {
  const pair = await startHopPair(t);
  const downstream = new RecordedExchange();
  const exchange = await pair.arrive(downstream);
  const other = new RecordedExchange();
  const otherExchange = await pair.arrive(other);
  exchange.respond(200, 'text/plain', Buffer.alloc(hopBounds.hopAnswerBytesMax + 1));
  await until(() => downstream.outcome !== 'none', 'the failure');
  t.equal(downstream.outcome, 'hop-failed');
  t.equal(downstream.onAbort, undefined, 'the hop lets go of the exchange');
  otherExchange.respond(200, 'text/plain', 'whole');
  await until(() => other.outcome !== 'none', 'the other answer');
  t.equal(other.outcome, 'responded');
  t.equal(await pair.roundTrip(), 'responded');
});

t.test('a link carries hopsPerLinkMax hops, and one more fails', async (t) => {
  const pair = await startHopPair(t);
  // The link is opened first: sending so many hops at once may take longer than a link may take to open.
  t.equal(await pair.roundTrip(), 'responded');
  pair.arrivals.length = 0;
  let failures = 0;
  const onFailure = (): void => void failures++;
  const exchange = new RecordedExchange({ body: Buffer.alloc(0) });
  for (let hop = 0; hop < hopBounds.hopsPerLinkMax; hop++) pair.hops.forward(OWNER_SLOT, HOP, exchange, onFailure);
  t.equal(pair.forward(new RecordedExchange()).outcome, 'owner-lost');
  pair.onArrival = ({ exchange: arrived }) => {
    if (pair.arrivals.length === hopBounds.hopsPerLinkMax) arrived.respond(200, 'text/plain', '');
  };
  await until(() => exchange.outcome === 'responded', 'the last hop');
  t.equal(failures, 0);
  t.equal(await pair.roundTrip(), 'responded', 'its place is free again');
});

t.test('the limits fit together', async (t) => {
  t.ok(hopBounds.hopFrameBytesMax >= 2 * 2 * limits.requestHeaderBytesMax, 'a head of headers and subject in UTF-16');
  t.ok(hopBounds.hopPartBytesMax <= hopBounds.hopFrameBytesMax);
  t.ok(hopBounds.hopWindowBytes % 4 === 0 && hopBounds.hopPartBytesMax <= hopBounds.hopWindowBytes);
});

t.test('the secret is not sent in a directory that others can enter', async (t) => {
  const pair = await startHopPair(t);
  chmodSync(pair.directory, 0o755);
  t.equal(pair.forward(new RecordedExchange()).outcome, 'owner-lost');
  chmodSync(pair.directory, 0o700);
  t.equal(await pair.roundTrip(), 'responded');
  chmodSync(pair.directory, 0o755);
  t.equal(await pair.roundTrip(), 'responded', 'a link that is open goes on');
});
