import t from 'tap';
import { slugOf, slugsFor } from '../../../src/control-plane/registry/server-storage.js';

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
  const slugs = slugsFor('My Server');
  t.same([slugs.next().value, slugs.next().value, slugs.next().value], ['my-server', 'my-server-2', 'my-server-3']);
});
