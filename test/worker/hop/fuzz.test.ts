// Frames as a broken or hostile worker might send them, at both ends of a link: valid ones in any order, damaged ones, on streams that are
// open, were open, or never existed. Whatever comes, no other stream of the link is disturbed: every few frames, another request passes
// over the same link and must get its own response, to the byte.
//
// TAP_TIMEOUT=0 SWITCHYARD_FUZZ_INPUTS=1000000 node build/test/worker/hop/fuzz.test.js runs as many at each end.
import t, { type Test } from 'tap';
import type { FrameKind } from '../../../src/worker/hop/frames.js';
import { fuzzInputs } from '../../support/fuzz-inputs.js';
import { Random } from '../../support/random.js';
import { until } from '../../support/until.js';
import { HOP, startHopPair, type HopPair } from './pair.js';
import { connectRaw, startRawOwner } from './raw-ends.js';
import { encodeFrame, head, requestHead, respondHead, u32 } from './raw-peer.js';
import { RecordedExchange } from '../../support/recorded-exchange.js';
import { hopBounds } from '../../../src/worker/hop/frames.js';

const SEED = 20261121;
const INPUTS = fuzzInputs(20_000);
const BATCH = 250;
/** How many streams a link carries before it is replaced: each has its own place. */
const STREAMS_PER_LINK = 50_000;
const VICTIM = 'the-victim';

/** Frames that the owner may get in any order: each concerns its own stream alone. */
const TO_OWNER: readonly FrameKind[] = ['data', 'data', 'credit', 'abort', 'reset'];
const TO_CALLER: readonly FrameKind[] = [
  'respond',
  'sessionless',
  'open-stream',
  'open-body',
  'data',
  'data',
  'end',
  'cut',
  'credit',
  'reset',
];

function payloadOf(kind: FrameKind, random: Random): Buffer {
  const valid = validPayload(kind, random);
  if (random.chance(0.6) || valid.length === 0) return valid;
  if (random.chance(0.5)) return valid.subarray(0, random.below(valid.length));
  const damaged = Buffer.from(valid);
  for (let i = random.below(4); i >= 0; i--) damaged[random.below(damaged.length)] = random.below(256);
  return damaged;
}

function validPayload(kind: FrameKind, random: Random): Buffer {
  const bytes = random.pick([0, 1, 5, 300, hopBounds.hopPartBytesMax]);
  switch (kind) {
    case 'request':
      return requestHead(random.pick([0, 0, 1, 5, 300, 100_000]));
    case 'respond':
      return respondHead(bytes);
    case 'open-body':
      return Buffer.from([...u32(bytes), random.below(3)]);
    case 'data':
      return Buffer.alloc(random.chance(0.9) ? random.below(20) : bytes, 'd');
    case 'credit':
      return u32(random.pick([0, 1, 65_536, hopBounds.hopWindowBytes]));
    default:
      return Buffer.alloc(random.chance(0.9) ? 0 : 3);
  }
}

t.test(`${INPUTS} frames at the owner, seed ${SEED}`, async (t) => {
  const random = new Random(SEED);
  const pair = await startHopPair(t);
  pair.onArrival = ({ hop, exchange }) => {
    pair.arrivals.length = 0;
    if (hop.subject === VICTIM) exchange.respond(200, 'text/plain', exchange.request.body);
    else if (random.chance(0.5)) exchange.respond(200, 'text/plain', Buffer.alloc(random.below(1_000)));
    else if (random.chance(0.5)) exchange.openStream();
    exchange.onAbort = () => {};
  };
  const victims = await countVictims(t, pair, random);
  t.equal(victims, Math.ceil(INPUTS / BATCH), 'every request of somebody else got its answer');
});

async function countVictims(t: Test, pair: HopPair, random: Random): Promise<number> {
  let peer = await connectRaw(t, pair);
  let stream = 0;
  let victims = 0;
  for (let sent = 0; sent < INPUTS; sent += BATCH) {
    if (stream > STREAMS_PER_LINK) {
      peer.socket.destroy();
      peer = await connectRaw(t, pair);
      stream = 0;
    }
    const frames: Buffer[] = [];
    for (let i = 0; i < BATCH; i++) {
      const isRequest = random.chance(0.3);
      const kind = isRequest ? 'request' : random.pick(TO_OWNER);
      const target = isRequest ? ++stream : Math.max(1, stream - random.below(30));
      frames.push(encodeFrame({ kind, stream: target, payload: payloadOf(kind, random) }));
    }
    const body = Buffer.from(`victim ${victims}`);
    const victim = ++stream;
    const asked = head([...u32(body.length), 0, 2, 0, 0], [VICTIM, 'a-host', 'a-session', '', 'an-id', '', '']);
    frames.push(encodeFrame({ kind: 'request', stream: victim, payload: asked }));
    frames.push(encodeFrame({ kind: 'data', stream: victim, payload: body }));
    for (const piece of random.pieces(Buffer.concat(frames), 60_000)) peer.socket.write(piece);
    const answer = (): Buffer | undefined =>
      peer.frames.find((frame) => frame.stream === victim && frame.kind === 'data')?.payload;
    await until(() => answer() !== undefined || peer.isClosed, 'the answer of somebody else');
    if (answer()?.equals(body) !== true) throw new Error(`frames ${sent} to ${sent + BATCH}: ${String(answer())}`);
    peer.frames.length = 0;
    victims += 1;
  }
  return victims;
}

t.test(`${INPUTS} frames at the caller, seed ${SEED}`, async (t) => {
  const random = new Random(SEED + 1);
  const { pair, links } = await startRawOwner(t);
  let victims = 0;
  for (let sent = 0; sent < INPUTS; sent += BATCH) {
    const asked = Array.from({ length: 40 }, () => new RecordedExchange({ body: Buffer.alloc(random.below(40)) }));
    for (const exchange of asked) {
      exchange.isSlow = random.chance(0.3);
      pair.forward(exchange);
    }
    const victim = pair.forward(new RecordedExchange(), { ...HOP, subject: VICTIM });
    const requests = (): number[] =>
      (links[0]?.frames ?? []).filter(({ kind }) => kind === 'request').map(({ stream }) => stream);
    await until(() => requests().length === asked.length + 1, 'the requests');
    const streams = requests();
    const ofVictim = streams.at(-1) ?? 0;
    const frames: Buffer[] = [];
    for (let i = 0; i < BATCH; i++) {
      const kind = random.pick(TO_CALLER);
      const stream = random.chance(0.95) ? (streams[random.below(asked.length)] ?? 0) : 0xffff_0000 + random.below(99);
      frames.push(encodeFrame({ kind, stream, payload: payloadOf(kind, random) }));
    }
    const body = Buffer.from(`victim ${victims}`);
    frames.push(encodeFrame({ kind: 'respond', stream: ofVictim, payload: respondHead(body.length) }));
    frames.push(encodeFrame({ kind: 'data', stream: ofVictim, payload: body }));
    const link = links[0];
    if (link === undefined) throw new Error('no link');
    link.frames.length = 0;
    for (const piece of random.pieces(Buffer.concat(frames), 60_000)) link.socket.write(piece);
    await until(() => victim.outcome !== 'none', 'the answer of somebody else');
    if (victim.answer?.body.equals(body) !== true) throw new Error(`frames ${sent}: ${victim.outcome}`);
    for (const exchange of asked) {
      if (random.chance(0.5)) exchange.drain();
      if (exchange.outcome === 'none' || exchange.outcome === 'streaming') exchange.abort();
    }
    // Once this response has arrived, so have the aborts: otherwise the next requests would be counted wrongly.
    const last = pair.forward(new RecordedExchange());
    await until(() => requests().length === 1, 'the last request');
    link.send('respond', requests()[0] ?? 0, respondHead(0));
    await until(() => last.outcome === 'responded', 'its answer');
    link.frames.length = 0;
    victims += 1;
  }
  t.equal(links.length, 1, 'one link served them all');
  t.equal(victims, Math.ceil(INPUTS / BATCH), 'every request of somebody else got its answer');
});
