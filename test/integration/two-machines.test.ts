// Two gateways on one Redis: each of them serves any session, and knows the other's changes with its next request.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { RedisStoreOptions } from '../../src/store/redis-connection.js';
import { backendFor, startDeployment } from '../support/deployment.js';
import { McpCaller, McpSession, rpc } from '../support/mcp-caller.js';
import { startRedis } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { until } from '../support/until.js';

const USER = 'dataplane';
const PASSWORD = 'a-password';
/** The rights in docs/sessions.md. */
const RIGHTS = '+get +set +pexpire +pttl +eval +ping +publish +subscribe +client|id +client|tracking';
const CHANNELS = '&__redis__:invalidate &switchyard/sessions/*';
const OPTIONS = ['--session-directory', 'store'];
const CAPABILITIES = { tools: {}, logging: {} };

async function isEchoed(session: McpSession, id: number): Promise<boolean> {
  const answer = await session.call('one-echo', `{"id":${id}}`, { id: String(id) });
  const { result } = rpc(answer) as { result?: { structuredContent?: { id?: unknown } } };
  return answer.status === 200 && result?.structuredContent?.id === id;
}

t.test('two gateways on one Redis', async (t: Test) => {
  const redis = await startRedis(t, { users: [`${USER} on >${PASSWORD} ~* ${CHANNELS} ${RIGHTS}`] });
  const backend = await backendFor(t, { withSessions: true, capabilities: CAPABILITIES });
  const passwordPath = join(createScratchDirectory(t), 'password');
  writeFileSync(passwordPath, PASSWORD, { mode: 0o600 });
  const options = [...OPTIONS, '--redis-username', USER, '--redis-password-file', passwordPath];
  const setup = { storeOptions: redis.storeOptions, options };
  const first = await startDeployment(t, { ...setup, workerCount: 2 });
  const second = await startDeployment(t, { ...setup, workerCount: 1, key: first.key });
  const here = await first.caller({ one: { url: backend.url } });
  const other = new McpCaller(second.gateway.origin, here.path, here.token);
  const there = (session: McpSession): McpSession => new McpSession(other, session.id, session.opening);
  const openedCount = (): number => backend.requestsOf('initialize').length;

  await t.test('a session continues at either gateway, in one upstream session', async (t) => {
    const session = await here.openSession();
    const opened = openedCount();
    for (let id = 0; id < 10; id++) t.ok(await isEchoed(id % 2 === 0 ? there(session) : session, id));
    t.equal(openedCount(), opened);
    const stranger = await first.caller({ one: { url: backend.url } });
    const elsewhere = new McpCaller(second.gateway.origin, stranger.path, stranger.token);
    const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    t.equal((await elsewhere.send({ session: session.id, body })).status, 404);
    t.equal((await elsewhere.send({ session: `${'x'.repeat(34)}_`, body })).status, 404);
  });

  await t.test('DELETE at one is 404 at the other with its next request', async (t) => {
    const session = await here.openSession();
    t.ok(await isEchoed(session, 1));
    t.ok(await isEchoed(there(session), 2));
    const deletedBefore = backend.deletedSessions.length;
    t.equal((await there(session).delete()).status, 200);
    t.equal((await session.call('one-echo')).status, 404);
    t.equal((await there(session).call('one-echo')).status, 404);
    await until(() => backend.deletedSessions.length > deletedBefore, 'the backend to be told');
    t.equal(backend.deletedSessions.length, deletedBefore + 1, 'once');
  });

  await t.test('an upstream session that one gateway has reopened is used by the other', async (t) => {
    const session = await here.openSession();
    t.ok(await isEchoed(there(session), 1));
    const opened = openedCount();
    backend.forgetSessions();
    t.ok(await isEchoed(there(session), 2), 'the backend has forgotten it: it is opened again');
    t.equal(openedCount(), opened + 1);
    // Until the new upstream session is recorded, the other gateway may still try the old one.
    await until(async () => (await isEchoed(session, 3)) && (await isEchoed(there(session), 4)), 'both');
    t.ok(openedCount() <= opened + 2);
    const settled = openedCount();
    for (let id = 10; id < 20; id++) t.ok(await isEchoed(id % 2 === 0 ? there(session) : session, id));
    t.equal(openedCount(), settled, 'they agree on one');
  });

  await t.test('a log level set at one gateway is also sent in an upstream session that the other opens', async (t) => {
    const session = await here.openSession();
    t.ok(await isEchoed(there(session), 1));
    await session.send('{"jsonrpc":"2.0","id":5,"method":"logging/setLevel","params":{"level":"error"}}');
    const toldBefore = backend.requestsOf('logging/setLevel').length;
    backend.forgetSessions();
    await until(async () => {
      await isEchoed(there(session), 2);
      return backend.requestsOf('logging/setLevel').length > toldBefore;
    }, 'the level');
  });

  await t.test('nothing in Redis reveals an id, a token or a subject', async (t) => {
    const session = await here.openSession();
    const connection = await redis.connect();
    const keys = await connection.keysBuffer('*');
    const configs = keys.filter((key) => key[0] !== 0xff);
    const values = await Promise.all(keys.filter((key) => key[0] === 0xff).map((key) => connection.getBuffer(key)));
    const all = Buffer.concat([...keys, ...values.map((value) => value ?? Buffer.alloc(0))]);
    t.ok(values.length > 2 && configs.length > 0);
    for (const secret of [session.id, ...backend.sessions, ...backend.deletedSessions, here.token]) {
      t.notOk(all.includes(secret));
    }
    t.notOk(Buffer.concat(values.map((value) => value ?? Buffer.alloc(0))).includes(here.subject));
  });

  await t.test('a Redis that has lost its records gets those of live sessions back', async (t) => {
    const session = await here.openSession();
    t.ok(await isEchoed(session, 1));
    const connection = await redis.connect();
    const records = (await connection.keysBuffer('*')).filter((key) => key[0] === 0xff);
    await connection.del(...records);
    t.ok(await isEchoed(session, 2), 'who has it goes on');
    await until(async () => (await there(session).call('one-echo')).status === 200, 'and so does the other');
  });

  await t.test('a Redis that does not respond costs only durability', async (t) => {
    const session = await here.openSession();
    t.ok(await isEchoed(session, 1));
    redis.pause();
    t.teardown(() => redis.resume());
    t.ok(await isEchoed(session, 2), 'a session that is known goes on');
    const fresh = await here.openSession();
    t.ok(await isEchoed(fresh, 3), 'a new one begins');
    t.equal((await there(fresh).call('one-echo')).status, 503, 'which nobody else can find now');
    redis.resume();
  });

  await t.test('a session deleted while Redis does not respond has ended everywhere once it is back', async (t) => {
    const session = await here.openSession();
    await until(async () => await isEchoed(there(session), 1), 'Redis to be back');
    redis.pause();
    t.teardown(() => redis.resume());
    t.equal((await session.delete()).status, 200);
    await until(async () => (await session.call('one-echo')).status === 404, 'it to be over here');
    redis.resume();
    await until(async () => (await there(session).call('one-echo')).status === 404, 'the other to hear of it');
    t.equal((await session.call('one-echo')).status, 404, 'it does not come back');
  });

  await t.test('when a machine dies, the other continues its sessions', async (t) => {
    const session = await here.openSession();
    await until(async () => await isEchoed(there(session), 1), 'Redis to be back');
    const sessions = [session, await here.openSession(), await here.openSession()];
    const pids = [first.gateway.pid, ...first.gateway.workerPids()];
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    for (const [id, each] of sessions.entries()) t.ok(await isEchoed(there(each), id));
  });
});

t.test('a machine that has not yet read a notification from Redis', async (t: Test) => {
  const redis = await startRedis(t);
  const proxy = await TcpProxy.start(t, redis.port);
  const backend = await backendFor(t, { withSessions: true, capabilities: CAPABILITIES });
  const first = await startDeployment(t, { storeOptions: redis.storeOptions, options: OPTIONS, workerCount: 1 });
  const beyond: RedisStoreOptions = { ...redis.storeOptions, location: { host: '127.0.0.1', port: proxy.port } };
  const { key } = first;
  const second = await startDeployment(t, { storeOptions: beyond, options: OPTIONS, workerCount: 1, key });
  const here = await first.caller({ one: { url: backend.url } });
  const other = new McpCaller(second.gateway.origin, here.path, here.token);
  const there = (session: McpSession): McpSession => new McpSession(other, session.id, session.opening);
  /** Holds the connection on which the second gateway is notified of sessions. */
  const holdItsHearing = (): void => proxy.hold(({ sent }) => sent.includes('switchyard/sessions/'));

  await t.test('is waited for by DELETE at another one', async (t) => {
    const session = await here.openSession();
    t.ok(await isEchoed(there(session), 1));
    holdItsHearing();
    let isAnswered = false;
    const deletion = session.delete().then((answer) => {
      isAnswered = true;
      return answer;
    });
    await until(() => backend.deletedSessions.length === 1, 'the session to end');
    await until(() => proxy.connections.some(({ held }) => held.length > 0), 'Redis to tell of it');
    t.notOk(isAnswered);
    proxy.release();
    t.equal((await deletion).status, 200);
    t.equal((await there(session).call('one-echo')).status, 404);
  });

  await t.test('is not waited for forever, and does not delay the end of another session', async (t) => {
    const [shared, alone] = [await here.openSession(), await here.openSession()];
    t.ok(await isEchoed(there(shared), 1));
    holdItsHearing();
    const deletion = shared.delete();
    t.equal((await alone.delete()).status, 200, 'nobody else has it');
    t.equal((await deletion).status, 200);
    const line = await first.gateway.waitForLog(({ msg }) =>
      String(msg).includes('did not confirm that it knows of the end of a session'),
    );
    t.equal(line['unheardCount'], 1);
    proxy.release();
    await until(async () => (await there(shared).call('one-echo')).status === 404, 'it to hear of it');
  });

  await t.test('is not waited for once it has stopped', async (t) => {
    const session = await here.openSession();
    t.ok(await isEchoed(there(session), 1));
    await second.gateway.stop();
    t.equal((await session.delete()).status, 200);
    const lines = first.gateway.logs.filter(({ msg }) =>
      String(msg).includes('did not confirm that it knows of the end of a session'),
    );
    t.equal(lines.length, 1, 'nobody was waited for');
  });
});
