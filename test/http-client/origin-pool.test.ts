import t, { type Test } from 'tap';
import { Names } from '../../src/http-client/names/names.js';
import { plainRequest, type UpstreamHandler } from '../../src/http-client/http-upstream.js';
import { BackendShares, type BackendShareBounds } from '../../src/http-client/backend-shares.js';
import { ConnectionTarget, TlsSessions } from '../../src/http-client/connection-target.js';
import { Http1Call, WriteBatch } from '../../src/http-client/http1-connection.js';
import { OriginPool, type PoolBounds, UPSTREAM_CLOSED_IN_ROW_MAX } from '../../src/http-client/origin-pool.js';
import { ReadScheduler } from '../../src/http-client/read-scheduler.js';
import type { UpstreamFault } from '../../src/http-client/upstream-fault.js';
import { startRawBackend, type RawBackend } from '../support/raw-backend.js';
import { until } from '../support/until.js';
import { connectionBounds } from '../../src/http-client/connection-bounds.js';

const CONNECTIONS_MAX = 2;
const WAITING_MAX = 3;

interface Scene {
  readonly backend: RawBackend;
  readonly pool: OriginPool;
  readonly shares: BackendShares;
}

interface SceneBounds {
  readonly pool?: Partial<PoolBounds>;
  readonly shares?: Partial<BackendShareBounds>;
  /** Nothing listens at the origin. */
  readonly isDead?: boolean;
}

/** A backend that answers only when the test does, and the pool of connections to it. */
async function start(t: Test, bounds: SceneBounds = {}): Promise<Scene> {
  const shares = new BackendShares(bounds.shares);
  return { ...(await startPool(t, shares, bounds)), shares };
}

/** The same with the shares of other pools. */
async function startPool(t: Test, shares: BackendShares, bounds: SceneBounds): Promise<Omit<Scene, 'shares'>> {
  const backend = await startRawBackend(() => undefined);
  if (bounds.isDead === true) backend.stopListening();
  const pool = new OriginPool(
    new ConnectionTarget(backend.origin, {
      connectTimeoutMs: 5_000,
      names: new Names(),
      tlsSessions: new TlsSessions(),
      readScheduler: new ReadScheduler(),
    }),
    shares.useOf('alice'),
    { shares, tryMakeRoom: () => false },
    new WriteBatch(),
    {
      connectionsMax: CONNECTIONS_MAX,
      connectionsPerSubjectMax: CONNECTIONS_MAX,
      connectingMax: CONNECTIONS_MAX,
      waitingMax: WAITING_MAX,
      waitingPerSubjectMax: WAITING_MAX,
      ...bounds.pool,
    },
  );
  t.teardown(async () => {
    await pool.close();
    await backend.close();
  });
  return { backend, pool };
}

type Outcomes = Map<string, UpstreamFault | 'end'>;

/** Sends a call whose path is its name; its outcome appears in `outcomes` under that name. */
function send(pool: OriginPool, name: string, outcomes: Outcomes, subject = 'alice'): Http1Call {
  const handler: UpstreamHandler = {
    onHead: () => undefined,
    onData: () => undefined,
    onEnd: () => outcomes.set(name, 'end'),
    onFault: (fault) => outcomes.set(name, fault),
  };
  const target = { origin: 'http://unused', path: `/${name}` };
  const call = new Http1Call(plainRequest(subject, target, 'POST', []), handler);
  pool.send(call);
  return call;
}

/** Sends each call for the subject that its name begins with. */
function sendAs(pool: OriginPool, outcomes: Outcomes, ...names: string[]): Http1Call[] {
  return names.map((name) => send(pool, name, outcomes, name.slice(0, 1)));
}

function pathsOf(backend: RawBackend): string[] {
  return backend.requests.map((request) => request.path.slice(1));
}

t.test('a call that finds no connection waits for one, in its turn', async (t) => {
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

t.test('a lost connection makes room for a waiting call, too', async (t) => {
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

t.test('a waiting call can be withdrawn; with too many waiting, a call ends in a fault', async (t) => {
  const { backend, pool } = await start(t);
  const outcomes = new Map<string, UpstreamFault | 'end'>();
  const [, , third] = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => send(pool, name, outcomes));
  await until(() => outcomes.size === 1, 'the refusal');
  t.same(Object.fromEntries(outcomes), { f: { kind: 'backend-share-used', isUnsent: true } });
  third!.abort();
  send(pool, 'g', outcomes);
  for (let answered = 0; answered < 5; answered += 1) (await backend.request(answered)).empty(202);
  await until(() => outcomes.size === 6, 'the end of every call');
  t.same(backend.requests.map((request) => request.path).sort(), ['/a', '/b', '/d', '/e', '/g']);
  t.notOk(outcomes.has('c'));
});

t.test('a call withdrawn while its connection opens leaves the connection to the next', async (t) => {
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

t.test('close ends the waiting calls with faults', async (t) => {
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

t.test('subjects take turns: a subject with no earlier waiting call of its own is served next', async (t) => {
  const { backend, pool } = await start(t, { pool: { connectionsMax: 1, waitingMax: 100, waitingPerSubjectMax: 100 } });
  const outcomes: Outcomes = new Map();
  const attack = Array.from({ length: 50 }, (_, index) => `a${index}`);
  sendAs(pool, outcomes, ...attack, 'v1', 'v2', 'w1');
  for (let answered = 0; answered < 7; answered += 1) (await backend.request(answered)).empty(202);
  t.same(pathsOf(backend).slice(0, 7), ['a0', 'a1', 'v1', 'w1', 'a2', 'v2', 'a3']);
});

t.test('one subject never has more than its share of the connections', async (t) => {
  const { backend, pool, shares } = await start(t, {
    pool: {
      connectionsMax: 4,
      connectionsPerSubjectMax: 2,
      connectingMax: 4,
      waitingMax: 100,
      waitingPerSubjectMax: 100,
    },
  });
  const outcomes: Outcomes = new Map();
  // Two of these calls hang, and the rest wait.
  sendAs(pool, outcomes, 'a0', 'a1', 'a2', 'a3', 'a4', 'a5');
  await backend.request(1);
  for (let round = 0; round < 3; round += 1) {
    sendAs(pool, outcomes, `v${round}`);
    const request = await backend.request(2 + round);
    t.equal(request.path, `/v${round}`, 'a victim meets a connection');
    request.empty(202);
    await until(() => outcomes.has(`v${round}`), 'the answer');
  }
  t.equal(backend.connections, 3, 'a free connection was not given to who has his share');
  t.same([shares.useOf('a').connectionCount, shares.useOf('v').connectionCount], [2, 0]);
  backend.requests[0]!.empty(202);
  t.equal((await backend.request(5)).path, '/a2', 'but to his next, when one of his own is over');
  backend.requests[1]!.reset();
  t.equal((await backend.request(6)).path, '/a3', 'or lost');
  pool.sweep();
  sendAs(pool, outcomes, 'b0', 'b1');
  t.same((await Promise.all([7, 8].map((at) => backend.request(at)))).map(({ path }) => path).sort(), ['/b0', '/b1']);
});

t.test('a share that was used up is free again when its calls are given up', async (t) => {
  const { backend, pool, shares } = await start(t, {
    pool: { connectionsMax: 4, connectionsPerSubjectMax: 1, connectingMax: 4 },
  });
  const outcomes: Outcomes = new Map();
  const [a0, a1] = sendAs(pool, outcomes, 'a0', 'a1');
  a1!.abort();
  a0!.abort();
  sendAs(pool, outcomes, 'a2', 'a3');
  (await backend.request(0)).empty(202);
  (await backend.request(1)).empty(202);
  await until(() => outcomes.size === 2, 'both answers');
  t.same(pathsOf(backend), ['a2', 'a3']);
  t.equal(shares.useOf('a').connectionCount, 0);
  pool.sweep();
  shares.sweep();
  t.equal(shares.subjectCount, 0, 'who has nothing is forgotten');
});

t.test('a subject with too many waiting calls is told so, and others still wait', async (t) => {
  const { backend, pool } = await start(t, { pool: { connectionsMax: 1, waitingMax: 4, waitingPerSubjectMax: 2 } });
  const outcomes: Outcomes = new Map();
  sendAs(pool, outcomes, 'a0', 'a1', 'a2', 'a3', 'v1', 'w1', 'x1');
  await until(() => outcomes.size === 2, 'both refusals');
  t.same(Object.fromEntries(outcomes), {
    a3: { kind: 'backend-share-used', isUnsent: true },
    x1: { kind: 'backend-busy', isUnsent: true },
  });
  for (let answered = 0; answered < 5; answered += 1) (await backend.request(answered)).empty(202);
  await until(() => outcomes.size === 7, 'the others');
  t.same(pathsOf(backend), ['a0', 'a1', 'v1', 'w1', 'a2']);
});

t.test('only so many connections are opened at once, and the others after them', async (t) => {
  const { backend, pool } = await start(t, {
    pool: { connectionsMax: 10, connectionsPerSubjectMax: 10, connectingMax: 1 },
  });
  const outcomes: Outcomes = new Map();
  for (const name of ['a', 'b', 'c']) send(pool, name, outcomes);
  await backend.request(2);
  t.equal(backend.connections, 3, 'though none was answered');
});

t.test('connections that are lost do not let more be opened at once', async (t) => {
  const { backend, pool, shares } = await start(t, {
    pool: { connectionsMax: 10, connectionsPerSubjectMax: 10, connectingMax: 1 },
  });
  const outcomes: Outcomes = new Map();
  for (let lost = 0; lost < 2; lost += 1) {
    send(pool, `lost ${lost}`, outcomes);
    (await backend.request(lost)).reset();
    await until(() => shares.connectionCount === 0, 'its loss');
  }
  for (const name of ['a', 'b', 'c']) send(pool, name, outcomes);
  t.equal(shares.connectionCount, 1);
});

t.test('calls that wait for an unreachable backend get the fault together with those that tried', async (t) => {
  const { pool } = await start(t, { isDead: true, pool: { connectingMax: 1 } });
  const outcomes: Outcomes = new Map();
  for (const name of ['a', 'b', 'c', 'd']) send(pool, name, outcomes);
  await until(() => outcomes.size === 4, 'every fault');
  for (const fault of outcomes.values()) t.same(fault, { kind: 'connection-refused', isUnsent: true });
  t.equal(pool.isIdle, true);
});

t.test(
  'with all connections of the process taken, a call waits if its origin has a connection, else it is refused',
  async (t) => {
    const { backend, pool, shares } = await start(t, {
      pool: { connectionsMax: 4, connectionsPerSubjectMax: 4 },
      shares: { connectionsMax: 2, connectionsPerSubjectMax: 2 },
    });
    const outcomes: Outcomes = new Map();
    shares.connectionCount += 1;
    sendAs(pool, outcomes, 'a0', 'b0');
    (await backend.request(0)).empty(202);
    (await backend.request(1)).empty(202);
    await until(() => outcomes.size === 2, 'both answers');
    t.same([backend.connections, shares.connectionCount], [1, 2]);
    backend.closeConnections();
    await until(() => pool.isEmpty, 'the loss');
    shares.connectionCount += 1;
    sendAs(pool, outcomes, 'c0');
    await until(() => outcomes.has('c0'), 'the refusal');
    t.same(outcomes.get('c0'), { kind: 'connections-used', isUnsent: true });
    shares.connectionCount -= 1;
    sendAs(pool, outcomes, 'd0', 'd1', 'd2');
    await until(() => backend.requests.length === 3, 'the request');
    t.equal(shares.isFull, true);
    t.equal(outcomes.has('d1'), false, 'it waits');
  },
);

t.test('a subject has its share of all connections of the process', async (t) => {
  const { backend, pool } = await start(t, {
    pool: { connectionsMax: 8, connectionsPerSubjectMax: 8, connectingMax: 8 },
    shares: { connectionsMax: 8, connectionsPerSubjectMax: 2 },
  });
  const outcomes: Outcomes = new Map();
  sendAs(pool, outcomes, 'a0', 'a1', 'a2', 'v0');
  await backend.request(2);
  t.same(Object.fromEntries(outcomes), { a2: { kind: 'connections-share-used', isUnsent: true } });
  t.same(pathsOf(backend).sort(), ['a0', 'a1', 'v0']);
});

const WIDE: SceneBounds = {
  pool: {
    connectionsMax: 64,
    connectionsPerSubjectMax: 64,
    connectingMax: 64,
    waitingMax: 100,
    waitingPerSubjectMax: 50,
  },
  shares: { connectionsMax: 64, connectionsPerSubjectMax: 16 },
};

/** As many names as that, each beginning with the subject. */
function namesOf(subject: string, count: number): string[] {
  return Array.from({ length: count }, (_, at) => `${subject}${at}`);
}

t.test('the last connections of the process are not given to calls of those with much that wait, either', async (t) => {
  const { backend, pool, shares } = await start(t, WIDE);
  const other = await startPool(t, shares, WIDE);
  const outcomes: Outcomes = new Map();
  sendAs(pool, outcomes, ...['a', 'b', 'c', 'd'].flatMap((subject) => namesOf(subject, 16)));
  await until(() => backend.requests.length >= 56, 'every call that has a connection');
  const lastOfWaiting = sendAs(pool, outcomes, 'd16');
  for (const index of [0, 1]) {
    sendAs(other.pool, outcomes, `e${index}`);
    (await other.backend.request(index)).empty(202);
    await until(() => outcomes.has(`e${index}`), 'the answer');
  }
  // Calls of one who has little do not wait behind them for the connections that are left.
  sendAs(pool, outcomes, 'f0');
  (await backend.request(56)).empty(202);
  await until(() => outcomes.has('f0'), 'the answer');
  t.same(pathsOf(backend).slice(56), ['f0']);
  t.same([shares.useOf('d').connectionCount, outcomes.size], [8, 3], 'the others wait');
  lastOfWaiting[0]!.abort();
  for (const [index, name] of ['d8', 'd9'].entries()) {
    backend.requests[index]!.empty(202);
    t.equal((await backend.request(57 + index)).path, `/${name}`, 'until one of those with much is over');
  }
});

t.test('a subject has no more than its share of the process with calls that waited', async (t) => {
  const { backend, pool, shares } = await start(t, {
    pool: { waitingMax: 9, waitingPerSubjectMax: 9 },
    shares: WIDE.shares!,
  });
  const other = await startPool(t, shares, WIDE);
  const outcomes: Outcomes = new Map();
  sendAs(pool, outcomes, 'v0', 'v1', 'a0', 'w0');
  sendAs(other.pool, outcomes, ...namesOf('a', 16));
  await other.backend.request(15);
  (await backend.request(0)).empty(202);
  t.equal((await backend.request(2)).path, '/w0', 'the next is served');
  backend.requests[1]!.empty(202);
  await until(() => outcomes.size === 2, 'both answers');
  t.equal(shares.useOf('a').connectionCount, 16);
  other.backend.requests[0]!.empty(202);
  await until(() => shares.useOf('a').connectionCount === 15, 'the end of one of its calls');
  pool.sweep();
  t.equal((await backend.request(3)).path, '/a0');
});

t.test('a call that waits for connections of the process is served when they are given back elsewhere', async (t) => {
  const { backend, pool, shares } = await start(t, WIDE);
  const other = await startPool(t, shares, WIDE);
  const outcomes: Outcomes = new Map();
  sendAs(other.pool, outcomes, ...['a', 'b', 'c', 'd'].flatMap((subject) => namesOf(subject, 14)));
  await other.backend.request(55);
  sendAs(pool, outcomes, 'v0');
  await backend.request(0);
  sendAs(pool, outcomes, 'a-waits');
  for (const request of other.backend.requests) request.empty(202);
  await until(() => outcomes.size === 56, 'every answer');
  t.equal(backend.requests.length, 1);
  pool.sweep();
  t.equal((await backend.request(1)).path, '/a-waits', 'though the other call here is still under way');
  t.equal(outcomes.has('v0'), false);
});

t.test('a connection that is only being watched keeps nobody waiting', async (t) => {
  const { backend, pool } = await start(t, { pool: { connectionsMax: 1, waitingMax: 10, waitingPerSubjectMax: 10 } });
  backend.handler = (request) => {
    request.empty(202);
    // The backend closes after each of its first responses, and then no longer.
    if (request.sequenceNumber < UPSTREAM_CLOSED_IN_ROW_MAX) request.destroy();
  };
  const outcomes: Outcomes = new Map();
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    send(pool, name, outcomes);
    await until(() => outcomes.has(name), `the answer to ${name}`);
  }
  const names = ['f', 'g', 'h'];
  for (const name of names) send(pool, name, outcomes);
  await until(() => names.every((name) => outcomes.has(name)), 'the answers to those who waited');
  t.same(new Set(outcomes.values()), new Set(['end']));
});

t.test('a call whose connections are lost before it is written is not tried without end', async (t) => {
  const { pool } = await start(t);
  const outcomes: Outcomes = new Map();
  const call = send(pool, 'a', outcomes);
  for (let loss = 0; loss <= connectionBounds.upstreamUnsentTriesMax; loss += 1) {
    t.equal(outcomes.size, 0, `after ${loss} losses`);
    pool.onCallOver(call);
    pool.onLost(call.connection!, call, undefined);
  }
  t.same(outcomes.get('a'), { kind: 'connection-lost', isUnsent: true });
});
