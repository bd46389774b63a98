// How processes tell each other that a session has ended: over a real Redis, and without one where the test is about timing.
import { randomBytes } from 'node:crypto';
import { mock } from 'node:test';
import t, { type Test } from 'tap';
import { limits } from '../../src/shared/limits.js';
import type { RedisStoreOptions } from '../../src/store/redis-connection.js';
import { RedisPeers } from '../../src/store/redis-peers.js';
import { RedisSessions } from '../../src/store/redis-sessions.js';
import { logInto } from '../support/log-lines.js';
import { startRedis, startRedisCluster } from '../support/redis.js';
import { until } from '../support/until.js';

const KEY = randomBytes(32);

async function open(t: Test, options: RedisStoreOptions, lines: string[] = []): Promise<RedisSessions> {
  const sessions = await RedisSessions.open(options, logInto(lines));
  t.teardown(() => sessions.close());
  return sessions;
}

function listenerOf({ peers }: RedisSessions): string {
  if (peers.listener === undefined) throw new Error('it hears nothing');
  return peers.listener;
}

async function tellsAll(t: Test, options: RedisStoreOptions): Promise<void> {
  const [one, other, third] = [await open(t, options), await open(t, options), await open(t, options)];
  const heard: string[] = [];
  other.peers.onEnded = (key) => heard.push(`other ${key.toString('hex')}`);
  third.peers.onEnded = (key) => heard.push(`third ${key.toString('hex')}`);
  t.equal(await one.peers.tellEnded(KEY, [listenerOf(other), listenerOf(third)]), 0);
  t.same(heard.toSorted(), [`other ${KEY.toString('hex')}`, `third ${KEY.toString('hex')}`], 'each has heard it once');
  heard.length = 0;
  t.equal(await one.peers.tellEnded(KEY, [listenerOf(other)]), 0);
  t.same(heard, [`other ${KEY.toString('hex')}`], 'and again, when it is told so again');
}

t.test('a told process has heard it before the teller continues', async (t) => {
  const redis = await startRedis(t);
  await tellsAll(t, redis.storeOptions);
});

t.test('the same holds in a cluster, any of whose nodes delivers the message', async (t) => {
  const nodes = await startRedisCluster(t);
  const location = { nodes: nodes.map(({ host, port }) => ({ host, port })) };
  await tellsAll(t, { ...nodes[0]!.storeOptions, location });
});

t.test('what is passed about a session arrives whole, message by message', async (t) => {
  const redis = await startRedis(t);
  const [one, other] = [await open(t, redis.storeOptions), await open(t, redis.storeOptions)];
  const passed: string[] = [];
  other.peers.onReceived = (key, sealed) => passed.push(`${key.toString('hex')} ${sealed.toString()}`);
  for (const sealed of ['first', 'second']) await one.peers.send(KEY, [listenerOf(other)], Buffer.from(sealed));
  await until(() => passed.length >= 2, 'both');
  t.same(passed, [`${KEY.toString('hex')} first`, `${KEY.toString('hex')} second`]);
});

t.test('a process that is gone is not waited for', async (t) => {
  const redis = await startRedis(t);
  const one = await open(t, redis.storeOptions);
  const other = await RedisSessions.open(redis.storeOptions, logInto([]));
  const listener = listenerOf(other);
  await other.close();
  const connection = await redis.connect();
  await until(async () => (await connection.pubsub('CHANNELS', '*')).length === 2, 'Redis to know that it is gone');
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  t.equal(await one.peers.tellEnded(KEY, [listener]), 0, 'no timer has come to its end');
});

t.test('a silent process is waited for a limited time, and counted', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const published: string[] = [];
  const peers = new RedisPeers(async (channel, message) => {
    published.push(`${channel} ${message}`);
    return 1;
  });
  let unheard: number | undefined;
  void peers.tellEnded(KEY, ['silent', 'quick']).then((count) => (unheard = count));
  t.match(
    published,
    [/^switchyard\/sessions\/silent ended /, /^switchyard\/sessions\/quick ended /],
    'on channels that the documented rights of a Redis user include',
  );
  await new Promise((resolve) => setImmediate(resolve));
  peers.onPublished('heard quick 1');
  mock.timers.tick(limits.peerAnswerMsMax - 1);
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(unheard, undefined);
  mock.timers.tick(1);
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(unheard, 1);
  peers.onPublished('heard silent 1');
  peers.onPublished('nonsense');
  peers.onPublished('');
});

t.test('telling fails where nobody could be told', async (t) => {
  const peers = new RedisPeers(async () => {
    throw new Error('Redis is not reachable');
  });
  await t.rejects(peers.tellEnded(KEY, ['other']), /not reachable/);
});

t.test('a Redis user without the right to its own channel has sessions without it', async (t) => {
  const rights = '+get +set +pexpire +pttl +eval +ping +client|id +client|tracking +subscribe';
  const redis = await startRedis(t, { users: [`old on nopass ~* &__redis__:invalidate ${rights}`] });
  const lines: string[] = [];
  const deaf = await open(t, { ...redis.storeOptions, username: 'old', password: 'any' }, lines);
  const one = await open(t, redis.storeOptions);
  t.equal(deaf.peers.listener, undefined, 'nobody is asked to tell it anything');
  t.match(lines.join(''), /cannot subscribe to the ends of sessions/);
  t.equal(await deaf.write(KEY, { version: 1, bytes: Buffer.from('a') }, 60_000), true);
  t.same(await one.read(KEY), { version: 1, bytes: Buffer.from('a') });
  await t.rejects(deaf.peers.tellEnded(KEY, [listenerOf(one)]), /did not carry out the command: NOPERM/);
});
