import t from 'tap';
import { ServerStorage, slugOf } from '../../../src/control-plane/registry/server-storage.js';
import type { RecordStore } from '../../../src/store/record-store.js';

t.test('a name becomes a path segment', async (t) => {
  const slugs = {
    demo: 'demo',
    'My Server': 'my-server',
    'a_b.c--d  e': 'a-b-c-d-e',
    '-x-': 'x',
    '._-': 'server',
    v2: 'v2',
  };
  for (const [name, slug] of Object.entries(slugs)) t.equal(slugOf(name), slug, name);
});

t.test('a number is added while others have the slug', async (t) => {
  const taken = new Set(['server-slugs/my-server', 'server-slugs/my-server-2']);
  const read = async ({ key }: { readonly key: string }) => (taken.has(key) ? Buffer.from('0') : undefined);
  const storage = new ServerStorage({ read } as unknown as RecordStore);
  t.equal(await storage.findFreeSlug('My Server'), 'my-server-3');
  t.equal(await storage.findFreeSlug('Other'), 'other');
});
