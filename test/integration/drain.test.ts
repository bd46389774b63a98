// SIGTERM under load. Backends hold every call until the test has seen the gateway drain, so those calls are certain to be in
// flight, and no test depends on timing.
import t, { type Test } from 'tap';
import { ownerOf } from '../../src/worker/session-id.js';
import { backendFor, startDeployment, type Deployment } from '../support/deployment.js';
import { readEvents } from '../support/event-stream.js';
import { inParallel } from '../support/in-parallel.js';
import { KeptCaller } from '../support/kept-caller.js';
import type { McpBackend, McpBackendOptions } from '../support/mcp-backend.js';
import { rpc, type McpSession } from '../support/mcp-caller.js';
import { encodeRequest, RawConnection } from '../support/raw-http.js';
import { until } from '../support/until.js';

const WORKERS = 4;
const SESSIONS = 20;
const CALLS_PER_SESSION = 5;
const STEPS = 3;
/** More than the kernel buffers for a caller that does not read. */
const LARGE_BYTES = 12 * 1024 * 1024;

/** Blocks until it is opened; it stays open. */
class Barrier {
  readonly opened: Promise<void>;
  open: () => void = () => {};

  constructor() {
    this.opened = new Promise((resolve) => (this.open = resolve));
  }
}

/** A backend whose calls report progress, wait at the barrier, report more, and end. */
async function startHoldingBackend(
  t: Test,
  barrier: Barrier,
  { result, ...options }: McpBackendOptions & { readonly result?: unknown },
): Promise<McpBackend> {
  const isStream = options.answerAs === 'event-stream';
  return backendFor(t, {
    withSessions: true,
    ...options,
    onCall: async (call) => {
      for (let progress = 1; isStream && progress <= STEPS; progress++) {
        if (progress === STEPS) await barrier.opened;
        await call.notify('notifications/progress', { progressToken: 'p', progress, total: STEPS });
      }
      await barrier.opened;
      return result;
    },
  });
}

function callBody(id: number, backend: string): string {
  const params = { name: `${backend}-echo`, arguments: { id }, _meta: { progressToken: 'p' } };
  return JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params });
}

async function isRefusing(deployment: Deployment): Promise<boolean> {
  try {
    (await RawConnection.open(deployment.gateway.origin)).close();
    return false;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ECONNREFUSED') return true;
    // A listener that closes resets the connections in its queue: these were the last to arrive, and are not yet refused.
    if (code === 'ECONNRESET') return false;
    throw error;
  }
}

t.test('what is in flight gets its whole answer, new connections are refused, backends are told, exit 0', async (t) => {
  const barrier = new Barrier();
  t.teardown(() => barrier.open());
  const json = await startHoldingBackend(t, barrier, { answerAs: 'json' });
  const stream = await startHoldingBackend(t, barrier, { answerAs: 'event-stream', framing: 'chunked' });
  const deployment = await startDeployment(t, { workerCount: WORKERS, options: ['--drain-timeout', '60s'] });
  const caller = await deployment.caller({ json: { url: json.url }, stream: { url: stream.url } });
  const sessions: McpSession[] = [];
  await inParallel([...Array(SESSIONS).keys()], SESSIONS, async () => {
    sessions.push(await caller.openSession());
  });

  const calls = sessions.flatMap((session, index) =>
    Array.from({ length: CALLS_PER_SESSION }, async (_, call) => {
      const id = index * CALLS_PER_SESSION + call;
      const backend = id % 2 === 0 ? 'json' : 'stream';
      return { id, backend, answer: await session.send(callBody(id, backend)) };
    }),
  );
  const arrived = (): number => json.calls.length + stream.calls.length;
  await until(() => arrived() === SESSIONS * CALLS_PER_SESSION, 'every call to be at its backend');
  const idle = await KeptCaller.connect(caller);
  t.teardown(() => idle.close());
  await idle.initialize();

  deployment.gateway.signal('SIGTERM');
  await until(() => isRefusing(deployment), 'new connections to be refused');
  t.equal(deployment.gateway.workerPids().length, WORKERS, 'while every worker still works');
  t.same([json.deletedSessions, stream.deletedSessions], [[], []], 'and no session has been ended');
  barrier.open();

  for (const { id, backend, answer } of await Promise.all(calls)) {
    t.equal(answer.status, 200);
    t.match(rpc(answer), { id, result: { structuredContent: { id } } });
    if (backend === 'stream') t.equal(readEvents(answer.body).length, STEPS + 1, 'all progress, and the result');
  }
  t.same(await deployment.gateway.exit, { code: 0, signal: null });
  for (const backend of [json, stream]) {
    t.equal(backend.deletedSessions.length, SESSIONS + 1, 'every upstream session was ended');
    t.equal(backend.sessions.size, 0);
  }
  t.equal(deployment.gateway.errorOutput, '');
  t.same(deployment.gateway.strayLines, []);
});

t.test('under load, every request is either answered in full or not accepted', async (t) => {
  const backend = await backendFor(t, { withSessions: true });
  const deployment = await startDeployment(t, { workerCount: WORKERS });
  const caller = await deployment.caller({ one: { url: backend.url } });
  const sessions = await Promise.all(Array.from({ length: SESSIONS }, () => caller.openSession()));
  const answered = new Set<number>();
  const wrong: string[] = [];
  const refusals: string[] = [];
  let lastId = 0;
  const lanes = sessions.map(async (session, lane) => {
    // Half of the callers keep their connections, and open new ones when the gateway closes them.
    let kept = lane % 2 === 0 ? await KeptCaller.connect(caller) : undefined;
    for (;;) {
      const id = ++lastId;
      try {
        const used = kept?.use(session) ?? session;
        const answer = await used.call('one-echo', `{"id":${id}}`, { id: String(id) });
        if (answer.status === 503 && answer.text === '{"status":"draining"}') throw new Error('draining');
        if (answer.status !== 200 || rpc(answer).id !== id) wrong.push(`${answer.status} ${answer.text}`);
        answered.add(id);
        if (kept === undefined || answer.header('connection')?.toLowerCase() !== 'close') continue;
        kept.close();
        kept = await KeptCaller.connect(caller);
      } catch (error) {
        kept?.close();
        refusals.push(String(error));
        return;
      }
    }
  });
  await until(() => answered.size > SESSIONS * 5, 'the load to run');
  deployment.gateway.signal('SIGTERM');
  t.same(await deployment.gateway.exit, { code: 0, signal: null });
  await Promise.all(lanes);
  t.same(wrong, []);
  const taken = backend.calls.map(({ argumentsText = '{}' }) => (JSON.parse(argumentsText) as { id: number }).id);
  t.same(
    taken.filter((id) => !answered.has(id)),
    [],
    'every call that reached the backend was answered',
  );
  for (const refusal of refusals) t.match(refusal, /draining|ECONNREFUSED|ECONNRESET|head of an answer; unread: ""/);
  t.equal(backend.sessions.size, 0, 'every upstream session was ended');
});

for (const answerAs of ['json', 'event-stream'] as const) {
  t.test(`a large answer (${answerAs}) is read to its end, however slowly`, async (t) => {
    const barrier = new Barrier();
    t.teardown(() => barrier.open());
    const text = 'x'.repeat(LARGE_BYTES);
    const backend = await startHoldingBackend(t, barrier, {
      answerAs,
      framing: 'chunked',
      result: { content: [{ type: 'text', text }] },
    });
    const deployment = await startDeployment(t, { workerCount: 1, options: ['--drain-timeout', '60s'] });
    const caller = await deployment.caller({ one: { url: backend.url } });
    const session = await caller.openSession();
    // Each is good for one request: a draining gateway closes the connection after the response.
    const others = await Promise.all(Array.from({ length: 10 }, () => KeptCaller.connect(caller)));
    const connection = await RawConnection.open(caller.origin);
    t.teardown(() => [connection, ...others].forEach((one) => one.close()));
    connection.pause();
    connection.write(encodeRequest(caller.origin, caller.request({ session: session.id, body: callBody(1, 'one') })));
    await until(() => backend.calls.length === 1, 'the call to be at the backend');
    deployment.gateway.signal('SIGTERM');
    await until(() => isRefusing(deployment), 'new connections to be refused');
    barrier.open();
    const upstream = backend.calls[0]!.request.connection;
    await until(
      () => upstream.bytesWritten > LARGE_BYTES && upstream.writableLength === 0,
      'the answer to be in the gateway',
    );
    for (const other of others) {
      const answer = await other.use(session).send('{"jsonrpc":"2.0","id":2,"method":"ping"}');
      t.equal(answer.status, 200, 'the worker has not drained: somebody still reads');
    }
    connection.resume();
    const answer = await connection.readAnswer();
    t.ok(rpc(answer).result, 'the whole answer');
    t.ok(answer.body.length > LARGE_BYTES);
    t.same(await deployment.gateway.exit, { code: 0, signal: null });
  });
}

t.test(
  'a worker that has drained refuses requests on kept connections, so that none is begun and then cut off',
  async (t) => {
    const barrier = new Barrier();
    t.teardown(() => barrier.open());
    const backend = await startHoldingBackend(t, barrier, { answerAs: 'json' });
    const deployment = await startDeployment(t, { workerCount: 2, options: ['--drain-timeout', '60s'] });
    const caller = await deployment.caller({ one: { url: backend.url } });
    const kept: KeptCaller[] = [];
    t.teardown(() => kept.forEach((one) => one.close()));
    const sessions = new Map<number, McpSession>();
    await until(async () => {
      const one = await KeptCaller.connect(caller);
      kept.push(one);
      const session = await one.openSession();
      sessions.set(ownerOf(session.id, 2), session);
      return sessions.size === 2;
    }, 'a connection to each worker');
    const [busy, idle] = [sessions.get(0)!, sessions.get(1)!];
    const pending = busy.send(callBody(1, 'one'));
    await until(() => backend.calls.length === 1, 'the call to be at the backend');
    deployment.gateway.signal('SIGTERM');
    await until(() => isRefusing(deployment), 'new connections to be refused');
    const refused = await idle.send(callBody(2, 'one'));
    t.same([refused.status, refused.text], [503, '{"status":"draining"}']);
    t.equal(refused.header('connection')?.toLowerCase(), 'close');
    t.equal(backend.calls.length, 1);
    barrier.open();
    t.match(rpc(await pending), { id: 1, result: {} });
    t.same(await deployment.gateway.exit, { code: 0, signal: null });
  },
);

t.test('a call that never ends is answered after the drain timeout, and the exit status is 0', async (t) => {
  const backend = await backendFor(t, { withSessions: true, onCall: (call) => void call.takeOver() });
  const deployment = await startDeployment(t, { workerCount: 2, options: ['--drain-timeout', '1s'] });
  const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
  const outcome = session.call('one-echo');
  await until(() => backend.calls.length === 1, 'the call to be at the backend');
  const signalledAtMs = performance.now();
  deployment.gateway.signal('SIGTERM');
  t.same(await deployment.gateway.exit, { code: 0, signal: null });
  const drainedMs = performance.now() - signalledAtMs;
  t.ok(drainedMs >= 990, 'not before the time is up');
  t.match(rpc(await outcome), { error: { code: -32603 } });
  t.equal(backend.deletedSessions.length, 1, 'the backend is told all the same');
  await deployment.gateway.waitForLog(({ msg }) => String(msg).startsWith('the drain timeout is over'));
});

t.test('a backend that does not answer the DELETE does not keep the gateway from exiting', async (t) => {
  const backend = await backendFor(t, { withSessions: true, onRequest: ({ method }) => method === 'DELETE' });
  const deployment = await startDeployment(t, { workerCount: 2 });
  await (await deployment.caller({ one: { url: backend.url } })).openSession();
  deployment.gateway.signal('SIGTERM');
  t.same(await deployment.gateway.exit, { code: 0, signal: null });
  t.ok(backend.raw.requests.some(({ method }) => method === 'DELETE'));
});
