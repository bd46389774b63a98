// A Redis or a connection to it that falls silent, which only deadlines can tell.
import t from 'tap';
import { startRedis } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { open, readAtOnce, readText, untilLost, untilRead } from './redis-store-scene.js';

/** A command's deadline, plus what a busy machine adds. */
const HANG_MS_MAX = 60_000;

t.jobs = 4;

t.test('a Redis that accepts and never answers hangs no read', async (t) => {
  const redis = await startRedis(t);
  await (await redis.connect()).set('alice', 'one');
  const { store } = await open(t, redis.storeOptions);
  await store.read('alice');
  redis.pause();
  const startMs = performance.now();
  t.equal(await readText(store, 'bob'), 'failed');
  t.ok(performance.now() - startMs < HANG_MS_MAX);
  t.equal(readAtOnce(store, 'alice'), 'one', 'from then on it counts as lost');
  t.equal(readAtOnce(store, 'bob'), 'failed', 'and nobody waits for it again');
  redis.resume();
  await untilRead(t, store, 'bob', 'missing');
});

t.test('a Redis that hangs from the start delays the opening for a bounded time', async (t) => {
  const redis = await startRedis(t);
  redis.pause();
  const startMs = performance.now();
  const { store } = await open(t, redis.storeOptions);
  t.ok(performance.now() - startMs < HANG_MS_MAX);
  t.equal(readAtOnce(store, 'alice'), 'failed');
  redis.resume();
  await untilRead(t, store, 'alice', 'missing');
});

for (const [name, pattern] of [
  ['data', /TRACKING/i],
  ['changes', /subscribe/i],
] as const) {
  t.test(`a silent death of the ${name} connection is noticed without a read`, async (t) => {
    const redis = await startRedis(t);
    const other = await redis.connect();
    const proxy = await TcpProxy.start(t, redis.port);
    const { store, lines } = await open(t, { ...redis.storeOptions, location: { host: redis.host, port: proxy.port } });
    await store.read('alice');
    const silent = proxy.connections.find(({ sent }) => pattern.test(sent));
    proxy.hold((connection) => connection === silent);
    await other.set('alice', 'one');
    await untilLost(lines);
    await untilRead(t, store, 'alice', 'one');
  });
}
