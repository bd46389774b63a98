// What every exchange promises about its end: `onDone` is called once, with how much of the answer the caller got. Checked for each
// implementation, those of servers over real sockets.
import { connect, type AddressInfo } from 'node:net';
import { createServer } from 'node:http';
import t, { type Test } from 'tap';
import { NodeExchanges } from '../../src/edge/node-server.js';
import { createLogger } from '../../src/shared/logger.js';
import { Batch } from '../../src/calls/dispatch/batch.js';
import type { Exchange } from '../../src/exchange/exchange.js';
import { ScansInProgress } from '../../src/streams/in-flight/requests-in-flight.js';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';
import { createMessageMemories } from '../../src/fair/message-memory.js';
import { OWN_INTRODUCTION } from '../../src/upstream/session/client-introduction.js';
import { createAccounts } from '../support/shares.js';
import { RecordedExchange } from '../support/recorded-exchange.js';
import { until } from '../support/until.js';
import { startEdge } from '../edge/edge-server.js';
import { startHopPair } from '../worker/hop/pair.js';

interface Served {
  readonly exchange: Exchange;
  /** Makes the caller go away, and resolves once the exchange knows. */
  readonly leave: () => Promise<void>;
}

type Open = () => Promise<Served>;

/** A caller with a socket of its own for each request. */
function callerOf(t: Test, port: () => number): { open: Open; onExchange: (exchange: Exchange) => void } {
  const arrived: Exchange[] = [];
  let count = 0;
  return {
    onExchange: (exchange) => arrived.push(exchange),
    open: async () => {
      const socket = connect(port(), '127.0.0.1');
      t.teardown(() => socket.destroy());
      socket.on('error', () => {});
      socket.resume();
      socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
      const place = count++;
      await until(() => arrived.length > place, 'the request');
      const exchange = arrived[place]!;
      const leave = async (): Promise<void> => {
        socket.destroy();
        await until(() => exchange.isAborted, 'the abort');
      };
      return { exchange, leave };
    },
  };
}

async function edge(t: Test): Promise<Open> {
  let port = 0;
  const { open, onExchange } = callerOf(t, () => port);
  ({ port } = await startEdge(t, onExchange));
  return open;
}

async function node(t: Test): Promise<Open> {
  const deadlines = new DeadlineWheel();
  const parts = { deadlines, bodyBytesMax: 1_000, streamKeepAliveMs: 14_000, logger: createLogger('silent', {}) };
  const exchanges = new NodeExchanges(parts, createMessageMemories(createAccounts(), deadlines));
  const { open, onExchange } = callerOf(t, () => (http.address() as AddressInfo).port);
  const http = createServer((message, response) => onExchange(exchanges.open(message, response, '')));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    deadlines.stop();
    http.closeAllConnections();
    http.close();
  });
  return open;
}

async function hop(t: Test): Promise<Open> {
  const pair = await startHopPair(t);
  return async () => {
    const downstream = new RecordedExchange();
    const exchange = await pair.arrive(downstream);
    const leave = async (): Promise<void> => {
      downstream.abort();
      await until(() => exchange.isAborted, 'the abort');
    };
    return { exchange, leave };
  };
}

function part(t: Test): Promise<Open> {
  const deadlines = new DeadlineWheel();
  t.teardown(() => deadlines.stop());
  const identity = {
    id: 's',
    subject: 'alice',
    virtualHostId: 'v',
    protocolVersion: '2025-03-26',
    era: 'legacy' as const,
    introduction: OWN_INTRODUCTION,
  };
  return Promise.resolve(() => {
    const downstream = new RecordedExchange({ body: Buffer.from('[{}]') });
    downstream.isForgiving = true;
    const session = { identity, isEnded: false, virtualHost: undefined, scansInProgress: new ScansInProgress() };
    const parts: Exchange[] = [];
    const { answers } = createMessageMemories(createAccounts(), deadlines);
    const batch = new Batch(answers, session, downstream);
    batch.run({ kind: 'batch', members: [{ start: 1, end: 3 }] }, (member) => parts.push(member));
    const leave = (): Promise<void> => Promise.resolve(downstream.abort());
    return Promise.resolve({ exchange: parts[0]!, leave });
  });
}

const EVENT = Buffer.from('data: 1\n\n');

function beginStream(exchange: Exchange): void {
  exchange.openStream();
  exchange.write(EVENT);
}

const endings: Record<string, [end: (served: Served) => unknown, told: readonly unknown[]]> = {
  'an answer at once': [({ exchange }) => exchange.respond(200, 'text/plain', 'fünf'), [200, 5, 'whole']],
  'nothing but a status': [({ exchange }) => exchange.respond(202, '', ''), [202, 0, 'whole']],
  'a stream': [
    ({ exchange }) => {
      beginStream(exchange);
      exchange.end();
    },
    [200, EVENT.length, 'whole'],
  ],
  'a body in parts': [
    ({ exchange }) => {
      exchange.openBody('application/json', 2);
      exchange.write(Buffer.from('{}'));
      exchange.end();
    },
    [200, 2, 'whole'],
  ],
  'a reset before the answer': [({ exchange }) => exchange.reset(), [0, 0, 'cut']],
  'a reset within the answer': [
    ({ exchange }) => {
      beginStream(exchange);
      exchange.reset();
    },
    [200, EVENT.length, 'cut'],
  ],
  'a caller that goes away within the answer': [
    ({ exchange, leave }) => {
      beginStream(exchange);
      return leave();
    },
    [200, EVENT.length, 'cut'],
  ],
};

/** What the relay may do for a caller that went away before there was an answer. */
const unheard: Record<string, [answer: (exchange: Exchange) => void, told: readonly unknown[]]> = {
  'is answered': [(exchange) => exchange.respond(404, 'application/json', '{}'), [404, 0, 'unheard']],
  'is streamed to': [(exchange) => exchange.openStream(), [200, 0, 'unheard']],
  'is given a body': [(exchange) => exchange.openBody('application/json', 2), [200, 0, 'unheard']],
  'is given up': [(exchange) => exchange.reset(), [0, 0, 'unheard']],
};

/** Calls everything that may still be called, none of which may call `onDone` again. */
function callAll(exchange: Exchange): void {
  exchange.respond(500, 'application/json', '{}');
  exchange.openStream();
  t.equal(exchange.write(EVENT), true, 'there is nothing to wait for');
  exchange.end();
  exchange.reset();
}

for (const [name, start] of Object.entries({ edge, node, hop, part })) {
  t.test(`${name}: the end is told once`, async (t) => {
    const open = await start(t);
    for (const [what, [end, told]] of Object.entries(endings)) {
      const served = await open();
      const ends: unknown[][] = [];
      served.exchange.onDone = (...given) => ends.push(given);
      await end(served);
      await until(() => ends.length > 0, `${what}: the end`);
      t.equal(served.exchange.isAborted, told[2] === 'cut', `${what}: isAborted`);
      callAll(served.exchange);
      t.same(ends, [told], what);
    }
    for (const [what, [answer, told]] of Object.entries(unheard)) {
      const served = await open();
      const ends: unknown[][] = [];
      served.exchange.onDone = (...given) => ends.push(given);
      await served.leave();
      t.same(ends, [], 'it is still worked on');
      answer(served.exchange);
      callAll(served.exchange);
      t.same(ends, [told], `one that is gone ${what}`);
    }
  });
}
