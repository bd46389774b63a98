import t from 'tap';
import { Quota } from '../../src/fair/quota.js';

t.test('the number in progress is bounded, per key and in all', async (t) => {
  const quota = new Quota(5, 3);
  const added = (key: string, tries: number): number =>
    Array.from({ length: tries }, () => quota.tryTake(key)).filter((isAdded) => isAdded).length;
  t.equal(added('a', 10), 3);
  t.equal(added('b', 10), 2, 'no more of all');
  quota.give('b');
  t.equal(added('a', 10), 0, 'there is room, but not for this key');
  t.equal(added('c', 10), 1);
  quota.give('a');
  t.equal(added('a', 10), 1);
  for (const key of ['a', 'a', 'a', 'b', 'c']) quota.give(key);
  t.throws(() => quota.give('c'));
  t.equal(added('b', 10), 3, 'and nothing of what is over counts');
});

t.test('however many keys have as much as they can, one more finds room', async (t) => {
  const quota = new Quota(16_384);
  for (let key = 0; key < 200; key += 1) {
    while (quota.tryTake(`attacker ${key}`));
    t.equal(quota.tryTake('ada'), true, `beside ${key + 1} of them`);
    quota.give('ada');
  }
  t.equal(quota.hasRoom, false, 'for those that have much');
});
