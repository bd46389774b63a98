// Walks the state table that src/worker/hop/exchange.ts draws, and checks what is sent over the link.
import { once } from 'node:events';
import { connect } from 'node:net';
import t from 'tap';
import type { Exchange } from '../../../src/exchange/exchange.js';
import { answerInParts } from '../../../src/exchange/answers.js';
import { DeadlineWheel } from '../../../src/fair/deadline-wheel.js';
import { createMessageMemories } from '../../../src/fair/message-memory.js';
import { createAccounts } from '../../support/shares.js';
import { until } from '../../support/until.js';
import { startHopPair, type HopPair } from './pair.js';
import { RawPeer, requestHead, u32 } from './raw-peer.js';
import { RecordedExchange } from '../../support/recorded-exchange.js';
import { hopBounds } from '../../../src/worker/hop/frames.js';

const LARGE_ANSWER = Buffer.alloc(2 * hopBounds.hopWindowBytes, 120);
const TOO_MUCH = Buffer.alloc(hopBounds.hopWindowBytes + 1);

const states: Record<string, (exchange: Exchange, abort: () => Promise<void>) => void | Promise<void>> = {
  unanswered: () => {},
  responding: (exchange) => exchange.respond(200, 'text/plain', TOO_MUCH),
  streaming: (exchange) => exchange.openStream(),
  ending: (exchange) => {
    exchange.openStream();
    exchange.write(TOO_MUCH);
    exchange.end();
  },
  complete: (exchange) => exchange.respond(200, 'text/plain', 'x'),
  aborted: (_exchange, abort) => abort(),
};

const calls: Record<string, (exchange: Exchange) => void> = {
  respond: (exchange) => exchange.respond(200, 'text/plain', 'x'),
  openStream: (exchange) => exchange.openStream(),
  openBody: (exchange) => exchange.openBody('application/json', 1),
  write: (exchange) => void exchange.write(Buffer.from('x')),
  end: (exchange) => exchange.end(),
  cut: (exchange) => exchange.reset(),
};

/** The frames that a call sends in a state; none where the table has no entry. */
const sent: Record<string, Record<string, string[]>> = {
  unanswered: { respond: ['respond', 'data 1'], openStream: ['open-stream'], openBody: ['open-body'], cut: ['cut'] },
  streaming: { write: ['data 1'], end: ['end'], cut: ['cut'] },
};

t.test('each call in each state sends what the table says, and an abort is reported once', async (t) => {
  const pair = await startHopPair(t);
  const socket = connect(pair.ownerPath);
  t.teardown(() => socket.destroy());
  await once(socket, 'connect');
  const peer = new RawPeer(socket);
  peer.send('hello', 0, pair.secret);
  let lastStream = 0;

  /** Opens a new stream, and returns its exchange at the owner. */
  const open = async (): Promise<Exchange> => {
    peer.send('request', ++lastStream, requestHead(0));
    await until(() => pair.arrivals.length === lastStream, 'the request');
    return pair.arrivals.at(-1)?.exchange as Exchange;
  };
  /** Once this has passed, everything sent before has arrived: frames keep their order, both ways. */
  const settle = async (): Promise<void> => {
    (await open()).respond(200, 'text/plain', '');
    await until(() => peer.told(lastStream).length === 1, 'the marker');
  };
  const abort = async (stream: number): Promise<void> => {
    peer.send('abort', stream);
    await settle();
  };

  for (const [state, reach] of Object.entries(states)) {
    for (const [name, call] of Object.entries(calls)) {
      const exchange = await open();
      const stream = lastStream;
      await reach(exchange, () => abort(stream));
      await settle();
      const toldBefore = peer.told(stream).length;
      call(exchange);
      await settle();
      t.same(peer.told(stream).slice(toldBefore), sent[state]?.[name] ?? [], `${name} while ${state}`);
    }

    const exchange = await open();
    const stream = lastStream;
    let aborts = 0;
    exchange.onAbort = () => aborts++;
    await reach(exchange, () => abort(stream));
    await abort(stream);
    t.equal(exchange.isAborted, state !== 'complete', `isAborted after an abort while ${state}`);
    t.equal(aborts, ['unanswered', 'streaming', 'aborted'].includes(state) ? 1 : 0, `onAbort while ${state}`);
  }
});

/** How a hop can end while its caller has not read the response. */
const endings: Record<string, (downstream: RecordedExchange, exchange: Exchange, pair: HopPair) => unknown> = {
  'is read': async (downstream) => {
    downstream.isSlow = false;
    await until(() => {
      downstream.drain();
      return downstream.outcome === 'ended';
    }, 'the whole answer');
  },
  'is left by its caller': (downstream) => downstream.abort(),
  'is cut': (_downstream, exchange) => exchange.reset(),
  'loses its link': (_downstream, _exchange, pair) => pair.stopOwner(),
};

t.test('a message that is passed on in pieces counts in the share of answers until its hop is over', async (t) => {
  const bytes = 16 * hopBounds.hopWindowBytes;
  for (const answerForms of ['json', 'event-stream'] as const) {
    for (const [ending, end] of Object.entries(endings)) {
      const accounts = createAccounts();
      const deadlines = new DeadlineWheel();
      t.teardown(() => deadlines.stop());
      const pair = await startHopPair(t, createMessageMemories(accounts, deadlines).answers);
      const downstream = new RecordedExchange({ acceptedTypes: answerForms });
      downstream.isSlow = true;
      const exchange = await pair.arrive(downstream);
      answerInParts(exchange, [Buffer.alloc(100, 'a'), Buffer.alloc(bytes - 100, 'b')]);
      await until(() => downstream.writtenBytes > 0, 'the first piece');
      t.equal(accounts.used('answerBytes'), bytes, `${answerForms}: all of it, before it ${ending}`);
      await end(downstream, exchange, pair);
      await until(() => accounts.used('answerBytes') === 0, `${answerForms}: nothing, once it ${ending}`);
    }
  }
});

t.test(
  'a small last event shares the frame of the end; a large one, or one behind waiting data, is sent before',
  async (t) => {
    const pair = await startHopPair(t);
    const socket = connect(pair.ownerPath);
    t.teardown(() => socket.destroy());
    await once(socket, 'connect');
    const peer = new RawPeer(socket);
    peer.send('hello', 0, pair.secret);
    const window = Array<string>(hopBounds.hopWindowBytes / hopBounds.hopPartBytesMax).fill(
      `data ${hopBounds.hopPartBytesMax}`,
    );
    const rows: [what: string, before: number, last: number, told: string[]][] = [
      ['small', 0, 100, ['open-stream', 'end 100']],
      ['large', 0, 10_000, ['open-stream', 'data 10000', 'end']],
      ['behind what waits', TOO_MUCH.length, 100, ['open-stream', ...window, 'data 1', 'data 100', 'end']],
    ];
    for (const [index, [what, before, last, told]] of rows.entries()) {
      const stream = index + 1;
      peer.send('request', stream, requestHead(0));
      await until(() => pair.arrivals.length === stream, 'the request');
      const exchange = pair.arrivals.at(-1)!.exchange;
      const ends: unknown[] = [];
      exchange.onDone = (...end) => ends.push(end);
      exchange.openStream();
      if (before > 0) exchange.write(Buffer.alloc(before));
      exchange.end(Buffer.alloc(last));
      if (before > hopBounds.hopWindowBytes) {
        t.same(ends, [], 'it waits for credit');
        peer.send('credit', stream, u32(hopBounds.hopWindowBytes));
      }
      await until(() => peer.told(stream).at(-1)?.startsWith('end') === true, what);
      t.same(peer.told(stream), told, what);
      t.same(ends, [[200, before + last, 'whole']]);
    }
  },
);

t.test('an answer that a worker passes on counts while it is gathered, until its hop is over', async (t) => {
  const accounts = createAccounts();
  const deadlines = new DeadlineWheel();
  t.teardown(() => deadlines.stop());
  const pair = await startHopPair(t, createMessageMemories(accounts, deadlines).answers);
  const downstream = new RecordedExchange();
  const exchange = await pair.arrive(downstream);
  const waiter = { onRoom: () => undefined, onNoRoom: () => undefined };
  t.equal(exchange.reserve(LARGE_ANSWER.length, waiter), 'room');
  t.equal(accounts.used('answerBytes'), LARGE_ANSWER.length, 'before the first byte of it');
  exchange.respond(200, 'text/plain', LARGE_ANSWER);
  t.equal(accounts.used('answerBytes'), LARGE_ANSWER.length, 'once, while it waits for credit');
  await until(() => downstream.outcome === 'responded', 'the answer');
  await until(() => accounts.used('answerBytes') === 0, 'the room to be given back');
});

t.test('data that comes with the end reaches even a slow caller, and counts as its body', async (t) => {
  const pair = await startHopPair(t);
  const last = Buffer.from('data: 2\n\n');
  // The second is larger than the credit: the end comes while part of it waits.
  for (const first of [Buffer.from('data: 1\n\n'), LARGE_ANSWER]) {
    for (const isSlow of [false, true]) {
      for (const isBody of [false, true]) {
        const downstream = new RecordedExchange();
        downstream.isSlow = isSlow;
        const exchange = await pair.arrive(downstream);
        if (isBody) exchange.openBody('text/event-stream', first.length + last.length);
        else exchange.openStream();
        exchange.write(first);
        exchange.end(last);
        await until(() => {
          downstream.drain();
          return downstream.outcome !== 'streaming' && downstream.outcome !== 'none';
        }, 'the end');
        t.equal(downstream.outcome, 'ended');
        t.ok(downstream.written.equals(Buffer.concat([first, last])), 'byte for byte');
      }
    }
  }
});
