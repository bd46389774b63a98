// What both record stores promise, on a real LMDB and a real Redis.
import { pino } from 'pino';
import t, { type Test } from 'tap';
import type { StoreOptions } from '../../src/config/table/store-options.js';

import { openRecordStore, openStore } from '../../src/store/open-store.js';
import {
  RecordStoreFault,
  type RecordChange,
  type RecordKey,
  type RecordStore,
  RECORD_CHANGES_KEPT,
  RECORDS_AT_ONCE_MAX,
} from '../../src/store/record-store.js';
import { countUp, COUNTER } from '../support/record-counter.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { recordsUnder } from '../support/stored-records.js';

const silent = pino({ level: 'silent' });

/** Each entry starts what its tests share, and returns a function that gives each test an empty store. */
const stores: Readonly<Record<string, (t: Test) => Promise<(t: Test) => Promise<StoreOptions>>>> = {
  embedded: async () => async (t) => ({ kind: 'embedded', path: createScratchDirectory(t) }),
  redis: async (t) => emptied(await startRedis(t)),
  'a cluster of Redis': async (t) => {
    const redis = await startRedis(t, { isCluster: true });
    return emptied(redis, { nodes: [{ host: redis.host, port: redis.port }] });
  },
};

function emptied(redis: RedisServer, location = redis.storeOptions.location): () => Promise<StoreOptions> {
  return async () => {
    await (await redis.connect()).flushall();
    return { ...redis.storeOptions, location };
  };
}

async function open(t: Test, options: StoreOptions): Promise<RecordStore> {
  const records = await openRecordStore(options, silent);
  t.teardown(() => records.close());
  return records;
}

function record(key: string): RecordKey {
  return { space: 'records', key };
}

function userConfig(key: string): RecordKey {
  return { space: 'user-configs', key };
}

function change(key: RecordKey, expected: string | undefined, value: string | undefined): RecordChange {
  const bytesOf = (text: string | undefined): Buffer | undefined =>
    text === undefined ? undefined : Buffer.from(text);
  return { ...key, expected: bytesOf(expected), value: bytesOf(value) };
}

async function textAt(records: RecordStore, key: RecordKey): Promise<string | undefined> {
  return (await records.read(key))?.toString();
}

for (const [kind, start] of Object.entries(stores)) {
  t.test(kind, async (t) => {
    const optionsOf = await start(t);
    t.test('a swap writes, changes and removes what it expects to find', async (t) => {
      const records = await open(t, await optionsOf(t));
      t.equal(records.kind, kind === 'embedded' ? 'embedded' : 'redis');
      for (const key of [record('a'), userConfig('a')]) {
        t.equal(await records.read(key), undefined);
        t.equal(await records.swap([change(key, undefined, 'one')]), true);
        t.equal(await textAt(records, key), 'one');
        t.equal(await records.swap([change(key, undefined, 'two')]), false, 'something is there');
        t.equal(await records.swap([change(key, 'zero', 'two')]), false, 'something else is there');
        t.equal(await textAt(records, key), 'one');
        t.equal(await records.swap([change(key, 'one', 'two')]), true);
        t.equal(await records.swap([change(key, 'one', undefined)]), false);
        t.equal(await records.swap([change(key, 'two', undefined)]), true);
        t.equal(await records.read(key), undefined);
        t.equal(await records.swap([change(key, 'two', 'three')]), false, 'nothing is there');
        t.equal(await records.read(key), undefined);
      }
    });

    t.test('several changes in one swap are all made or none', async (t) => {
      const records = await open(t, await optionsOf(t));
      t.equal(
        await records.swap([change(record('name'), undefined, 'id'), change(record('id'), undefined, 'server')]),
        true,
      );
      t.equal(
        await records.swap([
          change(record('new'), undefined, 'x'),
          change(record('name'), 'id', undefined),
          change(record('id'), 'server', 'changed'),
          change(record('other'), 'stale', 'changed'),
        ]),
        false,
      );
      t.equal(await records.read(record('new')), undefined);
      t.equal(await textAt(records, record('name')), 'id');
      t.equal(await textAt(records, record('id')), 'server');
    });

    t.test('a subject’s config and its publication record change together', async (t) => {
      const records = await open(t, await optionsOf(t));
      for (const subject of ['alice', 'a}b', 'a{b}c', '{}', '{', '}{x}', 'é😀', 'x'.repeat(1_978)]) {
        const [config, publication] = [userConfig(subject), { space: 'publications', key: subject } as const];
        const first = [change(config, undefined, 'config'), change(publication, undefined, 'ours')];
        t.equal(await records.swap(first), true, subject.slice(0, 20));
        t.equal(await records.swap([change(config, 'config', 'new'), change(publication, 'theirs', 'new')]), false);
        t.equal(await textAt(records, config), 'config');
        t.equal(await textAt(records, publication), 'ours');
        t.equal(await records.swap([change(config, 'config', 'new'), change(publication, 'ours', undefined)]), true);
        t.equal(await records.read(publication), undefined);
      }
    });

    t.test('keys that a cluster would not keep in one slot are not swapped together', async (t) => {
      const records = await open(t, await optionsOf(t));
      const mixed = [change(record('a'), undefined, 'x'), change(userConfig('a'), undefined, 'x')];
      await t.rejects(records.swap(mixed), /all of records, or all of one subject/);
      const two = [change(userConfig('a'), undefined, 'x'), change(userConfig('b'), undefined, 'x')];
      await t.rejects(records.swap(two), /all of one subject/);
    });

    t.test('announced changes are read from any earlier position on', async (t) => {
      const options = await optionsOf(t);
      const [records, other] = [await open(t, options), await open(t, options)];
      const start = await records.readChanges('');
      t.equal(start.keys, 'unknown');
      t.same((await other.readChanges(start.position)).keys, [], 'nothing so far');
      await records.swap([{ ...change(record('servers/a'), undefined, '1'), isLogged: true }]);
      await records.swap([change(record('servers/b'), undefined, '1')]);
      await other.swap([
        { ...change(record('servers/c'), undefined, '1'), isLogged: true },
        { ...change(record('servers/a'), '1', undefined), isLogged: true },
      ]);
      await other.swap([{ ...change(record('servers/c'), 'wrong', '2'), isLogged: true }]);
      const next = await other.readChanges(start.position);
      t.same(next.keys, ['servers/a', 'servers/c', 'servers/a']);
      t.same((await records.readChanges(next.position)).keys, []);
      t.equal((await records.readChanges('made up')).keys, 'unknown');
    });

    t.test('a reader that has missed more than is kept is told to read everything', async (t) => {
      const records = await open(t, await optionsOf(t));
      const { position } = await records.readChanges('');
      const told = Array.from({ length: RECORD_CHANGES_KEPT + 1 }, (_, count) => ({
        ...change(record(`servers/${count}`), undefined, 'x'),
        isLogged: true,
      }));
      t.ok(await records.swap(told.slice(0, -1)));
      t.equal((await records.readChanges(position)).keys.length, RECORD_CHANGES_KEPT, 'so many are kept');
      t.ok(await records.swap(told.slice(-1)));
      const after = await records.readChanges(position);
      t.equal(after.keys, 'unknown');
      t.same((await records.readChanges(after.position)).keys, []);
    });

    t.test('an expectation without a change can be part of a swap', async (t) => {
      const records = await open(t, await optionsOf(t));
      await records.swap([change(record('guard'), undefined, 'here')]);
      const guard = change(record('guard'), 'here', 'here');
      t.equal(await records.swap([guard, change(record('b'), undefined, 'two')]), true);
      t.equal(await textAt(records, record('guard')), 'here');
      t.equal(await textAt(records, record('b')), 'two');
    });

    t.test('an empty value is not a missing one', async (t) => {
      const records = await open(t, await optionsOf(t));
      for (const key of [record('empty'), userConfig('empty')]) {
        t.equal(await records.swap([change(key, undefined, '')]), true);
        t.same(await records.read(key), Buffer.alloc(0));
        t.equal(await records.swap([change(key, undefined, 'x')]), false);
        t.equal(await records.swap([change(key, '', 'x')]), true);
      }
    });

    t.test('values of any bytes and size come back whole, and are compared whole', async (t) => {
      const records = await open(t, await optionsOf(t));
      const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
      const large = Buffer.alloc(5_000_000, bytes);
      const almost = Buffer.from(large);
      almost[almost.length - 1] = 0;
      for (const key of [record('bytes'), userConfig('bytes')]) {
        t.equal(await records.swap([{ ...key, expected: undefined, value: bytes }]), true);
        t.equal(await records.swap([{ ...key, expected: bytes, value: large }]), true);
        t.ok((await records.read(key))?.equals(large));
        t.equal(await records.swap([{ ...key, expected: almost, value: bytes }]), false);
        t.equal(await records.swap([{ ...key, expected: large, value: bytes }]), true);
      }
    });

    t.test('keys are listed by their beginning, in order, a bounded number at a time', async (t) => {
      const records = await open(t, await optionsOf(t));
      const keys = ['servers/2', 'servers/1', 'servers/é😀', 'servers/[a-z]*', 'server-names/x', 'servers0/x'];
      await records.swap(keys.map((key) => change(record(key), undefined, `at ${key}`)));
      await records.swap([change(userConfig('servers/subject'), undefined, 'config')]);
      const all = ['servers/1', 'servers/2', 'servers/[a-z]*', 'servers/é😀'];
      t.same(await records.listKeys('servers/', '', 100), all);
      t.same(await records.listKeys('servers/', '', 2), all.slice(0, 2));
      t.same(await records.listKeys('servers/', 'servers/2', 100), all.slice(2));
      t.same(await records.listKeys('servers/', 'servers/15', 1), ['servers/2'], 'after one that is gone');
      t.same(await records.listKeys('nothing/', '', 100), []);
      await records.swap([change(record('servers/1'), 'at servers/1', undefined)]);
      t.same(await records.listKeys('servers/', '', 1), ['servers/2']);
      const values = await records.readMany(['servers/2', 'servers/1', 'servers/é😀']);
      t.same(
        values.map((value) => value?.toString()),
        ['at servers/2', undefined, 'at servers/é😀'],
      );
      t.same(await records.readMany([]), []);
    });

    t.test('a walk visits every record once, however many there are', async (t) => {
      const records = await open(t, await optionsOf(t));
      const keys = Array.from({ length: 2 * RECORDS_AT_ONCE_MAX + 1 }, (_, n) => `walk/${String(n).padStart(6, '0')}`);
      await records.swap(keys.map((key) => change(record(key), undefined, key)));
      const met = await recordsUnder(records, 'walk/');
      t.same(
        met.map(({ key }) => key),
        keys,
      );
      t.ok(met.every(({ key, value }) => value.toString() === key));
    });

    t.test('the two name spaces do not overlap', async (t) => {
      const options = await optionsOf(t);
      const records = await open(t, options);
      await records.swap([change(record('same'), undefined, 'record')]);
      await records.swap([change(userConfig('same'), undefined, 'config')]);
      t.equal(await textAt(records, record('same')), 'record');
      t.equal(await textAt(records, userConfig('same')), 'config');
      const dataplane = await openStore(options, silent);
      t.teardown(() => dataplane.close());
      const read = await dataplane.read('same');
      t.equal(read.kind === 'found' && read.value.toString(), 'config', 'the dataplane reads the user config');
      for (const subject of ['switchyard:records', '\u00ffswitchyard:records', '\ufffdswitchyard:records']) {
        t.match(await dataplane.read(subject), { kind: 'missing' }, `no subject ${subject}`);
      }
    });

    t.test('every subject with a user config is listed, and nothing else', async (t) => {
      const records = await open(t, await optionsOf(t));
      const subjects = Array.from({ length: RECORDS_AT_ONCE_MAX + 1 }, (_, n) => `user-${n}`);
      await Promise.all(subjects.map((subject) => records.swap([change(userConfig(subject), undefined, '{}')])));
      await records.swap([change(record('servers/a'), undefined, 'a')]);
      const found = new Set<string>();
      for await (const some of records.subjects()) for (const subject of some) found.add(subject);
      t.same([...found].toSorted(), subjects.toSorted());
    });

    t.test('records are still there when the store is opened again', async (t) => {
      const options = await optionsOf(t);
      const first = await openRecordStore(options, silent);
      await first.swap([change(record('kept'), undefined, 'value')]);
      await first.close();
      t.equal(await textAt(await open(t, options), record('kept')), 'value');
    });

    t.test('two stores count one record up without losing a count', async (t) => {
      const options = await optionsOf(t);
      const [one, other] = [await open(t, options), await open(t, options)];
      await Promise.all([countUp(one, 40), countUp(other, 40), countUp(one, 40)]);
      t.equal(await textAt(other, COUNTER), '120');
    });

    t.test('of many swaps for the same place exactly one wins', async (t) => {
      const options = await optionsOf(t);
      const [one, other] = [await open(t, options), await open(t, options)];
      for (let round = 0; round < 20; round++) {
        const key = record(`place ${round}`);
        const results = await Promise.all(
          Array.from({ length: 10 }, async (_, n) =>
            (n % 2 === 0 ? one : other).swap([change(key, undefined, `${n}`)]),
          ),
        );
        t.equal(results.filter((isDone) => isDone).length, 1);
        t.equal(await textAt(one, key), String(results.indexOf(true)), 'and its value is there');
      }
    });

    t.test('a subject without a key is refused', async (t) => {
      const records = await open(t, await optionsOf(t));
      for (const subject of ['\ud800', '', 'x'.repeat(1_979)]) {
        await t.rejects(records.read(userConfig(subject)), RecordStoreFault);
        await t.rejects(records.swap([change(userConfig(subject), undefined, 'x')]), RecordStoreFault);
      }
    });

    t.test('a closed store says so', async (t) => {
      const records = await openRecordStore(await optionsOf(t), silent);
      t.equal(await records.ping(), true);
      await records.close();
      t.equal(await records.ping(), false);
      await t.rejects(records.read(record('a')), RecordStoreFault);
      await t.rejects(records.listKeys('a/', '', 1), RecordStoreFault);
      await t.rejects(records.swap([change(record('a'), undefined, 'x')]), RecordStoreFault);
    });
  });
}
