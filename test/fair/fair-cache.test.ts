import t from 'tap';
import { FairCache } from '../../src/fair/fair-cache.js';

const BOUNDS = { entriesMax: 6, entriesPerSubjectMax: 4, bytesMax: 100, bytesPerSubjectMax: 60 };

function scene() {
  const dropped: string[] = [];
  const cache = new FairCache<string>(BOUNDS, (value) => dropped.push(value));
  const keep = (key: string, bytes = 1): boolean => cache.set(key[0]!, key, key, bytes);
  return { cache, dropped, keep };
}

t.test('a subject at its bound of entries or bytes loses its own oldest, and nobody else anything', async (t) => {
  const { cache, dropped, keep } = scene();
  for (const key of ['a1', 'b1', 'a2', 'a3', 'a4', 'a5']) keep(key);
  t.same(dropped.splice(0), ['a1']);
  keep('a6', 58);
  t.same(dropped.splice(0), ['a2', 'a3'], 'as many as the bytes need');
  t.equal(keep('a7', 61), false, 'more than it could ever have');
  t.same(dropped, []);
  t.equal(cache.get('b1'), 'b1');
  t.equal(cache.bytes, 1 + 1 + 1 + 58);
});

t.test('when all together are at a bound, the subject with the most of it makes room', async (t) => {
  const { cache, dropped, keep } = scene();
  for (const key of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1', 'd1']) keep(key);
  t.same(dropped.splice(0), ['a1'], 'who has most entries');
  keep('b3', 50);
  t.same(dropped.splice(0), ['b1'], 'between equals, its own');
  keep('d2', 49);
  t.same(dropped, ['a2', 'b2', 'b3'], 'who has most entries, and then who has most bytes');
  t.ok(cache.bytes <= BOUNDS.bytesMax);
  t.ok(cache.count <= BOUNDS.entriesMax);
  t.equal(cache.get('c1'), 'c1');
});

t.test('a subject that would have more than twice what any other has is given nothing of theirs', async (t) => {
  const { dropped, keep } = scene();
  for (const key of ['a1', 'b1', 'c1', 'd1']) keep(key, 20);
  t.equal(keep('e1', 41), false);
  t.same(dropped, []);
  t.equal(keep('e1', 40), true);
  t.same(dropped.splice(0), ['a1'], 'the first of those with the most');
  t.equal(keep('e1', 60), false, 'nor for a larger value in place of its own');
  t.same(dropped, ['e1']);
});

t.test('room among very many subjects is found without looking at all of them for each entry', async (t) => {
  const bounds = { bytesMax: 50_000, bytesPerSubjectMax: 12_500 };
  const cache = new FairCache<number>(bounds);
  for (let subject = 0; subject < 40_000; subject += 1) cache.set(`s${subject}`, `k${subject}`, 0, 1);
  for (let key = 0; key < 10_000; key += 1) cache.set('large', `l${key}`, 0, 1);
  const { values } = Map.prototype as { readonly values: (this: Map<unknown, unknown>) => MapIterator<unknown> };
  const searches = t.capture(Map.prototype, 'values', function (this: Map<unknown, unknown>) {
    return values.call(this);
  });
  for (let round = 0; round < 10; round += 1) cache.set('evil', 'e', 0, 12_000);
  const count = searches().length;
  t.ok(count > 0 && count <= 20, `${count} searches among all subjects`);
  t.ok(cache.count > 35_000, 'who has little keeps it');
});

t.test('a value that is kept again is the newest, counts once, and what is deleted counts no more', async (t) => {
  const { cache, dropped, keep } = scene();
  for (const key of ['a1', 'a2', 'a3', 'a4']) keep(key);
  keep('a1', 7);
  t.same(dropped.splice(0), ['a1'], 'the value before it');
  t.equal(cache.bytes, 10);
  keep('a5');
  t.same(dropped, ['a2']);
  for (const value of cache.values()) cache.delete(value);
  t.same([cache.count, cache.bytes], [0, 0]);
});
