import t from 'tap';
import { BoundedCounts } from '../../src/fair/share.js';

t.test('the number in progress is bounded, per key and in all', async (t) => {
  const counts = new BoundedCounts({ totalMax: 5, perKeyMax: 3 });
  const added = (key: string, tries: number): number =>
    Array.from({ length: tries }, () => counts.tryAdd(key)).filter((isAdded) => isAdded).length;
  t.equal(added('a', 10), 3);
  t.equal(added('b', 10), 2, 'no more of all');
  counts.remove('b');
  t.equal(added('a', 10), 0, 'there is room, but not for this key');
  t.equal(added('c', 10), 1);
  counts.remove('a');
  t.equal(added('a', 10), 1);
  for (const key of ['a', 'a', 'a', 'b', 'c']) counts.remove(key);
  t.throws(() => counts.remove('c'));
  t.equal(added('b', 10), 3, 'and nothing of what is over counts');
});
