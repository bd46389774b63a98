import { pino } from 'pino';
import t, { type Test } from 'tap';
import { openStore } from '../../src/store/open-store.js';
import { RecordStoreFault, type RecordChange, type RecordKey } from '../../src/store/record-store.js';
import type { RedisStoreOptions } from '../../src/store/redis-connection.js';
import { RedisRecords } from '../../src/store/redis-records.js';
import { limits } from '../../src/shared/limits.js';
import { createCertificates } from '../support/certificates.js';
import { hasten } from '../support/hasten.js';
import { startRedis } from '../support/redis.js';
import { until } from '../support/until.js';

const silent = pino({ level: 'silent' });
const ALICE = { space: 'user-configs', key: 'alice' } as const;
const PLACE = { space: 'records', key: 'place' } as const;

t.jobs = 4;

async function open(t: Test, options: RedisStoreOptions): Promise<RedisRecords> {
  const records = await RedisRecords.open(options, silent);
  t.teardown(() => records.close());
  return records;
}

function change(key: RecordKey, expected: string | undefined, value: string | undefined): RecordChange {
  const bytesOf = (text: string | undefined): Buffer | undefined =>
    text === undefined ? undefined : Buffer.from(text);
  return { ...key, expected: bytesOf(expected), value: bytesOf(value) };
}

t.test('the dataplane notices the swap of a user config that it has cached', async (t) => {
  const redis = await startRedis(t);
  const records = await open(t, redis.storeOptions);
  const dataplane = await openStore(redis.storeOptions, silent);
  t.teardown(() => dataplane.close());
  const remembered = (): string | undefined => {
    const read = dataplane.read('alice');
    if (read instanceof Promise) return undefined;
    return read.kind === 'found' ? read.value.toString() : read.kind;
  };
  await dataplane.read('alice');
  t.equal(remembered(), 'missing');
  await records.swap([change(ALICE, undefined, 'one')]);
  await until(() => remembered() === 'one', 'the first config');
  await records.swap([change(ALICE, 'one', 'two')]);
  await until(() => remembered() === 'two', 'the second config');
  t.equal(await records.swap([change(ALICE, 'one', 'three')]), false);
  t.equal(remembered(), 'two', 'a refused swap changes nothing');
  await records.swap([change(ALICE, 'two', undefined)]);
  await until(() => remembered() === 'missing', 'the end of the config');
  t.pass('all three were heard of');
});

t.test('the records collide with no subject, and are in one slot of a cluster', async (t) => {
  const redis = await startRedis(t);
  const records = await open(t, redis.storeOptions);
  await records.swap([{ ...change(PLACE, undefined, 'x'), isLogged: true }]);
  await records.swap([change(ALICE, undefined, 'y'), change({ ...ALICE, space: 'publications' }, undefined, 'z')]);
  const keys = await (await redis.connect()).keysBuffer('*');
  t.same(
    keys.map((key) => key.toString('latin1')).sort(),
    [
      'alice',
      '\xff{alice}published/alice',
      ...['changes', 'epoch', 'keys/', 'position', 'record/place'].map((name) => `\xff{switchyard}${name}`),
    ].sort(),
  );
});

t.test('over TLS with client certificates, the documented rights of a Redis user suffice', async (t) => {
  const certificates = createCertificates(t);
  const rights = '+eval +get +mget +set +del +exists +incr +zadd +zrem +zrangebylex +xadd +xlen +xrange +ping';
  const redis = await startRedis(t, {
    tls: { mode: 'mtls', certificates },
    users: [`gateway on >secret ~* ${rights}`, 'reader on >secret ~* +ping +get +exists +eval'],
  });
  const as = (username: string): RedisStoreOptions => ({ ...redis.storeOptions, username, password: 'secret' });
  const records = await open(t, as('gateway'));
  for (const key of [ALICE, PLACE]) {
    t.equal(await records.swap([{ ...change(key, undefined, 'one'), isLogged: key === PLACE }]), true);
    t.equal(await records.swap([{ ...change(key, 'one', undefined), isLogged: key === PLACE }]), true);
  }
  t.same(await records.listKeys('p/', '', 1), []);
  t.same(await records.readMany(['p/1']), [undefined]);
  await records.readChanges((await records.readChanges('')).position);
  t.equal(await records.ping(), true);

  const reader = await open(t, as('reader'));
  await t.rejects(reader.swap([change(ALICE, undefined, 'one')]), RecordStoreFault, 'refused, not false');
  t.equal(await reader.read(ALICE), undefined, 'and the connection lives on');
});

t.test('a Redis that is unreachable when the store is opened is found later', async (t) => {
  const redis = await startRedis(t);
  await redis.stop();
  const records = await open(t, redis.storeOptions);
  t.equal(await records.ping(), false);
  await t.rejects(records.read(PLACE), { name: 'RecordStoreFault', message: /cannot be reached/ });
  await redis.start();
  await until(() => records.ping(), 'Redis to be found');
  t.equal(await records.swap([change(PLACE, undefined, 'x')]), true);
});

t.test('a Redis that comes back is used again, with the data that it kept', async (t) => {
  const redis = await startRedis(t);
  const records = await open(t, redis.storeOptions);
  await records.swap([change(PLACE, undefined, 'kept')]);
  await redis.restart();
  await until(() => records.ping(), 'Redis to be back');
  t.equal((await records.read(PLACE))?.toString(), 'kept');
});

t.test('requests to a silent Redis fail, and it is used again when it wakes up', async (t) => {
  const redis = await startRedis(t);
  const records = await open(t, redis.storeOptions);
  redis.pause();
  // Only its own command: the other tests go on meanwhile.
  const restore = hasten(limits.peerAnswerMsMax, 100);
  const reading = records.read(PLACE);
  restore();
  await t.rejects(reading, RecordStoreFault);
  redis.resume();
  await until(() => records.ping(), 'Redis to wake up');
  t.equal(await records.read(PLACE), undefined);
});

t.test('a key of another kind under a subject is a fault, and stays what it is', async (t) => {
  const redis = await startRedis(t);
  const other = await redis.connect();
  await other.rpush('alice', 'list');
  const records = await open(t, redis.storeOptions);
  await t.rejects(records.read(ALICE), RecordStoreFault);
  const publication = { ...ALICE, space: 'publications' } as const;
  await t.rejects(records.swap([change(publication, undefined, 'x'), change(ALICE, undefined, 'y')]), RecordStoreFault);
  t.equal(await records.read(publication), undefined, 'nothing else was written either');
  t.equal(await other.type('alice'), 'list');
});
