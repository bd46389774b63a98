// What stands between a worker and its Redis may answer anything. Nothing of it may end the process, and no read may
// be answered with it.
import t, { type Test } from 'tap';
import { limits } from '../../src/shared/limits.js';
import { createLogger } from '../../src/shared/logger.js';
import { RedisStore } from '../../src/store/redis-store.js';
import { FakeRedis } from '../support/fake-redis.js';
import { Random } from '../support/random.js';
import { until } from '../support/until.js';

const logger = createLogger('silent', {});
const SEED = 20_261_121;
/** Side by side: many a round is a wait for the rest of a reply. */
const LANES = 6;
const ROUNDS_OF_LANE = 10;

/** A reply of any type, well formed or not. */
function randomReply(random: Random, depth = 0): string {
  const word = (): string =>
    Array.from({ length: random.below(8) }, () => String.fromCharCode(random.below(256))).join('');
  switch (random.below(depth > 3 ? 9 : 12)) {
    case 0:
      return `:${random.below(1_000_000) - 500_000}\r\n`;
    case 1:
      return '$-1\r\n';
    case 2:
      return '*-1\r\n';
    case 3:
      return `+${word().replace(/[\r\n]/g, '')}\r\n`;
    case 4:
      return `-${word().replace(/[\r\n]/g, '')}\r\n`;
    case 5:
      return `$${random.below(40)}\r\n${word()}\r\n`;
    case 6:
      return `${word()}\r\n`;
    case 7:
      return `:${word()}\r\n`;
    case 8:
      return '*0\r\n';
    default: {
      const count = random.below(4);
      return `*${count}\r\n${Array.from({ length: count }, () => randomReply(random, depth + 1)).join('')}`;
    }
  }
}

t.test('a read that is answered with something else than a string fails, and the next one is served', async (t) => {
  const redis = new FakeRedis();
  const store = await RedisStore.open(await redis.start(t), logger);
  t.teardown(() => store.close());
  for (const reply of [':42\r\n', '*0\r\n', '*2\r\n:1\r\n$1\r\na\r\n', '*1\r\n*-1\r\n']) {
    redis.reply = Buffer.from(reply);
    const read = await store.read('alice');
    t.match(read, { kind: 'failed', reason: /something that is no string/ }, JSON.stringify(reply));
    store.forget('alice');
  }
  redis.reply = Buffer.from('$5\r\nhello\r\n');
  const read = await store.read('alice');
  t.equal(read.kind === 'found' && read.value.toString(), 'hello');
});

t.test('replies of every kind, well formed or not: each read ends, and the store heals', async (t) => {
  await Promise.all(Array.from({ length: LANES }, (_, lane) => readReplies(t, new Random(SEED + lane))));
});

async function readReplies(t: Test, random: Random): Promise<void> {
  const redis = new FakeRedis();
  const store = await RedisStore.open(await redis.start(t), logger);
  t.teardown(() => store.close());
  for (let round = 0; round < ROUNDS_OF_LANE; round++) {
    redis.reply = Buffer.from(randomReply(random), 'latin1');
    const read = await store.read(`subject-${round}`);
    t.ok(['missing', 'found', 'failed'].includes(read.kind), JSON.stringify(redis.reply.toString('latin1')));
    redis.reply = Buffer.from('$5\r\nhello\r\n');
    await until(async () => {
      store.forget('alice');
      const healed = await store.read('alice');
      return healed.kind === 'found' && healed.value.toString() === 'hello';
    }, 'the store to heal');
  }
}

t.test('a value keeps nothing of what came with it', async (t) => {
  const redis = new FakeRedis();
  const store = await RedisStore.open(await redis.start(t), logger);
  t.teardown(() => store.close());
  // Longer than what Node.js cuts from a pool of its own.
  const bytes = Buffer.poolSize;
  redis.reply = Buffer.from(`$${bytes}\r\n${'x'.repeat(bytes)}\r\n`);
  const read = await store.read('alice');
  t.equal(read.kind === 'found' && read.value.buffer.byteLength, bytes);
});

t.test('so many reads wait for Redis, and one more is refused', async (t) => {
  const redis = new FakeRedis();
  const store = await RedisStore.open(await redis.start(t), logger);
  t.teardown(() => store.close());
  redis.reply = Buffer.alloc(0);
  for (let count = 0; count < limits.redisReadsInFlightMax; count++) void store.read(`subject-${count}`);
  t.match(store.read('one more'), { kind: 'failed', reason: 'too many reads wait for Redis' });
});

t.test('a read that a flush overtook is not remembered', async (t) => {
  const redis = new FakeRedis();
  const store = await RedisStore.open(await redis.start(t), logger);
  t.teardown(() => store.close());
  redis.reply = Buffer.from('$3\r\nold\r\n');
  await store.read('marker');
  t.notOk(store.read('marker') instanceof Promise);
  redis.reply = Buffer.alloc(0);
  const { gets } = redis;
  const overtaken = store.read('alice');
  await until(() => redis.gets === gets + 1, 'the read');
  redis.flush();
  await until(() => store.read('marker') instanceof Promise, 'the flush');
  await until(() => redis.gets === gets + 2, 'the read of the marker');
  redis.answerAll('$3\r\nold\r\n', 2);
  await overtaken;
  t.ok(store.read('alice') instanceof Promise, 'it is asked for again');
});
