// A control plane's mirror equals the store, whoever changed it, and a look costs one request to the store.
import t, { type Test } from 'tap';
import type { StoreOptions } from '../../../src/config/table/store-options.js';
import type { Directory } from '../../../src/control-plane/registry/directory.js';
import { RECORD_CHANGES_KEPT } from '../../../src/store/record-store.js';

import type { RecordStore } from '../../../src/store/record-store.js';
import { setStage, stores, type Stage } from '../stage.js';

const NOISE_PART = 500;
const DEAD_URL = 'http://127.0.0.1:1/mcp';

function namesIn({ servers }: Directory): string[] {
  return servers.sorted.map(({ name }) => name);
}

/** Records the requests to the store. */
function watch(records: RecordStore): { readonly asked: string[] } {
  const asked: string[] = [];
  for (const method of ['readChanges', 'listKeys', 'readMany', 'read'] as const) {
    const original = records[method].bind(records) as (...words: unknown[]) => Promise<never>;
    records[method] = (...words: unknown[]): Promise<never> => {
      asked.push(method);
      return original(...words);
    };
  }
  return { asked };
}

async function twoStages(t: Test, options: StoreOptions): Promise<[Stage, Stage]> {
  return [await setStage(t, options), await setStage(t, options)];
}

for (const [kind, optionsOf] of Object.entries(stores)) {
  t.test(kind, async (t) => {
    t.test('a change by another control plane is known at the next look', async (t) => {
      const [one, other] = await twoStages(t, await optionsOf(t));
      await other.directory.sync();
      t.same(namesIn(other.directory), []);
      await one.registry.register({ name: 'b', url: DEAD_URL, tags: ['x'] });
      await one.registry.register({ name: 'a', url: DEAD_URL });
      await other.directory.sync();
      t.same(namesIn(other.directory), ['a', 'b']);
      await one.registry.replace('a', { name: 'c', url: DEAD_URL, enabled: false });
      await one.registry.remove('b');
      await other.directory.sync();
      t.same(namesIn(other.directory), ['c']);
      t.equal(other.directory.servers.byName('a'), undefined);
      t.match(other.directory.servers.byName('C'), { enabled: false });
      await one.compositions.create({ name: 'x', servers: [{ name: 'c', tools: ['t'] }] }, 'alice');
      await other.directory.sync();
      t.equal(other.directory.compositions.forSubject('alice').length, 1);
    });

    t.test('a server that each user connects is in service whatever its status, unless it is disabled', async (t) => {
      const { registry, directory } = await setStage(t, await optionsOf(t));
      const auth = { type: 'oauth2-user' } as const;
      await registry.register({ name: 'a', url: DEAD_URL });
      await registry.register({ name: 'b', url: DEAD_URL, auth });
      await registry.register({ name: 'c', url: DEAD_URL, auth, enabled: false });
      await directory.sync();
      t.same([...directory.servers.backends.keys()], ['b']);
    });

    t.test('as long as nothing changes a look is one request, and yields the same backends', async (t) => {
      const { registry, directory, records } = await setStage(t, await optionsOf(t));
      await registry.register({ name: 'a', url: DEAD_URL });
      await directory.sync();
      const { backends } = directory.servers;
      const { asked } = watch(records);
      await directory.sync();
      t.same(asked, ['readChanges']);
      t.equal(directory.servers.backends, backends);
      t.same((await registry.list({ tags: ['none'] })).items, []);
      t.same(asked, ['readChanges', 'readChanges'], 'a list reads what is on its page');
      await registry.refresh('a');
      asked.length = 0;
      await directory.sync();
      t.same(asked, ['readChanges'], 'a probe that finds what is known is told to nobody');
    });

    t.test('a mirror that has missed too much reads everything again, and forgets what is gone', async (t) => {
      const [one, other] = await twoStages(t, await optionsOf(t));
      await one.registry.register({ name: 'gone', url: DEAD_URL });
      await one.registry.register({ name: 'kept', url: DEAD_URL });
      await other.directory.sync();
      await one.registry.remove('gone');
      const noise = Array.from({ length: RECORD_CHANGES_KEPT }, (_, n) => ({
        space: 'records' as const,
        key: `noise/${n}`,
        expected: undefined,
        value: Buffer.from('x'),
        isTold: true,
      }));
      // In parts, each small enough for a busy Redis to process within a command's time limit.
      for (let at = 0; at < noise.length; at += NOISE_PART) await one.records.swap(noise.slice(at, at + NOISE_PART));
      await other.directory.sync();
      t.same(namesIn(other.directory), ['kept']);
    });
  });
}

t.test('Redis: a store that lost everything is noticed', async (t) => {
  const { startRedis } = await import('../../support/redis.js');
  const redis = await startRedis(t);
  const { registry, directory } = await setStage(t, redis.storeOptions);
  for (const name of ['a', 'b']) await registry.register({ name, url: DEAD_URL });
  await directory.sync();
  const before = namesIn(directory);
  t.same(before, ['a', 'b']);
  await (await redis.connect()).flushall();
  for (const name of ['c', 'd', 'e']) await registry.register({ name, url: DEAD_URL });
  await directory.sync();
  t.same(namesIn(directory), ['c', 'd', 'e']);
});
