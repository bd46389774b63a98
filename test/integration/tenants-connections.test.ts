// Attacks at full force that no share of a subject counts, beside a victim with a steady load: connections without a request; heads
// that arrive slowly, or are large or invalid; hundreds of streams that disconnect at once; and heavy traffic between two workers.
// The victim notices nothing.
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { ownerOf } from '../../src/worker/session-id.js';
import type { Scope } from '../attack/scope.js';
import { UnansweredCalls } from '../support/attacker.js';
import { checkBeside, startScene } from '../support/beside.js';
import { backendFor } from '../support/deployment.js';
import { inParallel } from '../support/in-parallel.js';
import { KeptCaller } from '../support/kept-caller.js';
import { rpc, type McpCaller, type McpSession } from '../support/mcp-caller.js';
import { RawConnection } from '../support/raw-http.js';
import { until } from '../support/until.js';

const MIB = 1_048_576;
/** The attacker's connections, and how long it attacks. */
const CONNECTIONS = 500;
const ATTACK_MS = 3_000;
const LANES = 8;
const STREAMS = 256;
const WORKERS = 2;

t.test('one worker', async (t) => {
  const scene = await startScene(t);
  const { gateway } = scene.deployment;

  await t.test('heads that come a byte at a time', async (t) => {
    await checkBeside(t, scene, async (scope) => {
      const head = Buffer.from(`POST ${gateway.path('x')} HTTP/1.1\r\nhost: localhost\r\nx: ${'h'.repeat(1_000)}`);
      const connections = await openMany(scope, gateway.origin);
      // The HTTP library treats a head that stops within the target or the version as an invalid request, so more than that is sent first.
      for (const connection of connections) connection.write(head.subarray(0, 60));
      const endMs = performance.now() + ATTACK_MS;
      for (let at = 60; performance.now() < endMs; at += 1) {
        for (const connection of connections) connection.write(head.subarray(at, at + 1));
        await sleep(10);
      }
      const answered = connections.filter(({ unread }) => unread.length > 0).length;
      t.equal(answered, 0, 'each of them is still waited for');
    });
  });

  await t.test('heads as large as allowed, larger ones, and invalid ones', async (t) => {
    const line = (bytes: number): string =>
      `POST ${gateway.path('x')} HTTP/1.1\r\nhost: localhost\r\nx: ${'h'.repeat(bytes)}\r\n\r\n`;
    await checkBeside(t, scene, async (scope) => {
      const seen = new Map<number, number>();
      const endMs = performance.now() + ATTACK_MS;
      await inParallel([...Array(LANES).keys()], LANES, async () => {
        while (performance.now() < endMs) {
          for (const bytes of [30_000, 34_000]) {
            const connection = await RawConnection.open(gateway.origin);
            scope.teardown(() => connection.close());
            connection.write(line(bytes));
            const { status } = await connection.readAnswer();
            seen.set(status, (seen.get(status) ?? 0) + 1);
            connection.close();
          }
          // The gateway does not respond to this: it is one more connection that is held open for a while.
          const nonsense = await RawConnection.open(gateway.origin);
          scope.teardown(() => nonsense.close());
          nonsense.write('NONSENSE\r\n\r\n');
        }
      });
      t.same([...seen.keys()].sort(), [401, 431], 'each is answered');
      t.ok(
        [...seen.values()].every((count) => count > 50),
        `how many were: ${JSON.stringify([...seen])}`,
      );
    });
  });

  await t.test(`${STREAMS} streams that are hung up at once`, async (t) => {
    await checkBeside(t, scene, async (scope) => {
      let openCount = 0;
      const backend = await backendFor(scope, {
        onCall: async (call) => {
          const request = call.takeOver();
          openCount += 1;
          request.connection.once('close', () => (openCount -= 1));
          const stream = request.eventStream();
          const params = { progressToken: 1, progress: 1, message: 'x'.repeat(1_000) };
          while (!request.connection.destroyed) {
            await stream.event({ jsonrpc: '2.0', method: 'notifications/progress', params }).catch(() => undefined);
            await sleep(100);
          }
        },
      });
      const caller = await scene.deployment.caller({ talking: { url: backend.url } });
      const sessions = await Promise.all(Array.from({ length: 4 }, () => caller.openSession()));
      const calls = new UnansweredCalls(scope);
      await calls.send(sessions, STREAMS, 'talking-echo');
      await until(() => calls.unreadCount === STREAMS && openCount === STREAMS, 'all streams');
      calls.hangUp();
      await Promise.all(sessions.map((session) => session.delete()));
      await until(() => openCount === 0, 'the ends of all calls at the backend');
      t.pass('all of them ended with their sessions');
    });
  });
});

t.test('two workers: requests, answers and streams over hops', async (t) => {
  const scene = await startScene(t, ['--max-bytes-in-flight', '64MiB'], {}, WORKERS);
  await checkBeside(t, scene, async (scope) => {
    const echo = await backendFor(scope, { onCall: ({ name }) => (name === 'small' ? {} : { content: TEXT }) });
    const caller = await scene.deployment.caller({ one: { url: echo.url } });
    const sessions = await ofEachWorker(caller);
    scope.teardown(() => Promise.all(sessions.map((session) => session.delete())));
    const unread = new UnansweredCalls(scope);
    await unread.send(sessions, 32, 'one-large');
    const answered = await callInTurn(t, scope, sessions);
    t.ok(answered > 200, `${answered} calls, every other one over a hop`);
    t.ok(unread.unreadCount > 0, `${unread.unreadCount} answers are held for who does not read them`);
  });
});

const TEXT = [{ type: 'text', text: 'x'.repeat(2 * MIB) }];

/** One session owned by each worker. */
async function ofEachWorker(caller: McpCaller): Promise<McpSession[]> {
  const sessions = new Map<number, McpSession>();
  while (sessions.size < WORKERS) {
    const session = await caller.openSession();
    const owner = ownerOf(session.id, WORKERS);
    if (sessions.has(owner)) await session.delete();
    else sessions.set(owner, session);
  }
  return [...sessions.values()];
}

/** Each connection calls in both sessions, so that the other worker answers every second call. */
async function callInTurn(t: Test, scope: Scope, sessions: readonly McpSession[]): Promise<number> {
  let answered = 0;
  const large = JSON.stringify({ text: 'x'.repeat(256 * 1_024) });
  const endMs = performance.now() + ATTACK_MS;
  await inParallel([...Array(LANES).keys()], LANES, async () => {
    const lane = await KeptCaller.connect(sessions[0]!.caller);
    scope.teardown(() => lane.close());
    const own = sessions.map((session) => lane.use(session));
    for (let turn = 0; performance.now() < endMs; turn += 1) {
      const args = turn % 16 < WORKERS ? large : '{"n":1}';
      const { result } = rpc(await own[turn % WORKERS]!.call('one-small', args));
      if (result === undefined) t.fail('a call was not answered');
      answered += 1;
    }
  });
  return answered;
}

async function openMany(scope: Scope, origin: string): Promise<RawConnection[]> {
  const connections: RawConnection[] = [];
  await inParallel([...Array(CONNECTIONS).keys()], LANES, async () => {
    const connection = await RawConnection.open(origin);
    scope.teardown(() => connection.close());
    connections.push(connection);
  });
  return connections;
}
