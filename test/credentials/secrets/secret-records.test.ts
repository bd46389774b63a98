// Secrets in the store, on a real LMDB and a real Redis: set, listed, read by requests, sealed again, deleted. Stored data never reveals
// one.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import type { StoreOptions } from '../../../src/config/table/store-options.js';
import { operatorName } from '../../../src/config/environment.js';
import { outputOf } from '../../cli/secrets-output.js';
import { readSealed, sealSecret, unsealSecret, type Secret } from '../../../src/credentials/secrets/sealed-secret.js';
import { SecretKeys } from '../../../src/credentials/secrets/secret-keys.js';
import { SecretRecords } from '../../../src/credentials/secrets/secret-records.js';
import { StoredSecrets, type StoredSecretRead } from '../../../src/credentials/secrets.js';
import { RECORDS_AT_ONCE_MAX } from '../../../src/store/record-store.js';
import { limits } from '../../../src/shared/limits.js';
import { AuditRecords } from '../../../src/store/audit-records.js';
import { openRecordStore, openStore } from '../../../src/store/open-store.js';
import type { RecordStore } from '../../../src/store/record-store.js';
import { meddledRecords } from '../../support/meddled-records.js';
import { startRedis } from '../../support/redis.js';
import { createScratchDirectory } from '../../support/scratch-directory.js';
import { until } from '../../support/until.js';

const OLD = Buffer.alloc(32, 1).toString('base64');
const NEW = Buffer.alloc(32, 2).toString('base64');
const SECRET: Secret = { value: 'Bearer hunter2-59c1', origins: ['https://api.example'] };
const NOW = '2026-01-02T03:04:05.678Z';
const silent = pino({ level: 'silent' });

const stores: Readonly<Record<string, (t: Test) => Promise<StoreOptions>>> = {
  embedded: async (t) => ({ kind: 'embedded', path: createScratchDirectory(t) }),
  redis: async (t) => (await startRedis(t)).storeOptions,
};

async function openRecords(t: Test, options: StoreOptions): Promise<RecordStore> {
  const records = await openRecordStore(options, silent);
  t.teardown(() => records.close());
  return records;
}

function firstOf(keys: SecretKeys) {
  if (keys.sealingKey === undefined) throw new Error('no key');
  return keys.sealingKey;
}

for (const [kind, optionsOf] of Object.entries(stores)) {
  t.test(kind, async (t) => {
    const options = await optionsOf(t);
    const records = await openRecords(t, options);
    const old = new SecretKeys([OLD]);
    const secrets = new SecretRecords(records, old, () => new Date(NOW));
    await secrets.set('github', SECRET, firstOf(old));
    t.match(await secrets.list(), [{ name: 'github', origins: SECRET.origins, updatedAt: NOW, isUsable: true }]);
    const stored = await records.read({ space: 'records', key: 'secrets/github' });
    t.notOk(stored?.toString('latin1').includes('hunter2'), 'sealed');

    const store = await openStore(options, silent);
    t.teardown(() => store.close());
    const reader = StoredSecrets.of(store, [OLD]);
    if (reader === undefined) throw new Error('a key was given');
    const valueOf = (read: StoredSecretRead): string => (read.kind === 'found' ? read.secret.value : read.reason);

    await t.test('requests read a secret, and once it is cached without a promise', async (t) => {
      t.same(await reader.read('github'), { kind: 'found', secret: SECRET });
      const known = reader.read('github');
      t.notOk(known instanceof Promise);
      t.equal(reader.read('github'), known, 'the same object for the same secret');
      t.match(await reader.read('gitlab'), { kind: 'failed', reason: 'is not in the store' });
    });

    await t.test('another value takes effect from the next request on', async (t) => {
      await secrets.set('github', { value: 'second', origins: 'any' }, firstOf(old));
      await until(async () => valueOf(await reader.read('github')) === 'second', 'the new value');
      t.match(await reader.read('github'), { secret: { origins: 'any' } });
    });

    await t.test('a new first key seals everything again, and the old one can be removed', async (t) => {
      const both = new SecretKeys([NEW, OLD]);
      const keeper = new SecretRecords(records, both);
      await secrets.set('other', SECRET, firstOf(old));
      t.same(await keeper.rotate(firstOf(both)), { resealed: ['github', 'other'], failed: [] });
      t.same(await keeper.rotate(firstOf(both)), { resealed: [], failed: [] }, 'nothing is left to do');
      const alone = StoredSecrets.of(store, [NEW]);
      await until(async () => alone !== undefined && valueOf(await alone.read('github')) === 'second', 'the new key');
      await until(
        async () => /which is not in --secrets-key-file/.test(valueOf(await reader.read('github'))),
        'no key',
      );
      t.match(await secrets.list(), [{ isUsable: false }, { isUsable: false }], 'without the new key none is usable');
      t.match(await secrets.rotate(firstOf(old)), {
        resealed: { length: 0 },
        failed: [
          ['github', /key/],
          ['other', /key/],
        ],
      });
    });

    await t.test('a deleted secret is gone', async (t) => {
      t.equal(await secrets.delete('github'), true);
      t.equal(await secrets.delete('github'), false);
      await until(async () => valueOf(await reader.read('github')) === 'is not in the store', 'it to be gone');
    });

    await t.test('the commands report what they did and show no secret', async (t) => {
      const run = async (action: Parameters<typeof outputOf>[0]['action'], input = '', keys = [NEW]) =>
        outputOf({ store: options, keys, action }, Readable.from([Buffer.from(input)]));
      const set = { command: 'secrets set', name: 'piped', origins: ['https://a.example'] } as const;
      t.same(await run(set, 'piped-6f1\n'), { text: 'Set piped, for https://a.example.\n', exitStatus: 0 });
      const listed = await run({ command: 'secrets list' });
      t.match(listed.text, /^NAME .*\n(.*\n)*piped +2\S+ +[0-9a-f]{16} +https:\/\/a\.example\n/);
      t.notMatch(listed.text, /6f1/);
      t.match(await run({ command: 'secrets list' }, '', [OLD]), { text: /not usable with these keys/ });
      for (const input of ['', '\n', 'two\nlines', ' spaced', 'ä', 'x'.repeat(9_000)])
        t.match(await run(set, input), { exitStatus: 65, text: /^switchyard: the secret (?!x)/ }, input.slice(0, 9));
      let piped = 0;
      const endless = async function* (): AsyncGenerator<Uint8Array> {
        for (; ; piped += 1_000) {
          if (piped > 100_000) throw new Error('it reads on');
          yield Buffer.alloc(1_000, 'x');
        }
      };
      const refused = await outputOf({ store: options, keys: [NEW], action: set }, endless());
      t.match(refused, { exitStatus: 65, text: /longer than 8192 bytes/ });
      t.ok(piped < 20_000, 'what has no end is not read to its end');
      const typed = Object.assign(Readable.from([]), { isTTY: true });
      t.match(await outputOf({ store: options, keys: [NEW], action: set }, typed), {
        exitStatus: 65,
        text: /terminal/,
      });
      t.match(await run({ command: 'secrets rotate' }, '', [OLD, NEW]), { text: 'Encrypted 2 secrets again.\n' });
      t.match(await run({ command: 'secrets delete', name: 'piped' }), { text: 'Deleted piped.\n' });
      t.match(await run({ command: 'secrets delete', name: 'piped' }), { exitStatus: 66 });
    });

    await t.test('the list of changes says who changed what with a command, without a secret', async (t) => {
      const query = { record: '', limit: 100, cursor: undefined };
      const { items } = await new AuditRecords(records, silent).list(query, () => true);
      const told = { kind: 'secrets', subject: operatorName() };
      const piped = { origins: ['https://a.example'], updatedAt: String, keyId: firstOf(new SecretKeys([NEW])).id };
      t.match(items, [
        { operation: 'deleteSecret', ...told, name: 'piped', before: { ...piped, keyId: firstOf(old).id } },
        { operation: 'rotateSecrets', ...told, after: { keyId: firstOf(old).id, secrets: ['other', 'piped'] } },
        { operation: 'setSecret', ...told, name: 'piped', after: piped },
      ]);
      t.equal(items.length, 3, 'and nothing of what was refused');
      t.same([items[0]?.after, items[2]?.before], [undefined, undefined]);
      t.notMatch(JSON.stringify(items), /hunter2|6f1/);
    });

    if (options.kind === 'embedded') {
      const files = readdirSync(options.path).map((file) => readFileSync(join(options.path, file), 'latin1'));
      t.notOk(
        files.some((text) => /hunter2|piped-6f1/.test(text)),
        'no value was ever in a file of the store',
      );
    }
  });
}

t.test('only set creates a store: at a mistyped path the others report that there are no secrets', async (t) => {
  const path = join(createScratchDirectory(t), 'mistyped');
  const store = { kind: 'embedded', path } as const;
  const input = (): Readable => Readable.from([Buffer.from('v')]);
  for (const action of [
    { command: 'secrets list' },
    { command: 'secrets rotate' },
    { command: 'secrets delete', name: 'a' },
  ] as const) {
    const outcome = await outputOf({ store, keys: [OLD], action }, input());
    t.match(outcome, { exitStatus: 66, text: /^switchyard: there is no embedded store in .*mistyped; give another/ });
    t.notOk(existsSync(path), action.command);
  }
  const set = { command: 'secrets set', name: 'a', origins: 'any' } as const;
  t.match(await outputOf({ store, keys: [OLD], action: set }, input()), { exitStatus: 0 });
  t.match(await outputOf({ store, keys: [OLD], action: { command: 'secrets list' } }, input()), { text: /^NAME/ });
});

t.test('a Redis user with the documented rights keeps secrets, and reads nobody’s config', async (t) => {
  const rights = '+eval +get +mget +set +del +zadd +zrem +zrangebylex +ping';
  const redis = await startRedis(t, { users: [`keeper on >word ~?{switchyard}* ${rights}`] });
  const store = { ...redis.storeOptions, username: 'keeper', password: 'word' };
  const set = { command: 'secrets set', name: 'a', origins: 'any' } as const;
  const input = (): Readable => Readable.from([Buffer.from('v')]);
  t.same(await outputOf({ store, keys: [OLD], action: set }, input()), {
    text: 'Set a, for any origin.\n',
    exitStatus: 0,
  });
  t.match(await outputOf({ store, keys: [OLD], action: { command: 'secrets list' } }, input()), { text: /^NAME/ });
  const records = await openRecords(t, store);
  await t.rejects(records.read({ space: 'user-configs', key: 'alice' }), /NOPERM|permission/);
  await redis.stop();
  t.match(await outputOf({ store, keys: [OLD], action: set }, input()), {
    exitStatus: 69,
    text: /^switchyard: the Redis at .* cannot be reached/,
  });
});

t.test(
  'the list is a table with a heading, and tells what is no secret, or what no key opens, from the others',
  async (t) => {
    const store = { kind: 'embedded', path: createScratchDirectory(t) } as const;
    const records = await openRecords(t, store);
    const keys = new SecretKeys([OLD]);
    const secrets = new SecretRecords(records, keys, () => new Date(NOW));
    const run = async (action: Parameters<typeof outputOf>[0]['action'], input = '') =>
      outputOf({ store, keys: [OLD], action }, Readable.from([Buffer.from(input)]));
    t.same(await run({ command: 'secrets list' }), { text: 'No secrets.\n', exitStatus: 0 });
    await secrets.set('a', SECRET, firstOf(keys));
    await secrets.set('longer', { value: 'v', origins: ['https://a.example', 'https://b.example'] }, firstOf(keys));
    const id = firstOf(keys).id;
    t.equal(
      (await run({ command: 'secrets list' })).text,
      [
        `NAME    SET                       KEY               MAY GO TO\n`,
        `a       ${NOW}  ${id}  https://api.example\n`,
        `longer  ${NOW}  ${id}  https://a.example, https://b.example\n`,
      ].join(''),
    );
    const written = { space: 'records', key: 'secrets/written', expected: undefined } as const;
    t.equal(await records.swap([{ ...written, value: Buffer.from('by another program') }]), true);
    t.match(await secrets.list(), [
      {},
      {},
      { name: 'written', origins: { length: 0 }, updatedAt: '', keyId: '', isUsable: false },
    ]);
    t.same(await secrets.describe('written'), { origins: [], updatedAt: '', keyId: '' });
    t.equal(await secrets.describe('none'), undefined);
    const rotated = await run({ command: 'secrets rotate' });
    t.match(rotated, {
      exitStatus: 65,
      text: /^switchyard: written: .*not an encrypted secret\n.*: encrypted 0 secrets/,
    });
  },
);

t.test('a rotation reaches all secrets, however many, and tells which one was set meanwhile', async (t) => {
  const records = await openRecords(t, { kind: 'embedded', path: createScratchDirectory(t) });
  const keys = new SecretKeys([NEW, OLD]);
  const old = new SecretKeys([OLD]);
  const names = Array.from({ length: RECORDS_AT_ONCE_MAX + 2 }, (_, at) => `s${String(at).padStart(4, '0')}`);
  const setMany = names.map((name) => ({
    ...({ space: 'records', key: `secrets/${name}`, expected: undefined } as const),
    value: sealSecret(firstOf(old), name, SECRET, NOW),
  }));
  await records.swap(setMany);
  const other = new SecretRecords(records, old);
  const [first = ''] = names;
  const busy = meddledRecords(records, {
    swap: async (changes) => {
      if (changes[0]?.key === `secrets/${first}`) await other.set(first, { ...SECRET, value: 'newer' }, firstOf(old));
      return records.swap(changes);
    },
  });
  const rotation = await new SecretRecords(busy, keys).rotate(firstOf(keys));
  t.same(rotation.resealed, names.slice(1));
  t.match(rotation.failed, [[first, /changed in the meantime/]]);
  const kept = await records.read({ space: 'records', key: `secrets/${first}` });
  t.match(kept && unsealSecret(keys, first, kept), { secret: { value: 'newer' } });
  const last = await records.read({ space: 'records', key: `secrets/${names.at(-1)}` });
  t.match(last && readSealed(last), { keyId: firstOf(keys).id, updatedAt: NOW }, 'when it was set is still told');
});

t.test('a secret may be as long as the limit, with the line break that the pipe adds', async (t) => {
  const store = { kind: 'embedded', path: createScratchDirectory(t) } as const;
  const action = { command: 'secrets set', name: 'long', origins: 'any' } as const;
  const set = async (text: string) => outputOf({ store, keys: [OLD], action }, Readable.from([Buffer.from(text)]));
  const longest = 'x'.repeat(limits.secretBytesMax);
  for (const ending of ['', '\n', '\r\n']) t.match(await set(longest + ending), { exitStatus: 0 }, ending);
  for (const ending of ['x', 'x\n', 'x\r\n', 'xxx']) t.match(await set(longest + ending), { exitStatus: 65 }, ending);
});

t.test('a store that fails is the reason why a secret cannot be read', async (t) => {
  const down = { kind: 'failed', reason: 'the store is down' } as const;
  const reader = StoredSecrets.of({ readRecord: () => down }, [OLD]);
  t.same(reader?.read('github'), down);
  t.equal(StoredSecrets.of({ readRecord: () => down }, []), undefined, 'without a key nothing is read at all');
});

t.test('nothing of a sealed secret can be changed, moved or sent elsewhere', async (t) => {
  const keys = new SecretKeys([OLD]);
  const bytes = sealSecret(firstOf(keys), 'a', SECRET, NOW);
  t.same(unsealSecret(keys, 'a', bytes), { kind: 'found', secret: SECRET });
  const record = readSealed(bytes);
  const changed = (change: object): unknown =>
    unsealSecret(keys, 'a', Buffer.from(JSON.stringify({ ...record, ...change })));
  t.match(unsealSecret(keys, 'b', bytes), { kind: 'failed', reason: /changed after it was encrypted/ }, 'another name');
  t.match(changed({ origins: 'any' }), { kind: 'failed', reason: /changed/ });
  t.match(changed({ origins: [...SECRET.origins, 'https://evil.example'] }), { kind: 'failed', reason: /changed/ });
  t.match(changed({ updatedAt: '2027' }), { kind: 'failed', reason: /changed/ });
  t.match(changed({ tag: record?.tag.slice(0, 5) }), { kind: 'failed', reason: /changed/ }, 'a shorter tag');
  t.match(changed({ nonce: '' }), { kind: 'failed', reason: /changed/ });
  t.match(changed({ keyId: 'ffff' }), { kind: 'failed', reason: /with the key ffff/ });
  for (const text of ['', 'null', '[]', '{}', '"a"', '{"keyId":1}'])
    t.match(unsealSecret(keys, 'a', Buffer.from(text)), { kind: 'failed', reason: /not an encrypted secret/ }, text);
  t.match(changed({ tag: 7 }), { kind: 'failed', reason: /not an encrypted secret/ }, 'a part that is no text');
  for (const origins of [undefined, 7, 'some', {}, [7]])
    t.match(changed({ origins }), { kind: 'failed', reason: /not an encrypted secret/ }, JSON.stringify(origins));
  const nonces = new Set(
    Array.from({ length: 50 }, () => readSealed(sealSecret(firstOf(keys), 'a', SECRET, NOW))?.nonce),
  );
  t.equal(nonces.size, 50, 'a nonce is used once');
});

t.test('a secret that an earlier version sealed can be opened', async (t) => {
  const stored = {
    ...{ keyId: 'e6456fd76252eaf8', origins: ['https://api.example'], updatedAt: NOW },
    ...{ nonce: 'qGRItP/U1WySrB6v', tag: 'NnfZNmMaHooXuwCsbiBIrw==', sealed: 'm0NtZAyojMsV/LzhmA==' },
  };
  const unsealed = unsealSecret(new SecretKeys([OLD]), 'github', Buffer.from(JSON.stringify(stored)));
  t.same(unsealed, { kind: 'found', secret: { value: 'Bearer s3cret', origins: ['https://api.example'] } });
});
