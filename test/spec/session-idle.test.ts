// What happens by time alone. `--session-idle-timeout` (decisions section 1): idle sessions end, and their upstream sessions with
// them. `--stream-keep-alive`: a comment interrupts the silence on a stream (S41).
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { backendFor, forEachDeployment } from '../support/deployment.js';
import { readEvents } from '../support/event-stream.js';
import { rpc } from '../support/mcp-caller.js';
import { encodeRequest, RawConnection, type HttpAnswer } from '../support/raw-http.js';
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

/**
 * Observes once more when that failed on a machine so busy that the test itself let its session idle.
 * @param observe calls `step` before each use of the session, and `rest` when time has passed in which the session was not idle.
 */
async function undisturbed(observe: (step: () => void, rest: () => void) => Promise<void>): Promise<void> {
  for (;;) {
    let [lastMs, longestMs] = [performance.now(), 0];
    const rest = (): void => void (lastMs = performance.now());
    const step = (): void => {
      longestMs = Math.max(longestMs, performance.now() - lastMs);
      rest();
    };
    try {
      return await observe(step, rest);
    } catch (error) {
      step();
      // Then less time than a session may idle lies between two uses, from before one to after the next.
      if (longestMs < IDLE_TIMEOUT_MS / 2) throw error;
    }
  }
}

const echoed = (answer: HttpAnswer): unknown =>
  (rpc(answer).result as { structuredContent?: unknown } | undefined)?.structuredContent;

await forEachDeployment(t, { options }, async (t, deployment) => {
  await t.test('an idle session ends: 404, and its upstream sessions are ended', async (t) => {
    const backend = await backendFor(t, { withSessions: true });
    const caller = await deployment.caller({ one: { url: backend.url } });
    // Measured before the session opens: on a busy machine the gateway uses it long before this process hears of it.
    const openedAtMs = performance.now();
    const session = await caller.openSession();
    await until(() => backend.deletedSessions.length === 1, 'the upstream session to be ended');
    t.ok(performance.now() - openedAtMs >= IDLE_TIMEOUT_MS * 0.9, 'not before its time');
    t.equal(backend.sessions.size, 0, 'it was the only one');
    t.equal((await session.send(PING)).status, 404);
    t.equal((await session.delete()).status, 404);
    await undisturbed(async (step) => {
      const next = await session.caller.openSession();
      step();
      assert.deepEqual(echoed(await next.call('one-echo', '{"n":1}')), { n: 1 });
    });
  });

  await t.test('a session that opens, is used, or waits for a backend is not idle', async (t) => {
    const opens = async (): Promise<void> => {
      let onOpened = (): void => undefined;
      const backend = await backendFor(t, {
        withSessions: true,
        onRequest: async ({ text }) => {
          if (!text.includes('"initialize"')) return false;
          await sleep(1.5 * IDLE_TIMEOUT_MS);
          onOpened();
          return false;
        },
      });
      const caller = await deployment.caller({ slow: { url: backend.url } });
      await undisturbed(async (step, rest) => {
        onOpened = rest;
        const beganMs = performance.now();
        const session = await caller.openSession();
        step();
        const tookMs = performance.now() - beganMs;
        assert.ok(tookMs >= 1.5 * IDLE_TIMEOUT_MS, 'it was opened for longer than it may be idle');
        assert.deepEqual(
          echoed(await session.call('slow-echo', '{"n":2}')),
          { n: 2 },
          'and was there for its first call',
        );
      });
    };
    const isUsed = async (): Promise<void> => {
      const backend = await backendFor(t, { withSessions: true });
      const caller = await deployment.caller({ one: { url: backend.url } });
      await undisturbed(async (step) => {
        const session = await caller.openSession();
        const [upstreamId] = [...backend.sessions].slice(-1);
        for (const endMs = performance.now() + 2.5 * IDLE_TIMEOUT_MS; performance.now() < endMs;) {
          step();
          assert.equal((await session.send(PING)).status, 200, 'it is there');
          await sleep(IDLE_TIMEOUT_MS / 10);
        }
        step();
        assert.ok(backend.sessions.has(upstreamId ?? ''), 'and so is its upstream session');
      });
    };
    const waits = async (): Promise<void> => {
      const releases: (() => void)[] = [];
      const backend = await backendFor(t, {
        withSessions: true,
        onCall: () => new Promise<void>((resolve) => void releases.push(resolve)),
      });
      const caller = await deployment.caller({ one: { url: backend.url } });
      await undisturbed(async (step, rest) => {
        const session = await caller.openSession();
        const [upstreamId] = [...backend.sessions].slice(-1);
        step();
        let isAnswered = false;
        const pending = session.call('one-echo', '{"n":1}').finally(() => (isAnswered = true));
        await until(() => releases.length > 0 || isAnswered, 'the backend to be called');
        step();
        assert.ok(!isAnswered, 'the call is on its way');
        await sleep(2.5 * IDLE_TIMEOUT_MS);
        assert.ok(backend.sessions.has(upstreamId ?? '') && !isAnswered, 'it goes on');
        rest();
        for (const release of releases.splice(0)) release();
        assert.deepEqual(echoed(await pending), { n: 1 });
        step();
        assert.equal((await session.send(PING)).status, 200, 'its time starts when the answer is given');
      });
    };
    await Promise.all([opens(), isUsed(), waits()]);
    t.pass('none of them has ended');
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
