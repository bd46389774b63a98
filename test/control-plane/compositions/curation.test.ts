// What is curated of a server and in a composition, published: read as the dataplane reads it. And what cannot be together.
import t from 'tap';
import type { CompositionInput } from '../../../src/control-plane/compositions/composition.js';
import { limits } from '../../../src/shared/limits.js';
import { decodeUserConfig } from '../../../src/user-config/user-config-schema.js';
import { compileUserConfig } from '../../../src/user-config/compile-config.js';
import { routeName } from '../../../src/user-config/routing.js';
import { backendFor } from '../../support/deployment.js';
import { setStage, stores, type Stage } from '../stage.js';

/** Where a tool's name leads that the subject uses, and what its calls get: `server / tool / fixed`. */
async function leadsTo({ records }: Stage, subject: string, name: string): Promise<string | undefined> {
  const bytes = await records.read({ space: 'user-configs', key: subject });
  const decoding = decodeUserConfig(bytes ?? Buffer.from(''));
  if (!decoding.ok) throw new Error(decoding.issues);
  const [host] = compileUserConfig(decoding.config, 'plain-text-or-tls').virtualHosts.values();
  const route = host && routeName(host, 'tools', name);
  return route && `${route.backend.name} / ${route.bareName} / ${route.curated?.fixedMembers ?? ''}`;
}

t.test('a server is curated for all, and for one composition otherwise', async (t) => {
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
  await t.rejects(register({ tools: { read: { description: 'x'.repeat(40_000) } } }), { message: /too much/ });
  await register({ prefix: 'p', tools: { read: { name: 'look' } } });
  await registry.register({ name: 'more', url });
  const compose = (...servers: object[]): Promise<unknown> =>
    compositions.create({ name: 'desk', servers: servers as never, subjects: ['alice'] }, 'alice');
  const tools = ['read', 'write'];
  const twice = { tools: { write: { name: 'look' } } };
  await t.rejects(compose({ name: 'files', tools, curation: twice }), {
    message: /^servers .* is that of another one/,
  });
  const same = { name: 'more', tools, curation: { prefix: 'p' } };
  await t.rejects(compose({ name: 'files', tools }, same), { message: /^servers .* is that of another backend/ });
  const odd = { name: 'more', tools, curation: { tols: {} } };
  await t.rejects(compose(odd), { message: /^servers\.0\.curation / });
});

t.test('servers that come to have one prefix, or one name, leave each other’s tools alone', async (t) => {
  const stage = await setStage(t, await stores['embedded']!(t));
  const { registry, compositions, directory } = stage;
  const { url } = await backendFor(t, { tools: ['read', 'write'] });
  await registry.register({ name: 'a', url });
  await registry.register({ name: 'b', url });
  const tools = ['read', 'write'];
  const servers = [
    { name: 'a', tools, curation: { tools: { read: { name: 'x' } } } },
    { name: 'b', tools },
  ];
  await compositions.create({ name: 'desk', servers, subjects: ['alice'] }, 'alice');
  await registry.replace('a', { name: 'a', url, curation: { prefix: 'b', tools: { write: { name: 'x' } } } });
  t.equal(await leadsTo(stage, 'alice', 'b-read'), 'b / read / ', 'a prefix gives way to the name of another');
  t.equal(await leadsTo(stage, 'alice', 'a-x'), 'a / write / ', 'one of two has the name');
  t.equal(await leadsTo(stage, 'alice', 'a-read'), undefined, 'the other is hidden');
  await directory.sync();
  t.equal(directory.servers.backends.get('a')?.prefix, undefined);
});

t.test(
  'as much as may be said of a server and of a composition is served together, and no more is taken',
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
    // Now each of the server's clashes with one of the composition's.
    await registry.replace('files', { name: 'files', url, curation: { tools: renamed('a', most) } });
    t.equal(await leadsTo(stage, 'alice', 'files-x0'), 'files / a0 / ');
    t.equal(await leadsTo(stage, 'alice', 'files-b0'), undefined, 'hidden');
  },
);

t.test('of a display name a prefix is made that clients take', async (t) => {
  const { registry } = await setStage(t, await stores['embedded']!(t));
  const { url } = await backendFor(t, { tools: ['read'] });
  t.same((await registry.register({ name: 'My Files', url })).curation, { prefix: 'my-files' });
  t.same((await registry.register({ name: 'my.files', url, curation: {} })).curation, { prefix: 'my-files-2' });
  t.same((await registry.register({ name: 'My Own', url, curation: { prefix: 'own' } })).curation, { prefix: 'own' });
  t.equal((await registry.register({ name: 'My_Files-2', url })).curation, undefined);
});
