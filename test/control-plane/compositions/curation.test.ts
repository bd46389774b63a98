// Curation of a server and in a composition, published: read back as the dataplane reads it. And which curations exclude each other.
import t from 'tap';
import type { CompositionInput } from '../../../src/control-plane/compositions/composition.js';
import { limits } from '../../../src/shared/limits.js';
import { decodeUserConfig } from '../../../src/user-config/user-config-schema.js';
import { compileUserConfig } from '../../../src/user-config/compile-config.js';
import { routeName } from '../../../src/user-config/routing.js';
import { backendFor } from '../../support/deployment.js';
import { setStage, stores, type Stage } from '../stage.js';

/** Where a name that the subject uses leads, and the fixed arguments of its calls: `server / tool / fixed`. */
async function leadsTo({ records }: Stage, subject: string, name: string): Promise<string | undefined> {
  const bytes = await records.read({ space: 'user-configs', key: subject });
  const decoding = decodeUserConfig(bytes ?? Buffer.from(''));
  if (!decoding.ok) throw new Error(decoding.issues);
  const [host] = compileUserConfig(decoding.config, 'plain-text-or-tls').virtualHosts.values();
  const route = host && routeName(host, 'tools', name);
  return route && `${route.backend.name} / ${route.bareName} / ${route.curated?.fixedMembers ?? ''}`;
}

t.test('a server is curated for all, and otherwise for one composition', async (t) => {
  const stage = await setStage(t, await stores['embedded']!(t));
  const { registry, compositions } = stage;
  const files = await backendFor(t, { tools: ['read', 'write'] });
  const mail = await backendFor(t, { tools: ['send'] });
  const curation = { prefix: 'docs', tools: { read: { name: 'look', fixed_arguments: { root: '/a' } } } };
  const server = await registry.register({ name: 'files', url: files.url, curation });
  t.same(server.curation, curation);
  await registry.register({ name: 'mail', url: mail.url });
  const desk = await compositions.create(
    { name: 'desk', servers: [{ name: 'files', tools: ['read'] }], subjects: ['alice'] },
    'alice',
  );
  t.equal(await leadsTo(stage, 'alice', 'docs-look'), 'files / read / "root":"/a"');
  t.equal(await leadsTo(stage, 'alice', 'docs-read'), undefined);

  const special = { prefix: '', tools: { read: { name: 'open' } } };
  const servers = [
    { name: 'files', tools: ['read'], curation: special },
    { name: 'mail', tools: ['send'] },
  ];
  const changed = await compositions.replace('desk', { name: 'desk', servers }, 'alice');
  t.equal(changed.id, desk.id, 'under the same URL');
  t.same(changed.servers[0]?.curation, special);
  t.equal(await leadsTo(stage, 'alice', 'open'), 'files / read / "root":"/a"', 'member by member');
  t.equal(await leadsTo(stage, 'alice', 'mail-send'), 'mail / send / ');

  await registry.replace('files', { name: 'files', url: files.url, curation: { tools: { read: { hidden: true } } } });
  t.equal(await leadsTo(stage, 'alice', 'open'), undefined, 'hidden for all');
  const bare = await registry.replace('files', { name: 'files', url: files.url, curation: null });
  t.notOk('curation' in bare);
  t.equal(await leadsTo(stage, 'alice', 'open'), 'files / read / ');
});

t.test('what is wrong is refused, and named', async (t) => {
  const { registry, compositions } = await setStage(t, await stores['embedded']!(t));
  const { url } = await backendFor(t, { tools: ['read', 'write'] });
  const register = (curation: object): Promise<unknown> =>
    registry.register({ name: 'files', url, curation: curation as Record<string, unknown> });
  await t.rejects(register({ tools: { read: { hiden: true } } }), {
    code: 'invalid',
    message: /^curation tools\.read/,
  });
  await t.rejects(register({ tools: { read: { description: 'x'.repeat(40_000) } } }), { message: /too large/ });
  const description = 'é'.repeat(limits.curationBytesMax / 4);
  const long = { tools: { read: { description }, write: { description } } };
  await t.rejects(register(long), {
    code: 'invalid',
    message: /^curation must be shorter: it has \d+ bytes as JSON, at most 65536 are allowed$/,
  });
  await register({ prefix: 'p', tools: { read: { name: 'look' } } });
  await registry.register({ name: 'more', url });
  const compose = (...servers: object[]): Promise<unknown> =>
    compositions.create({ name: 'desk', servers: servers as never, subjects: ['alice'] }, 'alice');
  const tools = ['read', 'write'];
  const twice = { tools: { write: { name: 'look' } } };
  await t.rejects(compose({ name: 'files', tools, curation: twice }), {
    message: /^servers .* is already the name of another tool or prompt: choose a different one/,
  });
  const same = { name: 'more', tools, curation: { prefix: 'p' } };
  await t.rejects(compose({ name: 'files', tools }, same), {
    message: /^servers .* is already the prefix of another backend: choose a different one/,
  });
  const odd = { name: 'more', tools, curation: { tols: {} } };
  await t.rejects(compose(odd), { message: /^servers\.0\.curation / });
  const longer = { name: 'more', tools, curation: long };
  await t.rejects(compose(longer), { message: /^servers\.0\.curation must be shorter/ });
});

t.test('servers that come to have one prefix, or one name, leave each other’s tools alone', async (t) => {
  const stage = await setStage(t, await stores['embedded']!(t));
  const { registry, compositions } = stage;
  const { url } = await backendFor(t, { tools: ['read', 'write'] });
  await registry.register({ name: 'a', url });
  await registry.register({ name: 'b', url });
  const tools = ['read', 'write'];
  const servers = [
    { name: 'a', tools, curation: { tools: { read: { name: 'x' } } } },
    { name: 'b', tools, curation: { prefix: 'p' } },
  ];
  await compositions.create({ name: 'desk', servers, subjects: ['alice'] }, 'alice');
  await registry.replace('a', { name: 'a', url, curation: { prefix: 'p', tools: { write: { name: 'x' } } } });
  t.equal(await leadsTo(stage, 'alice', 'b-read'), 'b / read / ', "a prefix gives way to its server's name");
  t.equal(await leadsTo(stage, 'alice', 'p-x'), 'a / write / ', 'one of two has the name');
  t.equal(await leadsTo(stage, 'alice', 'p-read'), undefined, 'the other is hidden');
});

t.test('a composition gets the part of a server’s curation that concerns its own tools', async (t) => {
  const stage = await setStage(t, await stores['embedded']!(t));
  const { registry, compositions, records } = stage;
  const files = await backendFor(t, { tools: ['read', 'old'] });
  const configBytes = async (): Promise<number> =>
    (await records.read({ space: 'user-configs', key: 'alice' }))?.length ?? 0;
  await registry.register({ name: 'files', url: files.url });
  const servers = [{ name: 'files', tools: ['read'] }];
  await compositions.create({ name: 'desk', servers, subjects: ['alice'] }, 'alice');
  const before = await configBytes();
  t.ok(before > 0);

  const entry = { description: 'x'.repeat(limits.curationBytesMax / 4) };
  const ofOthers = { tools: { old: { name: 'read', ...entry }, gone: entry }, prompts: { read: entry } };
  await registry.replace('files', { name: 'files', url: files.url, curation: ofOthers });
  t.equal(await configBytes(), before, 'what is said of others fills nobody’s config');
  t.equal(await leadsTo(stage, 'alice', 'files-read'), 'files / read / ', 'and takes no name');

  const ofBoth = { tools: { ...ofOthers.tools, read: { name: 'look', fixed_arguments: { root: '/a' } } } };
  await registry.replace('files', { name: 'files', url: files.url, curation: ofBoth });
  t.equal(await leadsTo(stage, 'alice', 'files-look'), 'files / read / "root":"/a"');
  const special = [{ name: 'files', tools: ['read'], curation: { tools: { old: { name: 'look' } } } }];
  await compositions.replace('desk', { name: 'desk', servers: special }, 'alice');
  t.equal(await leadsTo(stage, 'alice', 'files-look'), 'files / read / "root":"/a"', 'nor does the composition’s own');
});

t.test('a composition that outgrows its share through its servers yields to those of others', async (t) => {
  const stage = await setStage(t, await stores['embedded']!(t));
  const { registry, compositions, records, lines } = stage;
  const { url } = await backendFor(t, { tools: ['read', 'send'] });
  const description = 'x'.repeat(limits.curationBytesMax / 2 - 200);
  const curation = { tools: { read: { description }, send: { description } } };
  const ids: string[] = [];
  for (let n = 0; n * limits.curationBytesMax <= limits.userConfigBytesMax; n++) {
    ids.push((await registry.register({ name: `s${n}`, url })).id);
  }
  await registry.register({ name: 'good', url });
  const servers = ids.map((_, n) => ({ name: `s${n}`, tools: ['read', 'send'] }));
  const large = await compositions.create({ name: 'large', servers, subjects: ['alice'] }, 'mallory');
  // Written to the store directly, as another control plane does, so that no smaller publication happens in between.
  const curate = async (id: string, said: object): Promise<void> => {
    const key = { space: 'records', key: `servers/${id}` } as const;
    const bytes = await records.read(key);
    const stored = JSON.parse(String(bytes)) as { record: object };
    const value = Buffer.from(JSON.stringify({ ...stored, record: { ...stored.record, ...said } }));
    t.ok(await records.swap([{ ...key, expected: bytes, value, isLogged: true }]));
  };
  for (const id of ids) await curate(id, { curation });

  const his = { name: 'his', servers: [{ name: 'good', tools: ['read'] }], subjects: ['alice'] };
  const { id } = await compositions.create(his, 'bob');
  t.equal(await leadsTo(stage, 'alice', 'good-read'), 'good / read / ');
  const published = async (): Promise<string[]> => {
    const bytes = await records.read({ space: 'user-configs', key: 'alice' });
    return Object.keys((JSON.parse(String(bytes)) as { virtual_hosts: object }).virtual_hosts).sort();
  };
  t.same(await published(), [id]);
  t.match(lines.join(''), new RegExp(`larger than \\d+ bytes; published without ${large.id}, which exceeds`));

  for (const each of ids.slice(1)) await curate(each, { curation: undefined });
  await registry.replace('s0', { name: 's0', url, curation: null });
  t.same(await published(), [id, large.id].sort(), 'and is there again when it fits');
});

t.test('nobody takes the prefix of another server', async (t) => {
  const { registry, directory, records } = await setStage(t, await stores['embedded']!(t));
  const { url } = await backendFor(t, { tools: ['read'] });
  const mine = await registry.register({ name: 'My Files', url });
  const other = await registry.register({ name: 'other', url });
  const taken = { code: 'prefix-taken', message: /My Files begin with my-files-/ };
  const curation = { prefix: 'my-files' };
  await t.rejects(registry.register({ name: 'my-files', url }), taken);
  await t.rejects(registry.register({ name: 'third', url, curation }), taken);
  await t.rejects(registry.replace('other', { name: 'my-files', url }), taken);
  await t.rejects(registry.replace('other', { name: 'other', url, curation }), taken);
  await registry.replace('other', { name: 'other', url, curation: { prefix: '' } });
  await t.rejects(registry.register({ name: 'third', url, curation: { prefix: '' } }), {
    message: /other has no prefix/,
  });
  t.equal((await registry.list()).items.length, 2);
  t.equal(directory.servers.backends.get('My Files')?.prefix, 'my-files');
  await registry.replace(mine.id, { name: 'My Files', url, curation });
  await registry.register({ name: 'my-files', url, curation: { prefix: 'mine' } });

  // As an earlier version allowed it, or as two simultaneous changes can cause it.
  const key = { space: 'records', key: `servers/${other.id}` } as const;
  const bytes = await records.read(key);
  const stored = JSON.parse(String(bytes)) as { record: object };
  const value = Buffer.from(JSON.stringify({ ...stored, record: { ...stored.record, curation } }));
  t.ok(await records.swap([{ ...key, expected: bytes, value, isLogged: true }]));
  const changed = await registry.replace('other', { name: 'other', url, description: 'another' });
  t.match(changed, { description: 'another', curation }, 'the rest of it can be changed');
  await directory.sync();
  const prefixes = ['My Files', 'other'].map((name) => directory.servers.backends.get(name)?.prefix);
  t.same(prefixes, ['my-files', undefined], 'and of the two the later gives way');
});

t.test(
  'the maximum of curation of a server and of a composition is served together, and anything beyond is refused',
  async (t) => {
    const stage = await setStage(t, await stores['embedded']!(t));
    const { registry, compositions } = stage;
    const { url } = await backendFor(t, { tools: ['a0', 'b0'] });
    const most = limits.curatedItemsMax / 2;
    const renamed = (letter: string, count: number): Record<string, unknown> =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [letter + n, { name: `x${n}` }]));
    for (const kind of ['tools', 'prompts']) {
      const curation = { [kind]: renamed('a', most + 1) };
      const isRefused = { code: 'invalid', message: `curation ${kind}: must be at most ${most}` };
      await t.rejects(registry.register({ name: 'files', url, curation }), isRefused, kind);
    }
    await registry.register({ name: 'files', url });
    const tooMany = { name: 'files', url, curation: { tools: renamed('a', most + 1) } };
    await t.rejects(registry.replace('files', tooMany), {
      code: 'invalid',
      message: /^curation tools: must be at most/,
    });
    const composed = (count: number): CompositionInput => {
      const curation = { tools: renamed('b', count) };
      return { name: 'desk', servers: [{ name: 'files', tools: ['a0', 'b0'], curation }], subjects: ['alice'] };
    };
    const isRefused = { code: 'invalid', message: /^servers\.0\.curation tools: must be at most/ };
    await t.rejects(compositions.create(composed(most + 1), 'alice'), isRefused);
    await compositions.create(composed(most), 'alice');
    await t.rejects(compositions.replace('desk', composed(most + 1), 'alice'), isRefused);
    t.equal(await leadsTo(stage, 'alice', 'files-x0'), 'files / b0 / ');
    // Now each of the server's names clashes with one of the composition's.
    await registry.replace('files', { name: 'files', url, curation: { tools: renamed('a', most) } });
    t.equal(await leadsTo(stage, 'alice', 'files-x0'), 'files / a0 / ');
    t.equal(await leadsTo(stage, 'alice', 'files-b0'), undefined, 'hidden');
  },
);

t.test('a display name becomes a prefix that clients accept', async (t) => {
  const { registry } = await setStage(t, await stores['embedded']!(t));
  const { url } = await backendFor(t, { tools: ['read'] });
  t.same((await registry.register({ name: 'My Files', url })).curation, { prefix: 'my-files' });
  t.same((await registry.register({ name: 'my.files', url, curation: {} })).curation, { prefix: 'my-files-2' });
  t.same((await registry.register({ name: 'My Own', url, curation: { prefix: 'own' } })).curation, { prefix: 'own' });
  t.equal((await registry.register({ name: 'My_Files-2', url })).curation, undefined);
});
