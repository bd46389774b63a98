import { inspect } from 'node:util';
import t from 'tap';
import type { RedisTls } from '../../src/config/table/store-options.js';
import { limits } from '../../src/shared/limits.js';
import { redisRecordKey } from '../../src/store/redis-records.js';
import type { StoreRead } from '../../src/store/store.js';
import { createCertificates } from '../support/certificates.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';
import { open, readAtOnce, readText, textOf, untilLost, untilRead } from './redis-store-scene.js';

const MIB = 1024 * 1024;

t.jobs = 4;

async function untilConnected(lines: readonly string[], times: number): Promise<void> {
  const count = (): number => lines.filter((line) => line.includes('Redis is connected')).length;
  await until(() => count() >= times, `Redis to be connected ${times} times`);
}

async function countGets(redis: RedisServer): Promise<number> {
  const stats = await (await redis.connect()).info('commandstats');
  return Number(/cmdstat_get:calls=(\d+)/.exec(stats)?.[1] ?? 0);
}

t.test('a hit is answered at once, by the same buffer', async (t) => {
  const redis = await startRedis(t);
  await (await redis.connect()).set('alice', 'one');
  const { store } = await open(t, redis.storeOptions);
  const first = store.read('alice');
  t.ok(first instanceof Promise, 'the first read asks Redis');
  const read = await first;
  t.equal(textOf(read), 'one');
  const again = store.read('alice');
  t.equal(again, read);
});

t.test('an oversized value is one subject’s fault: it is not read again until it has changed', async (t) => {
  const redis = await startRedis(t);
  const client = await redis.connect();
  await client.set('alice', Buffer.alloc(limits.redisValueBytesMax + 1, 'a'));
  await client.set('bob', Buffer.alloc(limits.redisValueBytesMax, 'b'));
  await client.set('carol', 'one');
  const { store } = await open(t, redis.storeOptions);
  let reads: readonly StoreRead[] = [];
  await until(async () => {
    reads = await Promise.all(['alice', 'bob', 'carol'].map(async (subject) => store.read(subject)));
    // 64 MiB may take a busy machine longer than a command may take, which is no subject's fault.
    return !reads.some((read) => read.kind === 'failed' && read.isForAll === true);
  }, 'Redis to answer all three in time');
  t.match(reads, [
    { kind: 'failed', reason: `its value in Redis is larger than ${limits.redisValueBytesMax} bytes` },
    { kind: 'found' },
    { kind: 'found' },
  ]);
  const gets = await countGets(redis);
  t.equal(readAtOnce(store, 'alice'), 'failed');
  t.equal(await countGets(redis), gets);
  await client.set('alice', 'two');
  await untilRead(t, store, 'alice', 'two');
});

t.test('simultaneous reads of one subject share one GET', async (t) => {
  const redis = await startRedis(t);
  await (await redis.connect()).set('alice', 'one');
  const { store } = await open(t, redis.storeOptions);
  const reads = await Promise.all(Array.from({ length: 50 }, async () => readText(store, 'alice')));
  t.same(new Set(reads), new Set(['one']));
  t.equal(await countGets(redis), 1);
});

t.test('a change by another client is seen', async (t) => {
  const redis = await startRedis(t);
  const other = await redis.connect();
  const { store } = await open(t, redis.storeOptions);
  t.equal(await readText(store, 'alice'), 'missing');
  t.equal(readAtOnce(store, 'alice'), 'missing', 'what is missing is remembered too');
  await other.set('alice', 'one');
  await untilRead(t, store, 'alice', 'one');
  for (let round = 0; round < 50; round++) {
    await other.set('alice', `round ${round}`);
    await untilRead(t, store, 'alice', `round ${round}`);
    t.equal(readAtOnce(store, 'alice'), `round ${round}`);
  }
  await other.del('alice');
  await untilRead(t, store, 'alice', 'missing');
});

t.test('several keys that change at once are all noticed, and a key with a comma is one key', async (t) => {
  const redis = await startRedis(t);
  const other = await redis.connect();
  const { store } = await open(t, redis.storeOptions);
  const subjects = ['a', 'b', 'a,b', 'é', '😀'];
  for (const subject of subjects) await store.read(subject);
  await other.mset(new Map(subjects.map((subject) => [subject, `new ${subject}`])));
  for (const subject of subjects) await untilRead(t, store, subject, `new ${subject}`);
});

t.test('a change of other keys does not affect a hit', async (t) => {
  const redis = await startRedis(t);
  const other = await redis.connect();
  await other.mset('alice', 'one', 'bob', 'one');
  const { store } = await open(t, redis.storeOptions);
  await store.read('alice');
  await store.read('bob');
  await other.set(Buffer.from([0xff, 0x61]), 'not a subject');
  await other.set('bob', 'two');
  await untilRead(t, store, 'bob', 'two');
  t.equal(readAtOnce(store, 'alice'), 'one');
});

t.test('a flush is seen', async (t) => {
  const redis = await startRedis(t);
  const other = await redis.connect();
  await other.mset('alice', 'one', 'bob', 'one');
  const { store } = await open(t, redis.storeOptions);
  await store.read('alice');
  await store.read('bob');
  await other.flushall();
  await untilRead(t, store, 'alice', 'missing');
  await untilRead(t, store, 'bob', 'missing');
});

t.test('a forgotten value is read again', async (t) => {
  const redis = await startRedis(t);
  const other = await redis.connect();
  const { store } = await open(t, redis.storeOptions);
  for (let round = 0; round < 50; round++) {
    await other.set('alice', `round ${round}`);
    store.forget('alice');
    t.equal(await readText(store, 'alice'), `round ${round}`);
  }
});

t.test('a written value is read here, and by others', async (t) => {
  const redis = await startRedis(t);
  const other = await redis.connect();
  const { store } = await open(t, redis.storeOptions);
  await store.read('alice');
  for (let round = 0; round < 50; round++) {
    await store.write('alice', Buffer.from(`round ${round}`));
    t.equal(await readText(store, 'alice'), `round ${round}`);
  }
  const bytes = Buffer.from([0, 0xff, 0x0d, 0x0a, 0x80]);
  await store.write('é/😀', bytes);
  t.same(await other.getBuffer(Buffer.from('é/😀', 'utf8')), bytes, 'under the subject exactly');
  t.same(await store.read('é/😀'), { kind: 'found', value: bytes });
  await store.write('empty', Buffer.alloc(0));
  t.same(await store.read('empty'), { kind: 'found', value: Buffer.alloc(0) });
  const large = Buffer.alloc(5 * MIB, 'large');
  await store.write('large', large);
  const read = await store.read('large');
  t.ok(read.kind === 'found' && read.value.equals(large));
});

t.test('a change that overtakes the answer of a read is not hidden by it', async (t) => {
  const redis = await startRedis(t);
  const other = await redis.connect();
  await other.set('alice', 'old');
  const proxy = await TcpProxy.start(t, redis.port);
  const { store } = await open(t, { ...redis.storeOptions, location: { host: redis.host, port: proxy.port } });

  const data = proxy.connections.find(({ sent }) => /TRACKING/i.test(sent));
  proxy.hold((connection) => connection === data);
  const overtaken = store.read('alice');
  await until(() => data !== undefined && data.held.length > 0, 'the answer to be on its way');
  await other.set('alice', 'new');
  await until(() => store.read('alice') !== overtaken, 'the change to be heard of');
  proxy.release();

  t.equal(textOf(await overtaken), 'old', 'whoever asked before may get what was there before');
  t.equal(await readText(store, 'alice'), 'new');
  t.equal(readAtOnce(store, 'alice'), 'new');
});

t.test('a command that Redis refuses fails, and affects no other', async (t) => {
  const redis = await startRedis(t);
  const other = await redis.connect();
  await other.rpush('list', 'x');
  await other.set('alice', 'one');
  const { store, lines } = await open(t, redis.storeOptions);
  t.match(await store.read('list'), { kind: 'failed', reason: /refused.*WRONGTYPE/ });
  t.equal(await readText(store, 'alice'), 'one');
  await other.del('list');
  await untilRead(t, store, 'list', 'missing');
  await untilConnected(lines, 1);
});

t.test('a subject without a key is refused both ways', async (t) => {
  const redis = await startRedis(t);
  const { store } = await open(t, redis.storeOptions);
  for (const subject of ['\ud800', '', 'x'.repeat(1_979)]) {
    t.match(store.read(subject), { kind: 'failed', reason: /cannot be encoded/ });
    await t.rejects(store.write(subject, Buffer.from('x')), /cannot be encoded/);
  }
});

/** Subjects that are spelled like the keys of the gateway's own records, or nearly so. */
const likeRecords = ['\udfff', '\udfffservers/a', '\udfffservers/b', '\udfff\ud800', `\udfff${'x'.repeat(1_979)}`];

t.test('no subject reads a record, however it is spelled', async (t) => {
  const redis = await startRedis(t);
  const { store } = await open(t, redis.storeOptions);
  await (await redis.connect()).set(redisRecordKey({ space: 'records', key: 'servers/a' }), 'the record');
  for (const round of ['not read yet', 'read before']) {
    for (const subject of likeRecords) {
      t.match(store.read(subject), { kind: 'failed', reason: /cannot be encoded/ }, `${round}: ${subject.length}`);
      await t.rejects(store.write(subject, Buffer.from('x')), /cannot be encoded/);
    }
    t.equal(textOf(await store.readRecord('servers/a')), 'the record');
  }
  for (const key of ['', '\ud800', 'x'.repeat(1_979)]) {
    t.match(await store.readRecord(key), { kind: 'failed', reason: /cannot be encoded/ });
  }
});

t.test('when Redis dies, cached values serve, other reads fail, and all heals', async (t) => {
  const redis = await startRedis(t);
  await (await redis.connect()).set('alice', 'one');
  const { store, lines } = await open(t, redis.storeOptions);
  const before = await store.read('alice');
  await store.read('bob');
  t.equal(store.kept?.('alice'), undefined, 'it is current');
  await redis.kill();
  await untilLost(lines);

  t.equal(readAtOnce(store, 'alice'), 'one');
  t.match(store.kept?.('alice'), { readAt: /^\d{4}-\d\d-\d\dT/ }, 'it is one that was kept');
  t.equal(store.kept?.('carol'), undefined);
  t.equal(readAtOnce(store, 'bob'), 'missing');
  t.match(store.read('carol'), { kind: 'failed', reason: /not reachable/ });
  await t.rejects(store.write('alice', Buffer.from('x')), /cannot be reached/);

  await redis.start();
  await untilConnected(lines, 2);
  const healed = store.read('alice');
  t.ok(healed instanceof Promise, 'nothing read before is fresh');
  t.equal((await healed) === before, true, 'but what did not change keeps its identity');
  const other = await redis.connect();
  await other.set('alice', 'two');
  await untilRead(t, store, 'alice', 'two');
  await other.set('alice', 'three');
  await untilRead(t, store, 'alice', 'three');
});

t.test('cached values serve no longer than the grace', async (t) => {
  const redis = await startRedis(t);
  await (await redis.connect()).set('alice', 'one');
  const staleGraceMs = 400;
  const { store, lines } = await open(t, { ...redis.storeOptions, staleGraceMs });
  await store.read('alice');
  const killedAtMs = performance.now();
  await redis.kill();
  await untilLost(lines);
  await until(() => readAtOnce(store, 'alice') === 'failed', 'the grace to be over');
  t.ok(performance.now() - killedAtMs >= staleGraceMs);
  await redis.start();
  await untilRead(t, store, 'alice', 'one');
});

t.test('each read is counted by where its answer came from', async (t) => {
  const redis = await startRedis(t);
  await (await redis.connect()).set('alice', 'one');
  const { store, lines, counts } = await open(t, redis.storeOptions);
  await store.read('alice');
  for (let reads = 0; reads < 2; reads += 1) t.equal(readAtOnce(store, 'alice'), 'one');
  await redis.kill();
  await untilLost(lines);
  for (let reads = 0; reads < 3; reads += 1) t.equal(readAtOnce(store, 'alice'), 'one');
  for (let reads = 0; reads < 4; reads += 1) t.equal(readAtOnce(store, 'bob'), 'failed');
  t.same(counts.reads, { asked: 1, remembered: 2, stale: 3, failed: 4 });
});

t.test('without a grace, cached values do not serve at all', async (t) => {
  const redis = await startRedis(t);
  const { store, lines } = await open(t, { ...redis.storeOptions, staleGraceMs: 0 });
  await store.read('alice');
  await redis.kill();
  await untilLost(lines);
  t.equal(readAtOnce(store, 'alice'), 'failed');
});

for (const type of ['pubsub', 'normal'] as const) {
  t.test(`the loss of the ${type} connection alone is the loss of both`, async (t) => {
    const redis = await startRedis(t);
    const other = await redis.connect();
    await other.set('alice', 'one');
    const { store, lines } = await open(t, redis.storeOptions);
    await store.read('alice');
    await other.call('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes');
    await other.set('alice', 'two');
    await untilConnected(lines, 2);
    t.equal(await readText(store, 'alice'), 'two', 'the change that was not heard of');
    await other.set('alice', 'three');
    await untilRead(t, store, 'alice', 'three');
    t.match(await other.call('CLIENT', 'LIST', 'TYPE', 'pubsub'), /^id=.*\n$/, 'one pair of connections is left');
  });
}

t.test('a store can be opened before its Redis is reachable', async (t) => {
  const redis = await startRedis(t);
  await redis.stop();
  const { store, lines } = await open(t, redis.storeOptions);
  t.match(store.read('alice'), { kind: 'failed', reason: /not reachable/ });
  await t.rejects(store.write('alice', Buffer.from('x')), /cannot be reached/);
  t.match(lines.join(''), /cannot be connected to/);
  await redis.start();
  await untilRead(t, store, 'alice', 'missing');
  await store.write('alice', Buffer.from('one'));
  t.equal(await readText(store, 'alice'), 'one');
});

for (const mode of ['tls', 'mtls'] as const) {
  t.test(`over ${mode}`, async (t) => {
    const redis = await startRedis(t, { tls: { mode, certificates: createCertificates(t) } });
    const other = await redis.connect();
    const { store } = await open(t, { ...redis.storeOptions, location: { host: 'localhost', port: redis.port } });
    // On a busy machine the first connection, the first write or the first read may be given up.
    const tryWrite = async (): Promise<boolean> =>
      store.write('alice', Buffer.from('one')).then(
        () => true,
        () => false,
      );
    await until(tryWrite, 'a write');
    await untilRead(t, store, 'alice', 'one');
    await other.set('alice', 'two');
    await untilRead(t, store, 'alice', 'two');
  });
}

t.test('an untrusted server or client is refused', async (t) => {
  const redis = await startRedis(t, { tls: { mode: 'mtls', certificates: createCertificates(t) } });
  const own = redis.storeOptions.tls;
  if (own.mode === 'plain-text') throw new Error('not over TLS');
  const stranger = createCertificates(t);
  const { certificate: clientCertificate, privateKey: clientPrivateKey } = stranger.client;
  const wrong: readonly (readonly [what: string, tls: RedisTls, reason: RegExp])[] = [
    ['another authority', { ...own, trustBundle: stranger.authority.certificate }, /certificate/],
    ['the authorities of the system', { ...own, trustBundle: undefined }, /certificate/],
    // With TLS 1.3 the refusal comes after the handshake, and a reset may arrive before its message.
    [
      'no client certificate',
      { ...own, clientCertificate: undefined, clientPrivateKey: undefined },
      /certificate|RESET/,
    ],
    [
      'a client certificate of a stranger',
      { ...own, clientCertificate, clientPrivateKey },
      /refuses the client certificate|closed|RESET/i,
    ],
    ['plain text', { mode: 'plain-text' }, /closed|RESET/i],
  ];
  // Each several times: a refused TLS socket sometimes has a second error, which must not end the process.
  for (const [what, tls, reason] of [...wrong, ...wrong, ...wrong, ...wrong]) {
    const { store, lines } = await open(t, { ...redis.storeOptions, tls });
    t.equal(readAtOnce(store, 'alice'), 'failed', what);
    t.match(lines.join(''), /cannot be connected to/, what);
    t.match(lines.join(''), reason, what);
    await store.close();
  }
  const { store } = await open(t, redis.storeOptions);
  t.equal(await readText(store, 'alice'), 'missing', 'while the right ones are let in');
});

t.test('a certificate for another host is refused', async (t) => {
  const certificates = createCertificates(t, 'DNS:elsewhere.example');
  const redis = await startRedis(t, { tls: { mode: 'tls', certificates } });
  const { store, lines } = await open(t, redis.storeOptions);
  t.equal(readAtOnce(store, 'alice'), 'failed');
  t.match(lines.join(''), /does not match certificate/);
});

t.test('an ACL user with only the rights that the gateway uses suffices', async (t) => {
  const password = 'a-secret-that-no-log-may-hold';
  const rights = '+get +set +ping +subscribe +client|id +client|tracking';
  const redis = await startRedis(t, { users: [`gateway on >${password} ~* &__redis__:invalidate ${rights}`] });
  const other = await redis.connect();
  const { store, lines } = await open(t, { ...redis.storeOptions, username: 'gateway', password });
  await store.write('alice', Buffer.from('one'));
  t.equal(await readText(store, 'alice'), 'one');
  await other.set('alice', 'two');
  await untilRead(t, store, 'alice', 'two');

  const wrong = await open(t, { ...redis.storeOptions, username: 'gateway', password: `${password}-not` });
  t.equal(readAtOnce(wrong.store, 'alice'), 'failed');
  t.match(wrong.lines.join(''), /WRONGPASS/);
  t.notMatch([...lines, ...wrong.lines].join(''), password);
});

t.test('a user without write access is told so, without the value that it would have written', async (t) => {
  const rights = '+get +ping +subscribe +client|id +client|tracking';
  const redis = await startRedis(t, { users: [`reader on nopass ~* &__redis__:invalidate ${rights}`] });
  const { store } = await open(t, { ...redis.storeOptions, username: 'reader', password: 'any' });
  const error: unknown = await store.write('alice', Buffer.from('a-secret')).catch((error: unknown) => error);
  t.match(error, { message: /did not carry out the command: NOPERM/ });
  t.notMatch(inspect(error, { depth: null }), /args|Buffer|a-secret/);
  t.equal(await readText(store, 'alice'), 'missing', 'reads go on');
});

t.test('a closed store reports that it failed, and stays closed', async (t) => {
  const redis = await startRedis(t);
  const { store } = await open(t, redis.storeOptions);
  await store.write('alice', Buffer.from('one'));
  await store.read('alice');
  await store.close();
  t.equal(readAtOnce(store, 'alice'), 'failed');
  await t.rejects(store.write('alice', Buffer.from('two')), /cannot be reached/);
  const other = await redis.connect();
  await until(async () => (await other.call('CLIENT', 'LIST', 'TYPE', 'pubsub')) === '', 'its connections to end');
});
