// A Redis Cluster as the store of both planes: every node holds some of the users and sessions, and slots move while they are in use.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { openForCommand } from '../../src/store/open-store.js';
import type { RedisStoreOptions } from '../../src/store/redis-connection.js';
import { redisSlotOf } from '../../src/store/redis-location.js';
import { startControlPlane } from '../support/control-plane.js';
import { backendFor, startDeployment, type ConfiguredCaller } from '../support/deployment.js';
import { Killer } from '../support/killer.js';
import { rpc, type McpSession } from '../support/mcp-caller.js';
import { startRedisCluster, untilClusterIsUp, type RedisServer } from '../support/redis.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { until } from '../support/until.js';

const USER = 'dataplane';
const PASSWORD = 'a-password';
/** The rights in docs/sessions.md, and those that docs/clusters.md adds for a cluster. */
const RIGHTS =
  '+get +set +pexpire +pttl +eval +ping +publish +client|id +client|tracking +subscribe +cluster|slots +asking';
const CALLERS_LEAST = 12;
/** With this many callers, a node without any has none for some other reason than chance. */
const CALLERS_MOST = 200;

async function contentOf(
  node: RedisServer,
  callers: readonly ConfiguredCaller[],
): Promise<{ readonly hasUser: boolean; readonly hasSession: boolean }> {
  const keys = await (await node.connect()).keysBuffer('*');
  return {
    hasUser: keys.some((key) => callers.some(({ subject }) => key.equals(Buffer.from(subject)))),
    hasSession: keys.some((key) => key[0] === 0xff),
  };
}

/** Whether each node has a user config and a session record. */
async function areEverywhere(nodes: readonly RedisServer[], callers: readonly ConfiguredCaller[]): Promise<boolean> {
  for (const node of nodes) {
    const { hasUser, hasSession } = await contentOf(node, callers);
    if (!hasUser || !hasSession) return false;
  }
  return true;
}

async function isEchoed(session: McpSession, backend = 'one'): Promise<boolean> {
  return 'result' in (rpc(await session.call(`${backend}-echo`)) as object);
}

/** A slot that moves from one node to another. */
interface Move {
  readonly slot: number;
  readonly from: RedisServer;
  readonly to: RedisServer;
}

async function beginMove({ slot, from, to }: Move): Promise<void> {
  const [source, target] = [await from.connect(), await to.connect()];
  const [sourceId, targetId] = [await source.cluster('MYID'), await target.cluster('MYID')];
  await target.cluster('SETSLOT', slot, 'IMPORTING', sourceId);
  await source.cluster('SETSLOT', slot, 'MIGRATING', targetId);
}

async function endMove({ slot, from, to }: Move, nodes: readonly RedisServer[]): Promise<void> {
  const source = await from.connect();
  for (const key of (await source.cluster('GETKEYSINSLOT', slot, 1_000)) as readonly string[]) {
    await source.migrate(to.host, to.port, key, 0, 5_000);
  }
  const targetId = await (await to.connect()).cluster('MYID');
  for (const node of [to, from, ...nodes.filter((one) => one !== to && one !== from)]) {
    await (await node.connect()).cluster('SETSLOT', slot, 'NODE', targetId);
  }
}

t.test('a cluster of three nodes', async (t: Test) => {
  const nodes = await startRedisCluster(t, [
    `${USER} on >${PASSWORD} ~* &__redis__:invalidate &switchyard/sessions/* ${RIGHTS}`,
  ]);
  const [one, another] = nodes as readonly [RedisServer, RedisServer];
  const storeOptions: RedisStoreOptions = {
    ...one.storeOptions,
    location: { nodes: [another, one].map(({ host, port }) => ({ host, port })) },
  };
  const passwordPath = join(createScratchDirectory(t), 'password');
  writeFileSync(passwordPath, PASSWORD, { mode: 0o600 });
  const user = ['--redis-username', USER, '--redis-password-file', passwordPath];
  const deployment = await startDeployment(t, {
    ...{ storeOptions, workerCount: 1 },
    options: [...user, '--session-directory', 'store', '--log-level', 'debug'],
  });
  const backend = await backendFor(t, { withSessions: true });
  const callers: ConfiguredCaller[] = [];
  const sessions: McpSession[] = [];
  // The cluster places keys by their hash, so callers are added until every node has some.
  while (callers.length < CALLERS_LEAST || (callers.length < CALLERS_MOST && !(await areEverywhere(nodes, callers)))) {
    const caller = await deployment.caller({ one: { url: backend.url } });
    callers.push(caller);
    sessions.push(await caller.openSession());
  }
  const told = (what: string): number => deployment.gateway.logs.filter(({ msg }) => msg === what).length;

  await t.test('each node has some of the users, and some of the sessions', async (t) => {
    for (const node of nodes) {
      const { hasUser, hasSession } = await contentOf(node, callers);
      t.ok(hasUser, 'a user');
      t.ok(hasSession, 'a session');
    }
  });

  await t.test('a config change is obeyed by the next request, whichever node holds it', async (t) => {
    for (const caller of callers) await caller.configure({ other: { url: backend.url } });
    for (const session of sessions) t.ok(await isEchoed(session, 'other'));
    for (const caller of callers) await caller.configure({ one: { url: backend.url } });
    for (const session of sessions) t.ok(await isEchoed(session));
  });

  await t.test('sessions outlive their worker', async (t) => {
    await new Killer(deployment.gateway).killWorkerOf(0);
    for (const session of sessions) t.ok(await isEchoed(session));
  });

  await t.test('users notice nothing while a slot moves and after it has moved', async (t) => {
    const before = told('Redis is connected');
    const isAt = (node: RedisServer, { subject }: ConfiguredCaller): boolean =>
      redisSlotOf(Buffer.from(subject)) <= 5_460 === (node === one);
    const index = callers.findIndex((caller) => isAt(one, caller));
    const [caller, session] = [callers[index]!, sessions[index]!];
    const move = { slot: redisSlotOf(Buffer.from(caller.subject)), from: one, to: another };
    await beginMove(move);
    await caller.configure({ other: { url: backend.url } });
    t.ok(await isEchoed(session, 'other'), 'where it is about to move');
    await (await one.connect()).migrate(another.host, another.port, caller.subject, 0, 5_000);
    t.ok(await isEchoed(session, 'other'), 'it has moved, the slot has not');
    await caller.configure({ one: { url: backend.url } });
    t.ok(await isEchoed(session), 'changed while it moved');
    await endMove(move, nodes);
    t.ok(await isEchoed(session));
    await caller.configure({ other: { url: backend.url } });
    t.ok(await isEchoed(session, 'other'), 'and changed where it is now');
    t.equal(told('Redis is connected'), before, 'without a new connection');
    await caller.configure({ one: { url: backend.url } });
  });

  await t.test('the control plane and the commands see the keys of all nodes', async (t) => {
    const controlPlane = await startControlPlane(t, { storeOptions, key: deployment.key });
    const api = await controlPlane.caller(t);
    t.equal((await api.post('/servers', { name: 'files', url: backend.url })).status, 201);
    const subjects = callers.map(({ subject }) => subject);
    const composition = { name: 'desk', servers: [{ name: 'files', tools: ['echo'] }], subjects };
    const made = await api.post('/compositions', composition);
    t.equal(made.status, 201, made.text);
    const store = await openForCommand(storeOptions, false);
    const found: string[] = [];
    for await (const some of store!.subjects()) found.push(...some);
    await store!.close();
    t.strictSame(found.sort(), subjects.sort());
    for (const session of sessions) t.ok(await isEchoed(session));
  });

  await t.test('while a node is down, known users are served; after its return, everything works again', async (t) => {
    const before = told('Redis is connected');
    await another.kill();
    await until(
      () => told('Redis is lost: known user configs are used for --redis-stale-grace') > 0,
      'the worker to notice',
    );
    for (const session of sessions) t.ok(await isEchoed(session), 'known users are served');
    await another.start();
    await untilClusterIsUp(nodes);
    await until(() => told('Redis is connected') > before, 'the worker to be back');
    for (const caller of callers) await caller.configure({ other: { url: backend.url } });
    for (const session of sessions) t.ok(await isEchoed(session, 'other'));
  });
});

t.test('a cluster that cannot be reached is reported in a clear message', async (t) => {
  const [node] = await startRedisCluster(t);
  await node!.kill();
  const options = { ...node!.storeOptions, location: { nodes: [{ host: node!.host, port: node!.port }] } };
  const store = await openForCommand(options, false);
  t.teardown(() => store?.close());
  await t.rejects(store!.read({ space: 'user-configs', key: 'alice' }), {
    message: /^the Redis Cluster at 127\.0\.0\.1:\d+ cannot be reached: /,
  });
});
