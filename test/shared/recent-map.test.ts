import t from 'tap';
import { dropOldest, getOrMake, RecentMap } from '../../src/shared/recent-map.js';

const lengthOf = (value: string): number => value.length;

t.test('used entries stay, the one unused for longest is dropped', async (t) => {
  const map = new RecentMap<string>(100, 1_000_000, lengthOf);
  map.set('used', 'kept');
  map.set('unused', 'dropped');
  for (let n = 0; n < 1_000; n++) {
    map.set(`filler ${n}`, 'x');
    t.equal(map.get('used'), 'kept');
  }
  t.equal(map.get('unused'), undefined);
});

t.test('there are never more entries than allowed', async (t) => {
  const map = new RecentMap<string>(100, 1_000_000, lengthOf);
  for (let n = 0; n < 1_000; n++) map.set(`entry ${n}`, 'x');
  const held = Array.from({ length: 1_000 }, (_, n) => n).filter((n) => map.get(`entry ${n}`) !== undefined);
  t.ok(held.length >= 50 && held.length <= 100, `${held.length} held`);
  t.ok(held.includes(999), 'the last one among them');
});

t.test('there is not one entry too many, however many were added', async (t) => {
  for (let count = 1; count <= 12; count++) {
    // Each lookup has its own map, because a lookup counts as use.
    const isHeld = (n: number): boolean => {
      const map = new RecentMap<string>(4, 1_000_000, lengthOf);
      for (let each = 0; each < count; each++) map.set(`entry ${each}`, 'x');
      return map.get(`entry ${n}`) !== undefined;
    };
    const held = Array.from({ length: count }, (_, n) => n).filter(isHeld);
    t.ok(held.length <= 4 && held.length >= Math.min(count, 2), `${held.length} of ${count} held`);
    t.ok(held.includes(count - 1));
  }
});

t.test('there are never more bytes than allowed', async (t) => {
  const map = new RecentMap<string>(1_000, 1_000, lengthOf);
  const value = 'x'.repeat(100);
  for (let n = 0; n < 500; n++) map.set(`entry ${n}`, value);
  const held = Array.from({ length: 500 }, (_, n) => n).filter((n) => map.get(`entry ${n}`) !== undefined);
  t.ok(held.length >= 5 && held.length <= 10, `${held.length} held`);
});

t.test('a replaced value is counted once', async (t) => {
  const map = new RecentMap<string>(1_000, 1_000, lengthOf);
  map.set('bystander', 'y'.repeat(100));
  for (let n = 0; n < 500; n++) map.set('entry', 'x'.repeat(100));
  t.equal(map.get('bystander'), 'y'.repeat(100));
});

t.test('a deleted entry is gone from both generations', async (t) => {
  const map = new RecentMap<string>(4, 1_000, lengthOf);
  map.set('a', 'old');
  map.set('b', 'old');
  map.set('c', 'young');
  for (const key of ['a', 'c']) {
    map.delete(key);
    t.equal(map.get(key), undefined, key);
  }
  t.equal(map.get('b'), 'old');
  map.clear();
  t.equal(map.get('b'), undefined);
});

t.test('a value is made once, and the oldest entry of a full map makes room', async (t) => {
  const map = new Map<string, number>();
  t.equal(
    getOrMake(map, 'a', () => 1),
    1,
  );
  t.equal(
    getOrMake(map, 'a', () => 2),
    1,
  );
  map.set('b', 3);
  t.equal(dropOldest(map, 3), undefined);
  t.equal(dropOldest(map, 2), 1);
  t.same([...map.keys()], ['b']);
});
