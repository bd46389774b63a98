// Where Sentinels say that the Redis is; they are stand-ins here. A failover of real ones is in test/integration.
import t, { type Test } from 'tap';
import type { RedisStoreOptions } from '../../src/store/redis-connection.js';
import { findRedis, findShards, redisInWords } from '../../src/store/redis-location.js';
import { RedisStore } from '../../src/store/redis-store.js';
import { FakeRedis } from '../support/fake-redis.js';
import { logInto } from '../support/log-lines.js';
import { open, readText } from './redis-store-scene.js';

type Address = { readonly host: string; readonly port: number };

async function started(t: Test): Promise<{ redis: FakeRedis; options: RedisStoreOptions; address: Address }> {
  const redis = new FakeRedis();
  const options = await redis.start(t);
  return { redis, options, address: options.location as Address };
}

function reply({ host, port }: Address): string {
  return `*2\r\n$${host.length}\r\n${host}\r\n$${String(port).length}\r\n${port}\r\n`;
}

const withoutPassword = { name: 'main', username: undefined, password: undefined };

t.test('the Redis is where any Sentinel says, whatever becomes of the others', async (t) => {
  const [one, other, master] = [await started(t), await started(t), await started(t)];
  one.redis.sentinelReply = reply(master.address);
  const nowhere = { host: '127.0.0.1', port: 1 };
  const sentinels = [nowhere, other.address, one.address];
  const location = { sentinels, name: 'main', username: 'guard', password: 'of the sentinels' };
  const options = { ...master.options, username: 'me', password: 'of the Redis', location };
  t.same(await findRedis(options), master.address);
  t.same(one.redis.asked, ['auth guard of the sentinels', 'SENTINEL get-master-addr-by-name main']);
  master.redis.reply = Buffer.from('$3\r\none\r\n');
  const { store } = await open(t, options);
  t.equal(await readText(store, 'alice'), 'one');
  t.ok(master.redis.asked.every((words) => words === 'auth me of the Redis'));
  t.equal(
    redisInWords(location),
    `the Redis main of the Sentinels at 127.0.0.1:1, 127.0.0.1:${other.address.port}, 127.0.0.1:${one.address.port}`,
  );
});

t.test('where no Sentinel knows it, each says why', async (t) => {
  const { address, options } = await started(t);
  const location = { sentinels: [address, { host: '127.0.0.1', port: 1 }], ...withoutPassword };
  await t.rejects(findRedis({ ...options, location }), {
    message: `no Sentinel knows where main is: 127.0.0.1:${address.port}: it does not know this name; 127.0.0.1:1: connect ECONNREFUSED 127.0.0.1:1`,
  });
});

t.test('a former master that a Sentinel still names is not used', async (t) => {
  const [sentinel, former] = [await started(t), await started(t)];
  sentinel.redis.sentinelReply = reply(former.address);
  former.redis.role = 'slave';
  const lines: string[] = [];
  const location = { sentinels: [sentinel.address], ...withoutPassword };
  const store = await RedisStore.open({ ...sentinel.options, location }, logInto(lines));
  await store.close();
  t.match(lines.join(''), /the Redis that the Sentinels name is a slave, which accepts no changes/);
  t.equal(await findRedis(former.options), former.address, 'one that is named by an operator is not asked');
});

t.test('one Redis is no cluster, and a cluster is no one Redis', async (t) => {
  const { options, address } = await started(t);
  await t.rejects(findShards(options), { message: /not a cluster/ });
  const location = { nodes: [address] };
  await t.rejects(findRedis({ ...options, location }), { message: /a cluster/ });
  t.equal(redisInWords(location), `the Redis Cluster at 127.0.0.1:${address.port}`);
});
