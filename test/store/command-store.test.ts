// What both stores promise to the commands about user configs: on a real LMDB that is also open elsewhere, and on a real Redis.
import { pino } from 'pino';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { StoreOptions } from '../../src/config/table/store-options.js';
import { limits } from '../../src/shared/limits.js';
import { openForCommand, openStore, openRecordStore } from '../../src/store/open-store.js';
import {
  RecordStoreFault,
  type RecordKey,
  type RecordStore,
  RECORDS_AT_ONCE_MAX,
} from '../../src/store/record-store.js';
import { findFreePort } from '../support/free-port.js';
import { startRedis } from '../support/redis.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

const silent = pino({ level: 'silent' });
const [one, other] = [Buffer.from('{"one":1}'), Buffer.from([0xff, 0, 0x3d])];

const stores: Readonly<Record<string, (t: Test) => Promise<StoreOptions>>> = {
  embedded: async (t) => ({ kind: 'embedded', path: createScratchDirectory(t) }),
  redis: async (t) => (await startRedis(t)).storeOptions,
};

async function open(t: Test, options: StoreOptions): Promise<RecordStore> {
  const store = await openForCommand(options, true);
  if (store === undefined) throw new Error('it was to be made');
  t.teardown(() => store.close());
  return store;
}

function config(key: string): RecordKey {
  return { space: 'user-configs', key };
}

async function subjectsOf(store: RecordStore): Promise<string[]> {
  const found: string[] = [];
  for await (const some of store.subjects()) found.push(...some);
  return found.sort();
}

for (const [kind, start] of Object.entries(stores)) {
  t.test(kind, async (t) => {
    const options = await start(t);
    const store = await open(t, options);
    // The dataplane's own store, which serves requests at the same time.
    const served = await openStore(options, silent);
    t.teardown(() => served.close());

    t.test('a swap replaces only the expected value', async (t) => {
      t.equal(await store.read(config('alice')), undefined);
      t.equal(await store.swap([{ ...config('alice'), expected: other, value: one }]), false, 'there is nothing');
      t.equal(await store.swap([{ ...config('alice'), expected: undefined, value: one }]), true);
      t.equal(
        await store.swap([{ ...config('alice'), expected: undefined, value: other }]),
        false,
        'there is something',
      );
      t.strictSame(await store.read(config('alice')), one);
      t.equal(await store.swap([{ ...config('alice'), expected: one, value: other }]), true);
      t.strictSame(await store.read(config('alice')), other, 'any bytes');
      served.forget('alice');
      t.match(await served.read('alice'), { kind: 'found', value: other }, 'and the dataplane reads it');
      t.equal(await store.swap([{ ...config('alice'), expected: one, value: undefined }]), false);
      t.equal(await store.swap([{ ...config('alice'), expected: other, value: undefined }]), true);
      t.equal(await store.read(config('alice')), undefined);
    });

    t.test('all subjects are listed, however many, and nothing of the gateway’s own', async (t) => {
      const records = await openRecordStore(options, silent);
      await records.swap([{ space: 'records', key: 'servers/x', expected: undefined, value: one, isLogged: true }]);
      await records.swap([{ space: 'publications', key: 'bob', expected: undefined, value: one }]);
      await records.close();
      t.strictSame(await subjectsOf(store), []);
      const longest = 'z'.repeat(limits.storeKeyBytesMax);
      const subjects = ['\u0000', 'bob@example.com', 'zoë 😀', longest];
      for (let index = 0; index < 2 * RECORDS_AT_ONCE_MAX; index++) subjects.push(`s${index}`);
      await Promise.all(
        subjects.map((subject) => store.swap([{ ...config(subject), expected: undefined, value: one }])),
      );
      t.strictSame(await subjectsOf(store), subjects.sort());
    });

    t.test('a subject without a key is a fault that is explained', async (t) => {
      for (const subject of ['', 'x'.repeat(limits.storeKeyBytesMax + 1), '\ud800']) {
        await t.rejects(store.read(config(subject)), { name: RecordStoreFault.name, message: /bytes of UTF-8/ });
        await t.rejects(store.swap([{ ...config(subject), expected: undefined, value: one }]), RecordStoreFault);
      }
    });
  });
}

t.test('an embedded store is created only for a change', async (t) => {
  const path = join(createScratchDirectory(t), 'none');
  t.equal(await openForCommand({ kind: 'embedded', path }, false), undefined);
  t.notOk(existsSync(path));
  t.equal((await open(t, { kind: 'embedded', path })).location, `the embedded store in ${path}`);
  t.ok(existsSync(path));
});

t.test('an unreachable Redis is a fault that says so', async (t) => {
  const port = await findFreePort();
  const options: StoreOptions = {
    ...{ kind: 'redis', location: { host: '127.0.0.1', port }, tls: { mode: 'plain-text' } },
    ...{ username: undefined, password: undefined, staleGraceMs: 0 },
  };
  await t.rejects((await open(t, options)).read(config('alice')), {
    name: RecordStoreFault.name,
    message: new RegExp(
      `the Redis at 127\\.0\\.0\\.1:${port} cannot be reached: .*ECONNREFUSED.*; start it, or correct the --redis-… options`,
    ),
  });
});

t.test('a Redis that refuses the user, its password or its commands is a fault with the remedy', async (t) => {
  const users = ['reader on >password ~* +get +ping +client'];
  const redis = await startRedis(t, { users });
  const as = (username: string, password: string): StoreOptions => ({ ...redis.storeOptions, username, password });
  await t.rejects((await open(t, as('reader', 'do-not-repeat-me'))).read(config('alice')), {
    message: /cannot be reached: WRONGPASS .* Correct --redis-username and --redis-password-file; then try again$/,
  });
  const store = await open(t, as('reader', 'password'));
  await t.rejects(store.swap([{ ...config('alice'), expected: undefined, value: one }]), {
    message:
      /did not carry out the command: NOPERM .*'eval' command; give its user that right; docs\/cli\.md, .* list what each needs$/,
  });
});

t.test('a Redis that cannot write says why, and the advice fits', async (t) => {
  const redis = await startRedis(t);
  const admin = await redis.connect();
  const store = await open(t, redis.storeOptions);
  const put = async () => store.swap([{ ...config('alice'), expected: undefined, value: one }]);
  await admin.config('SET', 'maxmemory', '1');
  await t.rejects(put(), { message: /: OOM .*; raise its maxmemory, or remove something from it, and try again$/ });
  await admin.config('SET', 'maxmemory', '0');
  await admin.config('SET', 'min-replicas-to-write', '1');
  await t.rejects(put(), { message: /: NOREPLICAS .*; do what its answer says, and try again$/ });
  await admin.config('SET', 'min-replicas-to-write', '0');
  await admin.replicaof('127.0.0.1', '1');
  await t.rejects(put(), { message: /: READONLY .*; it is a replica: give the address of the primary/ });
});

t.test('an embedded store that cannot be opened is a fault with the remedy', async (t) => {
  const path = join(createScratchDirectory(t), 'file');
  writeFileSync(path, '');
  await t.rejects(openForCommand({ kind: 'embedded', path: join(path, 'store') }, true), {
    message: /cannot be opened: ENOTDIR.*; give --store-path a directory that this user may write$/,
  });
  const damaged = createScratchDirectory(t);
  writeFileSync(join(damaged, 'data.mdb'), 'junk'.repeat(3_000));
  await t.rejects(openForCommand({ kind: 'embedded', path: damaged }, true), {
    message: /is damaged: .*Restore its files from a copy, or move them away/,
  });
});
