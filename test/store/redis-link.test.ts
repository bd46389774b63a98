// One link to a server that replies as the test says; the test sets the clock.
import { mock } from 'node:test';
import t, { type Test } from 'tap';
import { limits } from '../../src/shared/limits.js';
import { RedisLink, REDIS_HEALTH_CHECK_MS } from '../../src/store/redis-link.js';
import { FakeRedis } from '../support/fake-redis.js';

t.before(() => mock.timers.enable({ apis: ['setTimeout'] }));
t.teardown(() => mock.timers.reset());

async function openLink(t: Test, redis: FakeRedis): Promise<string[]> {
  const events: string[] = [];
  const handlers = {
    onLive: () => events.push('live'),
    onChanged: () => events.push('changed'),
    onFlushed: () => events.push('flushed'),
    onLost: (reason: string) => events.push(`lost: ${reason}`),
  };
  const link = new RedisLink(await redis.start(t), handlers, { includesOwnChanges: true });
  t.teardown(() => link.end());
  await link.open();
  return events;
}

/** With mocked timers, only the event loop runs by itself. */
async function turnsUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate);
}

t.test('a Redis that is loading its data is not live', async (t) => {
  const redis = new FakeRedis();
  redis.pingReply = '-LOADING Redis is loading the dataset in memory\r\n';
  t.match(await openLink(t, redis), [/^lost: LOADING/]);
});

t.test('a live link outlives the deadline of its opening, and its health is checked again and again', async (t) => {
  const redis = new FakeRedis();
  const events = await openLink(t, redis);
  for (let round = 1; round <= 3; round++) {
    const { pings } = redis;
    mock.timers.tick(REDIS_HEALTH_CHECK_MS);
    await turnsUntil(() => redis.pings === pings + 2);
    // The replies arrive in later turns.
    for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
  }
  t.ok(3 * REDIS_HEALTH_CHECK_MS > limits.remoteAnswerMsMax);
  t.same(events, ['live']);
});

t.test('a closed connection ends the link at once', async (t) => {
  const redis = new FakeRedis();
  const events = await openLink(t, redis);
  redis.endAll();
  await turnsUntil(() => events.length > 1);
  t.same(events, ['live', 'lost: Redis closed the connection']);
});

t.test('a Redis that falls silent is lost at the next health check', async (t) => {
  const redis = new FakeRedis();
  const events = await openLink(t, redis);
  redis.pingReply = '';
  const { pings } = redis;
  mock.timers.tick(REDIS_HEALTH_CHECK_MS);
  await turnsUntil(() => redis.pings === pings + 2);
  mock.timers.tick(limits.peerAnswerMsMax);
  await turnsUntil(() => events.length > 1);
  t.match(events, ['live', /^lost: /]);
});
