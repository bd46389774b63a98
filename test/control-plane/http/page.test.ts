import t from 'tap';
import { nextLink } from '../../../src/control-plane/http/operation.js';
import { rowsOf } from '../mirror/rows.js';

const rows = rowsOf(['Alpha', 'beta', 'Gamma', 'delta 2']);

function namesOf(page: { readonly items: readonly { readonly name: string }[] }): string[] {
  return page.items.map(({ name }) => name);
}

t.test('without a limit a page has everything, and no cursor', async (t) => {
  const page = rows.page({});
  t.same(namesOf(page), ['Alpha', 'beta', 'delta 2', 'Gamma']);
  t.equal(page.cursor, undefined);
});

t.test('pages follow each other without a gap, and the last one has no cursor', async (t) => {
  for (const limit of [1, 2, 3, 4, 5]) {
    const names: string[] = [];
    let pages = 0;
    let cursor: string | undefined;
    do {
      const page = rows.page({ limit, cursor });
      t.ok(page.items.length <= limit);
      names.push(...namesOf(page));
      cursor = page.cursor;
      pages++;
    } while (cursor !== undefined);
    t.same(names, ['Alpha', 'beta', 'delta 2', 'Gamma'], `limit ${limit}`);
    t.equal(pages, Math.ceil(4 / limit));
  }
});

t.test('filtered items are on no page, and no more items are examined than fill one', async (t) => {
  const looked: string[] = [];
  const isWanted = ({ name }: { readonly name: string }): boolean => {
    looked.push(name);
    return name !== 'beta';
  };
  const first = rows.page({ limit: 1 }, isWanted);
  t.same(namesOf(first), ['Alpha']);
  t.same(looked, ['Alpha', 'beta', 'delta 2']);
  const { cursor = '' } = first;
  t.same(namesOf(rows.page({ cursor }, isWanted)), ['delta 2', 'Gamma']);
  t.notOk(looked.slice(3).includes('Alpha'), 'what is on a page before is not looked at');
});

t.test('a cursor stays valid when its item is gone', async (t) => {
  const { cursor = '' } = rows.page({ limit: 2 });
  t.same(namesOf(rowsOf(['a', 'Z']).page({ cursor })), ['Z']);
});

t.test('any bytes are accepted as a cursor', async (t) => {
  t.same(namesOf(rows.page({ cursor: '____' })), []);
});

t.test('the link is the same request with another cursor', async (t) => {
  t.equal(nextLink('/servers', 'abc'), '</servers?cursor=abc>; rel="next"');
  t.equal(
    nextLink('/servers?tags=a%2Cb&cursor=old&limit=2', 'new'),
    '</servers?tags=a%2Cb&cursor=new&limit=2>; rel="next"',
  );
});
