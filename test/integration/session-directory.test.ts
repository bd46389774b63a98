// Sessions whose process has died: the next process continues them, and sends no backend any request for it.
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ownerOf } from '../../src/worker/session-id.js';
import { childPids } from '../support/child-pids.js';
import { backendFor, startDeployment, type ConfiguredCaller, type Deployment } from '../support/deployment.js';
import { filesIn } from '../support/kept-secrets.js';
import { McpCaller, McpSession, rpc } from '../support/mcp-caller.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { until } from '../support/until.js';

const WORKERS = 2;

/** Opens a number of sessions owned by each worker. */
async function openSessions(caller: ConfiguredCaller, countOfEach: number): Promise<McpSession[]> {
  const sessions: McpSession[] = [];
  const countOf = (slot: number): number => sessions.filter(({ id }) => ownerOf(id, WORKERS) === slot).length;
  while (countOf(0) < countOfEach || countOf(1) < countOfEach) sessions.push(await caller.openSession());
  return sessions;
}

function ownedBy(sessions: readonly McpSession[], slot: number): McpSession {
  const session = sessions.find(({ id }) => ownerOf(id, WORKERS) === slot);
  if (session === undefined) throw new Error(`no session of slot ${slot}`);
  return session;
}

async function isEchoed(session: McpSession, id: number): Promise<boolean> {
  const answer = await session.call('one-echo', `{"id":${id}}`, { id: String(id) });
  const { result } = rpc(answer) as { result?: { structuredContent?: { id?: unknown } } };
  return answer.status === 200 && result?.structuredContent?.id === id;
}

/** Kills the worker of every slot. Resolves when all those processes have ended, not when their successors are ready. */
async function killWorkers(deployment: Deployment): Promise<void> {
  const pids = deployment.gateway.workerPids();
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  await until(
    () => !childPids(deployment.gateway.pid).some((pid) => pids.includes(pid)),
    'the killed workers to be gone',
  );
}

/** Retries until a worker responds: until one listens, no connection can be opened. */
async function whenUp<Answer>(request: () => Promise<Answer>): Promise<Answer> {
  const answers: Answer[] = [];
  await until(async () => {
    try {
      answers.push(await request());
    } catch {
      // Refused, or reset by a worker that was just killed: the request was not answered.
    }
    return answers.length > 0;
  }, 'a worker that answers');
  return answers[0]!;
}

async function startWithSessions(t: Test, options: readonly string[] = []) {
  const backend = await backendFor(t, { withSessions: true, capabilities: { tools: {}, logging: {} } });
  const environment = { TMPDIR: createScratchDirectory(t) };
  const deployment = await startDeployment(t, { workerCount: WORKERS, options, environment });
  const caller = await deployment.caller({ one: { url: backend.url } });
  const sessions = await openSessions(caller, 2);
  return { backend, deployment, caller, sessions, runDirectory: environment.TMPDIR };
}

t.test('sessions survive the death of every worker, and backends notice nothing', async (t) => {
  const { backend, deployment, caller, sessions, runDirectory } = await startWithSessions(t);
  for (const [id, session] of sessions.entries()) t.ok(await isEchoed(session, id));
  const openedBefore = backend.requestsOf('initialize').length;
  await killWorkers(deployment);
  t.ok(await whenUp(() => isEchoed(sessions[0]!, 100)));
  // Several calls at once in each session share one look-up. Requests for slots that are still empty wait.
  const calls = sessions.flatMap((session, index) =>
    [1, 2, 3].map((part) => isEchoed(session, 1_000 + 10 * index + part)),
  );
  t.same(new Set(await Promise.all(calls)), new Set([true]), 'every session goes on');
  t.equal(backend.requestsOf('initialize').length, openedBefore, 'no upstream session was opened');
  t.equal(backend.sessions.size, sessions.length, 'and none ended');
  const files = filesIn(runDirectory);
  t.ok(
    files.some((bytes) => bytes.some((byte) => byte !== 0)),
    'they are written down',
  );
  for (const secret of [...backend.sessions, ...sessions.map(({ id }) => id), caller.token, caller.subject])
    t.notOk(
      files.some((bytes) => bytes.includes(secret)),
      'and show no id, no token, no subject',
    );

  await t.test('another subject gets the same response as for an unknown session', async (t) => {
    const stranger = await deployment.caller({ one: { url: backend.url } });
    await killWorkers(deployment);
    const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    for (const { id } of sessions) {
      t.equal((await whenUp(() => stranger.send({ session: id, body }))).status, 404);
    }
    for (const [id, session] of sessions.entries()) t.ok(await isEchoed(session, id));
  });
  await t.test('DELETE of a session that no process knows yet ends it at the backend', async (t) => {
    await killWorkers(deployment);
    const session = ownedBy(sessions, 0);
    t.equal((await whenUp(() => session.delete())).status, 200);
    await until(() => backend.deletedSessions.length === 1, 'the backend to be told');
    t.equal((await session.call('one-echo')).status, 404);
    await killWorkers(deployment);
    t.equal((await whenUp(() => session.call('one-echo'))).status, 404, 'also for those who come after');
  });
  t.equal((await caller.send({ session: `${'x'.repeat(34)}_`, method: 'DELETE' })).status, 404, 'an id made up');
});

t.test('without a session directory, sessions end with their worker', async (t) => {
  const { deployment, sessions } = await startWithSessions(t, ['--session-directory', 'none']);
  await killWorkers(deployment);
  t.equal((await whenUp(() => ownedBy(sessions, 0).call('one-echo'))).status, 404);
});

t.test('in the store, sessions survive the gateway, and their records reveal nothing', async (t) => {
  const { backend, deployment, caller, sessions } = await startWithSessions(t, ['--session-directory', 'store']);
  const upstreamIds = [...backend.sessions];
  const openedBefore = backend.requestsOf('initialize').length;
  await deployment.gateway.stop();
  t.equal(backend.deletedSessions.length, 0, 'nobody says that they are over');
  const { key, storeOptions } = deployment;
  const setup = { workerCount: WORKERS, options: ['--session-directory', 'store'], key, storeOptions };
  const next = await startDeployment(t, setup);
  const there = new McpCaller(next.gateway.origin, caller.path, caller.token);
  for (const [index, session] of sessions.entries()) {
    t.ok(await isEchoed(new McpSession(there, session.id, session.opening), index));
  }
  t.equal(backend.requestsOf('initialize').length, openedBefore);
  if (storeOptions.kind !== 'embedded') throw new Error('the store is another one');
  const files = filesIn(join(storeOptions.path, 'sessions'));
  t.ok(
    files.some((bytes) => bytes.length > 8_192),
    'something is written there',
  );
  for (const secret of [...upstreamIds, ...sessions.map(({ id }) => id), caller.token, caller.subject]) {
    t.notOk(
      files.some((bytes) => bytes.includes(secret)),
      'no id, no token, no subject',
    );
  }
});
