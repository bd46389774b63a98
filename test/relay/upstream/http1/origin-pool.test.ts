import t, { type Test } from 'tap';
import type { UpstreamHandler } from '../../../../src/relay/upstream/http-upstream.js';
import { Http1Call } from '../../../../src/relay/upstream/http1/http1-call.js';
import { OriginPool } from '../../../../src/relay/upstream/http1/origin-pool.js';
import { WriteBatch } from '../../../../src/relay/upstream/http1/write-batch.js';
import type { UpstreamFault } from '../../../../src/relay/upstream/upstream-fault.js';
import { startRawBackend, type RawBackend } from '../../../support/raw-backend.js';
import { until } from '../../../support/until.js';

const CONNECTIONS_MAX = 2;
const WAITING_MAX = 3;

/** A backend that answers nothing by itself, and the connections to it. */
async function start(t: Test): Promise<{ backend: RawBackend; pool: OriginPool }> {
  const backend = await startRawBackend(() => undefined);
  const pool = new OriginPool(
    { origin: new URL(backend.origin), connectTimeoutMs: 5_000, lookup: undefined },
    new WriteBatch(),
    {
      upstreamConnectionsMax: CONNECTIONS_MAX,
      upstreamRequestsWaitingMax: WAITING_MAX,
    },
  );
  t.teardown(async () => {
    await pool.close();
    await backend.close();
  });
  return { backend, pool };
}

/** Sends a call whose path is its name; what became of it appears in `outcomes` under that name. */
function send(pool: OriginPool, name: string, outcomes: Map<string, UpstreamFault | 'end'>): Http1Call {
  const handler: UpstreamHandler = {
    onHead: () => undefined,
    onData: () => undefined,
    onEnd: () => outcomes.set(name, 'end'),
    onFault: (fault) => outcomes.set(name, fault),
  };
  const target = { origin: 'http://unused', path: `/${name}` };
  const call = new Http1Call({ subject: 'alice', target, method: 'POST', headers: [], body: undefined }, handler);
  pool.send(call);
  return call;
}

t.test('what finds no connection waits for one, in its turn', async (t) => {
  const { backend, pool } = await start(t);
  const outcomes = new Map<string, UpstreamFault | 'end'>();
  for (const name of ['a', 'b', 'c', 'd']) send(pool, name, outcomes);
  await backend.request(1);
  for (let answered = 0; answered < 4; answered += 1) (await backend.request(answered)).empty(202);
  await until(() => outcomes.size === 4, 'the end of every call');
  t.same([...outcomes.values()], ['end', 'end', 'end', 'end']);
  const paths = backend.requests.map((request) => request.path);
  t.same(paths.slice(0, 2).sort(), ['/a', '/b']);
  t.same(paths.slice(2), ['/c', '/d']);
  t.equal(backend.connections, CONNECTIONS_MAX);
});

t.test('a lost connection makes room as well', async (t) => {
  const { backend, pool } = await start(t);
  const outcomes = new Map<string, UpstreamFault | 'end'>();
  for (const name of ['a', 'b', 'c', 'd']) send(pool, name, outcomes);
  (await backend.request(0)).reset();
  (await backend.request(1)).destroy();
  (await backend.request(2)).empty(202);
  (await backend.request(3)).empty(202);
  await until(() => outcomes.size === 4, 'the end of every call');
  const lost = { kind: 'connection-lost', isUnsent: false };
  t.same(Object.fromEntries(outcomes), { a: lost, b: lost, c: 'end', d: 'end' });
});

t.test('a waiting call can be taken back, and is a fault when too many wait', async (t) => {
  const { backend, pool } = await start(t);
  const outcomes = new Map<string, UpstreamFault | 'end'>();
  const [, , third] = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => send(pool, name, outcomes));
  await until(() => outcomes.size === 1, 'the refusal');
  t.same(Object.fromEntries(outcomes), { f: { kind: 'backend-busy', isUnsent: true } });
  third!.abort();
  send(pool, 'g', outcomes);
  for (let answered = 0; answered < 5; answered += 1) (await backend.request(answered)).empty(202);
  await until(() => outcomes.size === 6, 'the end of every call');
  t.same(backend.requests.map((request) => request.path).sort(), ['/a', '/b', '/d', '/e', '/g']);
  t.notOk(outcomes.has('c'));
});

t.test('a call that is taken back while its connection opens leaves it to the next', async (t) => {
  const { backend, pool } = await start(t);
  const outcomes = new Map<string, UpstreamFault | 'end'>();
  const calls = ['a', 'b'].map((name) => send(pool, name, outcomes));
  for (const name of ['c', 'd']) send(pool, name, outcomes);
  for (const call of calls) call.abort();
  (await backend.request(0)).empty(202);
  (await backend.request(1)).empty(202);
  await until(() => outcomes.size === 2, 'the end of both calls');
  t.same([...outcomes.keys()].sort(), ['c', 'd']);
  t.equal(backend.connections, CONNECTIONS_MAX);
  t.equal(pool.isIdle, true);
});

t.test('close ends the waiting calls in faults', async (t) => {
  const { backend, pool } = await start(t);
  const outcomes = new Map<string, UpstreamFault | 'end'>();
  for (const name of ['a', 'b', 'c']) send(pool, name, outcomes);
  await backend.request(1);
  t.equal(pool.isIdle, false);
  await pool.close();
  await until(() => outcomes.size === 3, 'the end of every call');
  t.same(outcomes.get('a'), { kind: 'connection-lost', isUnsent: false });
  t.same(outcomes.get('c'), { kind: 'connection-lost', isUnsent: true });
  t.equal(backend.requests.length, 2);
});
