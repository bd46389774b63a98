// A Redis behind sentinels: when it dies, its replica takes over, and both planes find the new master.
import { writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { openForCommand } from '../../src/store/open-store.js';
import type { RedisStoreOptions } from '../../src/store/redis-connection.js';
import { startControlPlane } from '../support/control-plane.js';
import { backendFor, startDeployment } from '../support/deployment.js';
import { findFreePort } from '../support/free-port.js';
import { Killer } from '../support/killer.js';
import { rpc, type McpSession } from '../support/mcp-caller.js';
import { startSentinel } from '../support/redis-sentinel.js';
import { startRedis } from '../support/redis.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { until } from '../support/until.js';

const NAME = 'switchyard';
const USER = 'dataplane';
const PASSWORD = 'a-password';
/** The rights in docs/sessions.md, and those that docs/clusters.md adds for sentinels. */
const RIGHTS = '+get +set +pexpire +pttl +eval +ping +publish +client|id +client|tracking +subscribe +role';

async function isEchoed(session: McpSession, tool = 'one-echo'): Promise<boolean> {
  return 'result' in (rpc(await session.call(tool)) as object);
}

t.test('a Redis that fails over', async (t) => {
  const users = [`${USER} on >${PASSWORD} ~* &__redis__:invalidate &switchyard/sessions/* ${RIGHTS}`];
  const first = await startRedis(t, { users });
  const second = await startRedis(t, { users, replicaOf: first });
  const sentinel = await startSentinel(t, NAME, first);
  const nobody = { host: '127.0.0.1', port: await findFreePort() };
  const storeOptions: RedisStoreOptions = {
    ...first.storeOptions,
    location: { sentinels: [nobody, sentinel], name: NAME, username: undefined, password: undefined },
  };
  const passwordPath = join(createScratchDirectory(t), 'password');
  writeFileSync(passwordPath, PASSWORD, { mode: 0o600 });
  const user = ['--redis-username', USER, '--redis-password-file', passwordPath];
  const deployment = await startDeployment(t, {
    ...{ storeOptions, workerCount: 2 },
    options: [...user, '--session-directory', 'store', '--log-level', 'debug'],
  });
  const controlPlane = await startControlPlane(t, { storeOptions, key: deployment.key });
  const backend = await backendFor(t, { withSessions: true });
  const caller = await deployment.caller({ one: { url: backend.url } });
  const sessions = await Promise.all(Array.from({ length: 8 }, () => caller.openSession()));
  const told = (what: string): number => deployment.gateway.logs.filter(({ msg }) => msg === what).length;
  const isFound = (times: number): boolean =>
    told('Redis is connected') === times && told('Redis is connected for sessions') === times;
  t.ok(isFound(2), 'each worker');

  await first.kill();
  for (const session of sessions) t.ok(await isEchoed(session), 'what is known serves meanwhile');
  await until(async () => (await sentinel.read('port')) === String(second.port), 'the failover');
  await until(() => isFound(4), 'both workers to find the other Redis');

  await caller.configure({ other: { url: backend.url } });
  for (const session of sessions) {
    t.ok(await isEchoed(session, 'other-echo'), 'a change there is obeyed by the next request');
    t.notOk(await isEchoed(session), 'and by nothing of before');
  }
  const killer = new Killer(deployment.gateway);
  const fresh = await Promise.all(Array.from({ length: 8 }, () => caller.openSession()));
  for (const slot of [0, 1]) await killer.killWorkerOf(slot);
  for (const session of [...sessions, ...fresh])
    t.ok(await isEchoed(session, 'other-echo'), 'and outlive their workers');

  const administrator = await controlPlane.caller(t);
  await until(async () => (await administrator.get('/servers')).status === 200, 'the control plane to find it');
  t.equal((await administrator.post('/servers', { name: 'late', url: backend.url })).status, 201);
});

t.test('sentinels that do not know the name, or name a replica, are reported in a clear message', async (t) => {
  const redis = await startRedis(t);
  const replica = await startRedis(t, { replicaOf: redis });
  const sentinel = await startSentinel(t, NAME, redis);
  const at = (port: number, name = NAME): RedisStoreOptions => ({
    ...redis.storeOptions,
    location: { sentinels: [{ host: '127.0.0.1', port }], name, username: undefined, password: undefined },
  });
  const readAt = async (options: RedisStoreOptions): Promise<unknown> => {
    const store = await openForCommand(options, false);
    t.teardown(() => store?.close());
    return store?.read({ space: 'user-configs', key: 'alice' });
  };
  t.equal(await readAt(at(sentinel.port)), undefined);
  const port = await findFreePort();
  await t.rejects(readAt(at(port)), {
    message: new RegExp(
      `^the Redis ${NAME} of the Sentinels at 127\\.0\\.0\\.1:${port} cannot be reached: .*ECONNREFUSED`,
    ),
  });
  await t.rejects(readAt(at(sentinel.port, 'nobody')), { message: /does not know this name/ });

  // A sentinel that was cut off, and names a master that has since been demoted.
  const behind = createServer((socket) => {
    const text = String(replica.port);
    socket
      .on('error', () => {})
      .on('data', () => socket.write(`*2\r\n$9\r\n127.0.0.1\r\n$${text.length}\r\n${text}\r\n`));
  });
  behind.listen(0, '127.0.0.1');
  t.teardown(() => behind.close());
  await once(behind, 'listening');
  await t.rejects(readAt(at((behind.address() as AddressInfo).port)), { message: /is a slave/ });
});
