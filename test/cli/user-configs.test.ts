// What the commands about user configs do in each store, called without the program around them.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { CliFault, type CommandResult } from '../../src/cli/command-result.js';
import * as commands from '../../src/cli/user-configs.js';
import { operatorName } from '../../src/config/environment.js';
import type { StoreOptions } from '../../src/config/table/store-options.js';
import { publicationChanges, planPublication } from '../../src/control-plane/compositions/publication.js';
import { AuditRecords, type AuditEntry } from '../../src/store/audit-records.js';
import { redisRecordKey } from '../../src/store/redis-records.js';
import { openRecordStore } from '../../src/store/open-store.js';
import { logInto } from '../support/log-lines.js';
import { startRedis } from '../support/redis.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

const url = 'https://b.example/mcp/hunter2?key=hunter2';

/** The store's list of changes, newest first. */
async function changesIn(options: StoreOptions): Promise<readonly AuditEntry[]> {
  const records = await openRecordStore(options, logInto([]));
  const query = { record: '', limit: 100, cursor: undefined };
  const { items } = await new AuditRecords(records, logInto([])).list(query, () => true);
  await records.close();
  return items;
}

function writeFile(t: Test, backend: object): string {
  const path = join(createScratchDirectory(t), 'config.json');
  writeFileSync(path, JSON.stringify({ virtual_hosts: { v: { backends: { b: { url, ...backend } } } } }));
  return path;
}

const stores: Readonly<Record<string, (t: Test) => Promise<StoreOptions>>> = {
  embedded: async (t) => ({ kind: 'embedded', path: join(createScratchDirectory(t), 'store') }),
  redis: async (t) => (await startRedis(t)).storeOptions,
};

for (const [kind, start] of Object.entries(stores)) {
  t.test(kind, async (t) => {
    const store = await start(t);
    const subject = 'alice@example.com';
    const [wide, narrow] = [writeFile(t, {}), writeFile(t, { allowed_tool_names: ['a'] })];
    const put = async (file: string, expectedDigest?: string) => commands.put({ subject, file, store, expectedDigest });
    const digest = async (): Promise<string> => {
      const { answer } = await commands.get({ subject, store });
      return (answer as { digest: string }).digest;
    };

    const stored = await put(wide);
    t.match(stored, { text: /^Stored the user config of alice@example\.com in the / });
    t.match(stored.answer, { subject, digest: await digest(), errors: { length: 0 }, isStored: true });
    t.same((await commands.get({ subject, store })).text, readFileSync(wide), 'to the byte');
    const before = await digest();
    await put(narrow, before);
    await t.rejects(put(wide, before), {
      name: CliFault.name,
      exitStatus: 75,
      message: /has changed since you read it/,
    });
    await t.rejects(put(wide, 'none'), { name: 'CliFault', exitStatus: 75 });
    t.same((await commands.get({ subject, store })).text, readFileSync(narrow));

    const refused = await put(writeFile(t, { allowed_tools: ['a'] }));
    t.match(refused, {
      text: /b\.allowed_tools: is not known; did you mean allowed_tool_names\?\nNothing was stored\.\n$/,
      exitStatus: 65,
      answer: { isStored: false, errors: [{ meant: 'allowed_tool_names' }] },
    });
    t.same((await commands.get({ subject, store })).text, readFileSync(narrow));

    t.match(await commands.list({ store }), { answer: [subject], text: `${subject}\n` });
    const one = { subject, store };
    await t.rejects(commands.remove({ ...one, expectedDigest: before }), { name: 'CliFault', exitStatus: 75 });
    await commands.remove({ ...one, expectedDigest: undefined });
    await t.rejects(commands.remove({ ...one, expectedDigest: undefined }), { name: 'CliFault', exitStatus: 66 });
    await t.rejects(commands.get({ subject, store }), { name: 'CliFault', exitStatus: 66 });

    const changes = await changesIn(store);
    const brief = (file: string): object => ({
      bytes: readFileSync(file).length,
      hash: createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, 12),
      virtualHosts: { v: { b: 'https://b.example' } },
    });
    const told = { kind: 'user-configs', subject: operatorName(), name: subject };
    t.strictSame(
      changes.map(({ at: _, ...change }) => change),
      [
        { operation: 'deleteUserConfig', ...told, before: brief(narrow) },
        { operation: 'putUserConfig', ...told, before: brief(wide), after: brief(narrow) },
        { operation: 'putUserConfig', ...told, after: brief(wide) },
      ],
      'each change that was made, and none that was not',
    );
    t.notMatch(JSON.stringify(changes), /hunter2/);
  });
}

for (const [kind, start] of Object.entries(stores)) {
  t.test(`what the control plane has published stays when an operator writes the rest; ${kind}`, async (t) => {
    const store = await start(t);
    const subject = 'alice';
    const put = async (file: string): Promise<CommandResult> =>
      commands.put({ subject, file, store, expectedDigest: undefined });
    const hosts = async (): Promise<object> => {
      const { answer } = await commands.get({ subject, store });
      return (answer as { config: { virtual_hosts: object } }).config.virtual_hosts;
    };
    await put(writeFile(t, {}));
    const records = await openRecordStore(store, logInto([]));
    const state = { subject, record: undefined, config: await records.read({ space: 'user-configs', key: subject }) };
    const host = `{"backends":{"b":{"url":"${url}"}},"exposure":"search"}`;
    const plan = planPublication(state, new Map([['composed', host]]));
    t.ok(plan.kind === 'stale' && (await records.swap(publicationChanges(state, plan))), 'published');
    await records.close();

    const other = join(createScratchDirectory(t), 'other.json');
    writeFileSync(other, JSON.stringify({ virtual_hosts: { w: { backends: {} } }, note: 1 }));
    const stored = await put(other);
    t.equal(
      String(stored.text).split('\n').slice(1).join('\n'),
      'Kept, because the control plane has published it: virtual host composed.\nRemoved: virtual host v.\n',
    );
    t.match(stored.answer, { isStored: true, kept: ['composed'], removed: ['v'] });
    t.same(await hosts(), { w: { backends: {} }, composed: JSON.parse(host) as object });

    const whole = join(createScratchDirectory(t), 'whole.json');
    writeFileSync(whole, (await commands.get({ subject, store })).text);
    t.match(
      await put(whole),
      { answer: { kept: { length: 0 }, removed: { length: 0 } } },
      'a config that has it is stored to the byte',
    );
    t.same((await commands.get({ subject, store })).text, readFileSync(whole));

    const removed = await commands.remove({ subject, store, expectedDigest: undefined });
    t.match(removed, {
      text: /\nPublished by the control plane, which will put it back: virtual host composed\.\n$/,
      answer: { isDeleted: true, published: ['composed'] },
    });
  });
}

t.test('a check tells everything that is wrong, with its place, and stores nothing', async (t) => {
  const path = join(createScratchDirectory(t), 'config.json');
  const check = async (text: string) => {
    writeFileSync(path, text);
    return commands.check({ file: path });
  };
  const valid = await commands.check({ file: writeFile(t, {}) });
  t.strictSame(valid.answer, { errors: [], warnings: [] });
  t.match(valid, { exitStatus: 0, text: /config\.json: valid user config\n$/ });
  t.notOk('untoldCount' in Object(valid.answer));
  const broken = await check('{"virtual_hosts":\n{,}}');
  t.match(broken, { exitStatus: 65, answer: { errors: [{ path: { length: 0 }, message: /^not JSON: .*line 2/ }] } });
  t.match(broken.text, /^.*config\.json: error: .*not JSON: [^\n]*\n$/);
  const bad = Buffer.from([0x7b, 0xff, 0x7d]).toString('latin1');
  writeFileSync(path, Buffer.from(bad, 'latin1'));
  t.equal((await commands.check({ file: path })).exitStatus, 65);
  const unknown = await check(
    JSON.stringify({ virtual_hosts: { v: { backends: { b: { url, nmae: 1, prefx: 2 } } } } }),
  );
  t.match(unknown.text, /error: .*nmae.*\n.*error: .*prefx/);
  const hosts = Object.fromEntries(
    Array.from({ length: 300 }, (_, at) => [`v${at}`, { backends: { b: { url, prefx: 1 } } }]),
  );
  const many = await check(JSON.stringify({ virtual_hosts: hosts }));
  const { untoldCount, errors } = many.answer as { untoldCount: number; errors: unknown[] };
  t.equal(untoldCount + errors.length, 300);
  t.match(many.text, new RegExp(`and ${untoldCount} more\n$`));
  t.notMatch(JSON.stringify([broken, unknown, many]), /hunter2/, 'a value is never repeated');
  const { answer, text } = await commands.schema();
  t.match(answer, { $schema: /json-schema/ });
  t.equal(text, '');
  await t.rejects(commands.check({ file: join(path, 'none') }), { name: 'CliFault' });
});

t.test('where there is no embedded store, none is created to look into', async (t) => {
  const store: StoreOptions = { kind: 'embedded', path: join(createScratchDirectory(t), 'store') };
  await t.rejects(commands.list({ store }), {
    exitStatus: 66,
    message: /there is no embedded store in .*; give another --store-path/,
  });
});

t.test('an embedded store that cannot be looked at is not called absent', async (t) => {
  const path = join(createScratchDirectory(t), 'store');
  // Like a directory that this user may not enter, but for root too.
  symlinkSync(path, path);
  await t.rejects(commands.list({ store: { kind: 'embedded', path } }), {
    exitStatus: 69,
    message: /ELOOP.*; give --store-path a directory that this user may write$/,
  });
});

t.test(
  'the change of a Redis user who may only write user configs is made, and reported as missing in the list',
  async (t) => {
    const redis = await startRedis(t, {
      users: ['writer on >password resetkeys %RW~alice +get +set +del +eval +ping +client'],
    });
    const store: StoreOptions = { ...redis.storeOptions, username: 'writer', password: 'password' };
    const put = { subject: 'alice', file: writeFile(t, {}), store };
    const { answer, text } = await commands.put({ ...put, expectedDigest: undefined });
    t.match(answer, { isStored: true, isListed: false });
    t.match(String(text), /\.\nThis change could not be added to the list of changes\.\n$/);
    t.same((await commands.get({ subject: 'alice', store })).text, readFileSync(put.file));
    t.match((await commands.put({ ...put, expectedDigest: undefined })).answer, {
      isStored: true,
      kept: { length: 0 },
    });
    const removed = await commands.remove({ subject: 'alice', store, expectedDigest: undefined });
    t.match(removed.answer, { isDeleted: true, published: { length: 0 } });
  },
);

for (const [kind, start] of Object.entries(stores)) {
  t.test(`a damaged record of what was published stops a put, and a delete clears the way; ${kind}`, async (t) => {
    const store = await start(t);
    const key = { space: 'publications', key: 'alice' } as const;
    for (const damaged of ['{', 'null', '{"subject":"alice","virtualHosts":"v","isConfigOurs":true}']) {
      const put = async (backend: object) =>
        commands.put({ subject: 'alice', file: writeFile(t, backend), store, expectedDigest: undefined });
      await put({});
      const { text } = await commands.get({ subject: 'alice', store });
      const records = await openRecordStore(store, logInto([]));
      await records.swap([{ ...key, expected: await records.read(key), value: Buffer.from(damaged) }]);
      await records.close();
      await t.rejects(put({ allowed_tool_names: ['a'] }), {
        ...{ name: CliFault.name, exitStatus: 65 },
        message: /published into the user config of alice is damaged: run `config delete`, then `config put`/,
      });
      t.same((await commands.get({ subject: 'alice', store })).text, text, 'nothing was stored');
      t.match(await commands.remove({ subject: 'alice', store, expectedDigest: undefined }), {
        answer: { isDeleted: true, published: { length: 0 } },
      });
      t.match((await put({})).answer, { isStored: true });
      await commands.remove({ subject: 'alice', store, expectedDigest: undefined });
    }
  });
}

t.test('a put is not made while the store cannot say what was published', async (t) => {
  const redis = await startRedis(t);
  const store = redis.storeOptions;
  const put = async (backend: object) =>
    commands.put({ subject: 'alice', file: writeFile(t, backend), store, expectedDigest: undefined });
  await put({});
  const { text } = await commands.get({ subject: 'alice', store });
  const client = await redis.connect();
  await client.lpush(redisRecordKey({ space: 'publications', key: 'alice' }), 'of another type');
  await t.rejects(put({ allowed_tool_names: ['a'] }), { exitStatus: 69, message: /WRONGTYPE/ });
  await t.rejects(commands.remove({ subject: 'alice', store, expectedDigest: undefined }), { message: /WRONGTYPE/ });
  t.same((await commands.get({ subject: 'alice', store })).text, text);
});
