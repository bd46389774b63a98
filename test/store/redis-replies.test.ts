// Whatever stands between a worker and its Redis may reply anything. No reply may end the process, and no read may be answered with a
// wrong value.
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { mock } from 'node:test';
import t, { type Test } from 'tap';
import { Backoff } from '../../src/shared/backoff.js';
import { limits } from '../../src/shared/limits.js';
import { createLogger } from '../../src/shared/logger.js';
import { findShards, redisSlotOf, SLOT_COUNT } from '../../src/store/redis-location.js';
import { RedisStore } from '../../src/store/redis-store.js';
import { FakeRedis, slotsIn } from '../support/fake-redis.js';
import { hasten } from '../support/hasten.js';
import { logInto } from '../support/log-lines.js';
import { Random } from '../support/random.js';
import { until } from '../support/until.js';
import { open, readText } from './redis-store-scene.js';

const logger = createLogger('silent', {});
const SEED = 20_261_121;
/** Rounds run in parallel, because many only wait for the rest of a reply. */
const LANES = 60;
const ROUNDS_OF_LANE = 1;

// Links are lost all the time here: the next is not waited for.
const backoff = mock.method(Backoff.prototype, 'nextDelayMsWithJitter', () => 1);
t.teardown(() => backoff.mock.restore());
/** How long the rest of a reply that never comes is waited for, where a healthy reply may take longer. */
const COMMAND_MS_MAX = 200;

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

t.test('a read whose reply is not a string fails, and so do the reads after it', async (t) => {
  for (const reply of [':42\r\n', '*0\r\n', '*2\r\n:1\r\n$1\r\na\r\n', '*1\r\n*-1\r\n']) {
    const redis = new FakeRedis();
    const store = await RedisStore.open(await redis.start(t), logger);
    t.teardown(() => store.close());
    redis.reply = Buffer.alloc(0);
    const reads = [store.read('alice'), store.read('bob'), store.read('carol')];
    await until(() => redis.gets === reads.length, 'the reads');
    // An unsolicited reply comes first, so that alice's value could be taken for bob's.
    redis.answerAll(`${reply}$7\r\nalice-s\r\n`, 1);
    for (const read of reads) t.match(await read, { kind: 'failed' }, JSON.stringify(reply));
    redis.reply = Buffer.from('$5\r\nhello\r\n');
    await until(async () => {
      const read = await store.read('alice');
      return read.kind === 'found' && read.value.toString() === 'hello';
    }, 'another link');
  }
});

t.test('a write whose reply comes with an impossible one before it is not taken for made', async (t) => {
  const redis = new FakeRedis();
  const store = await RedisStore.open(await redis.start(t), logger);
  t.teardown(() => store.close());
  redis.reply = Buffer.from(':42\r\n');
  const [read, written] = await Promise.allSettled([store.read('alice'), store.write('bob', Buffer.from('b'))]);
  t.match(read, { value: { kind: 'failed' } });
  t.match(written, { reason: { name: 'RecordStoreFault' } });
});

t.test('after replies of every kind, well formed or not, each read ends, and the store heals', async (t) => {
  t.teardown(hasten(limits.peerAnswerMsMax, COMMAND_MS_MAX));
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

/** Replies that ioredis has no command for, allocates too much memory for, or cannot parse. */
const STRAY = [
  '$-1\r\n',
  '*-1\r\n',
  '*0\r\n',
  ':1\r\n',
  '+OK\r\n',
  '-ERR x\r\n',
  '*1\r\n$-1\r\n',
  '*2\r\n*0\r\n:1\r\n',
];
const CHANGES = [
  ...STRAY,
  '*1\r\n$9\r\nsubscribe\r\n',
  '*3\r\n$9\r\nsubscribe\r\n$-1\r\n:1\r\n',
  '*2\r\n$8\r\npmessage\r\n$-1\r\n',
  '*1\r\n$7\r\nmessage\r\n',
  '*3\r\n$7\r\nmessage\r\n$-1\r\n*2\r\n:1\r\n*0\r\n',
  '*3\r\n$11\r\nunsubscribe\r\n$-1\r\n$-1\r\n',
  '*3\r\n$12\r\nsunsubscribe\r\n$1\r\na\r\n:0\r\n',
];
const NO_REPLIES = ['*x\r\n', '%3\r\n', '(1\r\n', '@\r\n', 'HTTP/1.1 400 Bad Request\r\n\r\n'];

/** Plays a reply to a separate store, and waits until a read gets the right answer. */
async function checkHealing(
  t: Test,
  reply: string,
  play: (redis: FakeRedis, store: RedisStore) => unknown,
): Promise<void> {
  const redis = new FakeRedis();
  const store = await RedisStore.open(await redis.start(t), logger);
  t.teardown(() => store.close());
  await play(redis, store);
  redis.reply = Buffer.from('$5\r\nhello\r\n');
  let reads = 0;
  await until(
    async () => {
      const read = await store.read(`healed-${(reads += 1)}`);
      return read.kind === 'found' && read.value.toString() === 'hello';
    },
    `the store to heal from ${JSON.stringify(reply.slice(0, 100))}`,
  );
}

t.test('what nobody has asked for ends a link at most', async (t) => {
  t.teardown(hasten(limits.peerAnswerMsMax, COMMAND_MS_MAX));
  const said = {
    data: [...STRAY, ...NO_REPLIES],
    changes: [...CHANGES, ...NO_REPLIES],
  };
  for (const where of ['data', 'changes'] as const)
    await Promise.all(said[where].map((reply) => checkHealing(t, reply, (redis) => redis.say(where, reply))));
  t.pass('the process lives');
});

t.test('an invalid reply to a read ends the link at most, and the read', async (t) => {
  t.teardown(hasten(limits.peerAnswerMsMax, COMMAND_MS_MAX));
  const check = async (reply: string): Promise<void> =>
    checkHealing(t, reply, async (redis, store) => {
      redis.reply = Buffer.from(reply);
      t.equal((await store.read('somebody')).kind, 'failed', reply.slice(0, 100));
    });
  await Promise.all(NO_REPLIES.map(check));
});

t.test('an invalid reply to the subscription leaves the store not ready', async (t) => {
  const check = async (reply: string): Promise<void> =>
    checkHealing(t, reply, async (redis) => {
      const { subscribeReply, subscriptions } = redis;
      redis.subscribeReply = reply;
      redis.endAll();
      await until(() => redis.subscriptions > subscriptions, 'another link');
      redis.subscribeReply = subscribeReply;
      redis.endAll();
    });
  await Promise.all([':1\r\n', '$-1\r\n', '*0\r\n', '+OK\r\n', ...NO_REPLIES].map(check));
});

t.test('an unsolicited reply appears in no log, and ends the trust in cached values', async (t) => {
  for (const [said, known] of [
    ['$6\r\nsecret\r\n', 'failed'],
    ['@secret\r\n', 'failed'],
    ['', 'found'],
  ] as const) {
    const redis = new FakeRedis();
    const lines: string[] = [];
    const store = await RedisStore.open({ ...(await redis.start(t)), staleGraceMs: 60_000 }, logInto(lines));
    t.teardown(() => store.close());
    redis.reply = Buffer.from('$5\r\nhello\r\n');
    t.match(await store.read('alice'), { kind: 'found' });
    redis.pingReply = '';
    if (said === '') redis.endAll();
    else redis.say('data', said);
    await until(() => lines.some((line) => line.includes('Redis is lost')), 'the loss');
    t.match(await store.read('alice'), { kind: known }, JSON.stringify(said));
    t.notMatch(lines.join(''), 'secret');
  }
});

t.test('alternating faults are not logged at each try', async (t) => {
  let tries = 0;
  const server = createServer((socket) => {
    socket.on('error', () => {});
    tries += 1;
    if (tries % 4 < 2) socket.destroy();
    else socket.end('@1\r\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const lines: string[] = [];
  const options = await new FakeRedis().start(t);
  const store = await RedisStore.open({ ...options, location: { host: '127.0.0.1', port } }, logInto(lines));
  t.teardown(() => store.close());
  await until(() => tries >= 16, 'eight tries, with two connections each');
  const reasons = lines.map((line) => (JSON.parse(line) as { reason?: unknown }).reason);
  t.ok(new Set(reasons).size > 1, 'of more kinds than one');
  t.equal(reasons.length, new Set(reasons).size, 'each once');
});

t.test('a value keeps none of the memory that it arrived in', async (t) => {
  const redis = new FakeRedis();
  const store = await RedisStore.open(await redis.start(t), logger);
  t.teardown(() => store.close());
  // Longer than the buffers that Node.js allocates from its pool.
  const bytes = Buffer.poolSize;
  redis.reply = Buffer.from(`$${bytes}\r\n${'x'.repeat(bytes)}\r\n`);
  const read = await store.read('alice');
  t.equal(read.kind === 'found' && read.value.buffer.byteLength, bytes);
});

t.test('the number of reads that wait for Redis is bounded, and one more is refused', async (t) => {
  const redis = new FakeRedis();
  const store = await RedisStore.open(await redis.start(t), logger);
  t.teardown(() => store.close());
  redis.reply = Buffer.alloc(0);
  for (let count = 0; count < limits.waitingMax; count++) void store.read(`subject-${count}`);
  t.match(store.read('one more'), { kind: 'failed', reason: 'too many reads wait for Redis' });
  redis.answerAll('$-1\r\n', limits.waitingMax);
});

t.test('a read that a flush overtook is not cached', async (t) => {
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

t.test('a read in flight when Redis is lost gets what was known, and operators are told until when', async (t) => {
  const redis = new FakeRedis();
  const said: (string | undefined)[] = [];
  const options = { ...(await redis.start(t)), staleGraceMs: 60_000 };
  const store = await RedisStore.open(options, logger, (_obstacle, staleness) => void said.push(staleness));
  t.teardown(() => store.close());
  redis.reply = Buffer.from('$5\r\nhello\r\n');
  const known = await store.read('alice');
  t.match(known, { kind: 'found' });
  redis.reply = Buffer.alloc(0);
  redis.endAll();
  // Over the next link it is asked for again.
  let read = store.read('alice');
  await until(() => (read = store.read('alice')) instanceof Promise, 'the next link');
  await until(() => redis.gets === 2, 'the read');
  redis.endAll();
  t.equal(await read, known);
  t.match(said.join('\n'), /known user configs are used until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/);
});

t.test('a cluster that names slots that do not exist is not used', async (t) => {
  const redis = new FakeRedis();
  const options = await redis.start(t);
  const { host, port } = options.location as { readonly host: string; readonly port: number };
  const node = `*2\r\n$${host.length}\r\n${host}\r\n:${port}\r\n`;
  for (const [first, last] of [
    [0, 16_384],
    [-1, 16_383],
  ]) {
    redis.slotsReply = `*1\r\n*3\r\n:${first}\r\n:${last}\r\n${node}`;
    const lines: string[] = [];
    const store = await RedisStore.open({ ...options, location: { nodes: [{ host, port }] } }, logInto(lines));
    await store.close();
    t.match(lines.join(''), /it names slots that do not exist/, `${first} to ${last}`);
  }
});

t.test('the nodes of a cluster are where it says, or where it was asked if it names no host', async (t) => {
  const redis = new FakeRedis();
  const options = await redis.start(t);
  const { host, port } = options.location as { readonly host: string; readonly port: number };
  redis.slotsReply = slotsIn([0, 1, null, 1], [2, 3, '', 2], [4, 5, 'other.example', 3]);
  const shards = await findShards({ ...options, location: { nodes: [{ host, port }] } });
  t.same(
    shards.map(({ address }) => address),
    [
      { host, port: 1 },
      { host, port: 2 },
      { host: 'other.example', port: 3 },
    ],
  );
});

t.test('a key whose slot has moved, or is just being moved, is read at the node where it is', async (t) => {
  for (const kind of ['MOVED', 'ASK']) {
    const [before, now] = [new FakeRedis(), new FakeRedis()];
    const options = await before.start(t);
    const { host, port } = options.location as { readonly host: string; readonly port: number };
    const { port: portNow } = (await now.start(t)).location as { readonly port: number };
    const slot = redisSlotOf(Buffer.from('alice'));
    const elsewhere = (slot + 1) % SLOT_COUNT;
    before.slotsReply = slotsIn([0, SLOT_COUNT - 1, host, port], [elsewhere, elsewhere, host, portNow]);
    before.reply = Buffer.from(`-${kind} ${slot} ${host}:${portNow}\r\n`);
    now.reply = Buffer.from('$3\r\none\r\n');
    const { store } = await open(t, { ...options, location: { nodes: [{ host, port }] } });
    t.equal(await readText(store, 'alice'), 'one', kind);
    t.same([before.gets, now.gets], [1, 1]);
    now.reply = Buffer.from('-ERR no\r\n');
    t.equal(await readText(store, 'bob'), 'failed', 'another error is one');
  }
});
