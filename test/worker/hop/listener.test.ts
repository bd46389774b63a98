import { existsSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { randomBytes } from 'node:crypto';
import t from 'tap';
import { limits } from '../../../src/shared/limits.js';
import { hasten } from '../../support/hasten.js';
import { Random } from '../../support/random.js';
import { until } from '../../support/until.js';
import { BODY_BYTES_MAX, startHopPair } from './pair.js';
import { connectRaw } from './raw-ends.js';
import { encodeFrame, RawPeer, requestHead, u32 } from './raw-peer.js';
import { RecordedExchange } from '../../support/recorded-exchange.js';
import { hopBounds } from '../../../src/worker/hop/frames.js';

t.test('the socket is private, and gone after the close', async (t) => {
  const pair = await startHopPair(t);
  t.equal(statSync(pair.ownerPath).mode & 0o777, 0o600);
  await pair.stopOwner();
  t.notOk(existsSync(pair.ownerPath));
});

t.test('a peer that does not know the secret is refused', async (t) => {
  const pair = await startHopPair(t);
  const secrets = [
    randomBytes(32),
    Buffer.alloc(0),
    pair.secret.subarray(0, 31),
    Buffer.concat([pair.secret, pair.secret]),
  ];
  for (const secret of secrets) {
    const peer = await connectRaw(t, pair, secret);
    peer.send('request', 1, requestHead(0));
    await until(() => peer.isClosed, 'the refusal');
  }
  const socket = connect(pair.ownerPath);
  const peer = new RawPeer(socket);
  peer.send('request', 1, requestHead(0));
  await until(() => peer.isClosed, 'the refusal of a request without the secret');
  const http = new RawPeer(connect(pair.ownerPath));
  http.socket.write('POST /gw-rs/mcp HTTP/1.1\r\nhost: localhost\r\n\r\n');
  await until(() => http.isClosed, 'the refusal of HTTP');
  t.equal(pair.arrivals.length, 0);
  t.equal(await pair.roundTrip(), 'responded', 'a link that knows it is not disturbed');
});

t.test('a link on which nothing is sent is closed', async (t) => {
  const pair = await startHopPair(t);
  const startMs = performance.now();
  const insteadMs = 200;
  t.teardown(hasten(limits.peerAnswerMsMax, insteadMs));
  const peer = new RawPeer(connect(pair.ownerPath));
  await until(() => peer.isClosed, 'the close');
  t.ok(performance.now() - startMs > insteadMs * 0.9);
});

t.test('malformed frames of a peer that knows the secret close its link alone', async (t) => {
  const pair = await startHopPair(t);
  const longHeader = encodeFrame({ kind: 'data', stream: 1, payload: Buffer.alloc(0) });
  longHeader.writeUInt32LE(hopBounds.hopFrameBytesMax + 1, 0);
  const faults: Record<string, (peer: RawPeer) => void> = {
    'a second hello': (peer) => peer.send('hello', 0, pair.secret),
    'a frame of the other direction': (peer) => peer.send('respond', 1),
    'a stream in use': (peer) => {
      peer.send('request', 7, requestHead(0));
      peer.send('request', 7, requestHead(0));
    },
    'a stream whose body is still arriving': (peer) => {
      peer.send('request', 7, requestHead(3));
      peer.send('request', 7, requestHead(0));
    },
    'a frame too long': (peer) => peer.socket.write(longHeader),
  };
  for (const [name, fault] of Object.entries(faults)) {
    const peer = await connectRaw(t, pair);
    fault(peer);
    await until(() => peer.isClosed, `the close after ${name}`);
    t.ok(
      pair.arrivals.every(({ exchange }) => exchange.isAborted),
      name,
    );
    t.equal(await pair.roundTrip(), 'responded');
    pair.arrivals.length = 0;
  }
});

t.test('an impossible request ends its stream, and no other on the link', async (t) => {
  const pair = await startHopPair(t);
  const unknownMethod = requestHead(0);
  unknownMethod[4] = 255;
  const faults: Record<string, (peer: RawPeer) => void> = {
    'half a head': (peer) => peer.send('request', 1, requestHead(0).subarray(0, 20)),
    'an unknown method': (peer) => peer.send('request', 1, unknownMethod),
    'a body above the limit': (peer) => peer.send('request', 1, requestHead(BODY_BYTES_MAX + 1)),
    'a body longer than its head says': (peer) => {
      peer.send('request', 1, requestHead(3));
      peer.send('data', 1, 'four');
    },
    'credit for bytes that were not sent': (peer) => {
      peer.send('request', 1, requestHead(0));
      peer.send('credit', 1, u32(1));
    },
  };
  for (const [name, fault] of Object.entries(faults)) {
    const peer = await connectRaw(t, pair);
    peer.send('request', 2, requestHead(0));
    await until(() => pair.arrivals.length === 1, 'the other request');
    const other = pair.arrivals[0]?.exchange;
    fault(peer);
    peer.send('data', 1, 'late');
    await until(() => peer.told(1).includes('reset'), `the reset after ${name}`);
    t.ok(
      pair.arrivals.every(({ exchange }) => exchange === other || exchange.isAborted),
      name,
    );
    other?.respond(200, 'text/plain', 'right');
    await until(() => peer.told(2).includes('data 5'), `the other answer after ${name}`);
    t.notOk(peer.isClosed, name);
    peer.socket.destroy();
    pair.arrivals.length = 0;
  }
});

t.test('frames that cross the end of an answer do no harm', async (t) => {
  const pair = await startHopPair(t);
  const peer = await connectRaw(t, pair);
  pair.onArrival = ({ exchange }) => exchange.respond(200, 'text/plain', '');
  peer.send('request', 1, requestHead(0));
  peer.send('credit', 1, u32(1));
  peer.send('abort', 1);
  peer.send('request', 1, requestHead(0));
  await until(() => peer.frames.length === 2, 'both answers');
  t.same(peer.told(1), ['respond', 'respond']);
});

t.test('when a worker dies, its requests are aborted, and one that it has half sent is dropped', async (t) => {
  const pair = await startHopPair(t);
  const peer = await connectRaw(t, pair);
  peer.send('request', 1, requestHead(0));
  peer.send('request', 2, requestHead(10));
  peer.send('data', 2, 'half');
  await until(() => pair.arrivals.length === 1, 'the request');
  const exchange = pair.arrivals[0]?.exchange;
  let aborts = 0;
  if (exchange !== undefined) exchange.onAbort = () => aborts++;
  peer.socket.destroy();
  await until(() => aborts === 1, 'the abort');
  t.equal(pair.arrivals.length, 1);
});

t.test('whatever a peer that knows the secret sends, the owner lives', async (t) => {
  const pair = await startHopPair(t);
  const random = new Random(65_537);
  const valid = [
    encodeFrame({ kind: 'request', stream: 1, payload: requestHead(5) }),
    encodeFrame({ kind: 'data', stream: 1, payload: Buffer.from('12345') }),
    encodeFrame({ kind: 'request', stream: 2, payload: requestHead(0) }),
    encodeFrame({ kind: 'abort', stream: 2, payload: Buffer.alloc(0) }),
    encodeFrame({ kind: 'credit', stream: 1, payload: u32(0) }),
  ];
  pair.onArrival = ({ exchange }) => {
    exchange.openStream();
    exchange.write(exchange.request.body);
  };
  for (let round = 0; round < 150; round++) {
    const bytes = Buffer.concat(Array.from({ length: 1 + random.below(6) }, () => random.pick(valid)));
    if (random.chance(0.5)) bytes[random.below(bytes.length)] = random.below(256);
    const peer = await connectRaw(t, pair);
    for (const piece of random.pieces(bytes, 40)) peer.socket.write(piece);
    peer.socket.end();
    await until(() => peer.isClosed, 'the close');
  }
  await until(() => pair.arrivals.every(({ exchange }) => exchange.isAborted), 'the aborts');
  pair.onArrival = () => {};
  t.equal(await pair.roundTrip(), 'responded');
  t.ok(pair.arrivals.length > 40, `${pair.arrivals.length} requests were valid`);
});

t.test('the close ends every link and aborts what is on it', async (t) => {
  const pair = await startHopPair(t);
  const peer = await connectRaw(t, pair);
  const downstream = new RecordedExchange();
  const exchange = await pair.arrive(downstream);
  await pair.stopOwner();
  t.ok(exchange.isAborted);
  await until(() => peer.isClosed && downstream.outcome === 'owner-lost', 'the close');
});
