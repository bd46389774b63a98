// What happens by time alone. `--session-idle-timeout` (decisions section 1): idle sessions end, and their upstream sessions with
// them. `--stream-keep-alive`: a comment interrupts the silence on a stream (S41).
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { backendFor, forEachDeployment } from '../support/deployment.js';
import { readEvents } from '../support/event-stream.js';
import { rpc } from '../support/mcp-caller.js';
import { encodeRequest, RawConnection } from '../support/raw-http.js';
import { until } from '../support/until.js';

const IDLE_TIMEOUT_MS = 2_000;
const KEEP_ALIVE_MS = 1_000;
/** By default a comment comes after 14 s, and the option allows no more; this allows for a busy machine. */
const COMMENT_MS_MAX = 15_000;
const WITH_PROGRESS =
  '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"one-echo","_meta":{"progressToken":1}}}';
const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}';

const options = [
  ...['--session-idle-timeout', `${IDLE_TIMEOUT_MS}ms`, '--stream-keep-alive', `${KEEP_ALIVE_MS}ms`],
  // Longer than a session may be idle.
  ...['--initialize-patience', `${4 * IDLE_TIMEOUT_MS}ms`],
];

await forEachDeployment(t, { options }, async (t, deployment) => {
  await t.test('an idle session ends: 404, and its upstream sessions are ended', async (t) => {
    const backend = await backendFor(t, { withSessions: true });
    const caller = await deployment.caller({ one: { url: backend.url } });
    // Measured before the session opens: on a busy machine the gateway uses it long before this process hears of it.
    const openedAtMs = performance.now();
    const session = await caller.openSession();
    const [upstreamId] = backend.sessions;
    await until(() => backend.deletedSessions.length === 1, 'the upstream session to be ended');
    t.ok(performance.now() - openedAtMs >= IDLE_TIMEOUT_MS * 0.9, 'not before its time');
    t.same(backend.deletedSessions, [upstreamId]);
    t.equal((await session.send(PING)).status, 404);
    t.equal((await session.delete()).status, 404);
    const next = await session.caller.openSession();
    t.match(rpc(await next.call('one-echo', '{"n":1}')), { result: { structuredContent: { n: 1 } } });
  });

  await t.test('a session that opens, is used, or waits for a backend is not idle', async (t) => {
    let release: (() => void) | undefined;
    const slow = await backendFor(t, {
      withSessions: true,
      onRequest: async ({ text }) => {
        if (text.includes('"initialize"')) await sleep(1.5 * IDLE_TIMEOUT_MS);
        return false;
      },
    });
    const patient = await deployment.caller({ slow: { url: slow.url } });
    const beganMs = performance.now();
    const opening = patient.openSession().then(async (session) => {
      const tookMs = performance.now() - beganMs;
      return { tookMs, answer: rpc(await session.call('slow-echo', '{"n":2}')) };
    });
    const backend = await backendFor(t, {
      withSessions: true,
      onCall: () => new Promise<void>((resolve) => (release = resolve)),
    });
    const caller = await deployment.caller({ one: { url: backend.url } });
    const [used, waiting] = [await caller.openSession(), await caller.openSession()];
    const pending = waiting.call('one-echo', '{"n":1}');
    const statuses = new Set<number>();
    for (const endMs = performance.now() + 2.5 * IDLE_TIMEOUT_MS; performance.now() < endMs;) {
      statuses.add((await used.send(PING)).status);
      await new Promise((resolve) => setTimeout(resolve, IDLE_TIMEOUT_MS / 10));
    }
    t.same([...statuses], [200]);
    t.same(backend.deletedSessions, []);
    const { tookMs, answer } = await opening;
    t.ok(tookMs >= 1.5 * IDLE_TIMEOUT_MS, 'one was opened for longer than it may be idle');
    t.match(answer, { result: { structuredContent: { n: 2 } } }, 'and was there for its first call');
    release?.();
    t.match(rpc(await pending), { result: { structuredContent: { n: 1 } } });
    t.equal((await waiting.send(PING)).status, 200, 'its time starts when the answer is given');
  });

  await t.test('event streams: a comment line at least every 15 s of silence (S41)', async (t) => {
    let release: (() => void) | undefined;
    const backend = await backendFor(t, {
      framing: 'chunked',
      onCall: async (call) => {
        await call.notify('notifications/progress', { progressToken: 1, progress: 1 });
        await new Promise<void>((resolve) => (release = resolve));
      },
    });
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    const connection = await RawConnection.open(deployment.gateway.origin, 2 * COMMENT_MS_MAX);
    t.teardown(() => connection.close());
    const request = session.caller.request({ session: session.id, body: WITH_PROGRESS });
    const sentAtMs = performance.now();
    connection.write(encodeRequest(deployment.gateway.origin, request));
    const head = await connection.readHead();
    t.match((await connection.readChunk())?.toString(), /progressToken/);
    const silentSinceMs = performance.now();
    for (const count of [1, 2]) {
      t.match((await connection.readChunk())?.toString(), /^:[^\n]*\n/, 'a comment');
      t.ok(performance.now() - sentAtMs >= count * KEEP_ALIVE_MS * 0.9, 'not before its time');
    }
    t.ok(performance.now() - silentSinceMs <= COMMENT_MS_MAX, 'in time');
    release?.();
    const rest = await connection.readBody(head);
    t.match(JSON.parse(readEvents(rest)[0] ?? ''), { id: 7, result: {} }, 'and the answer after it');
  });
});
