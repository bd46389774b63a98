import t from 'tap';
import { PerSecondQuota } from '../../src/fair/load-shedder.js';

t.test('the number a second is bounded, per key and in all, and starts over with the next second', async (t) => {
  let nowMs = 5_250;
  const few = new PerSecondQuota(2, () => nowMs);
  const taken = (key: string, count: number, totalMax = 5): number =>
    Array.from({ length: count }, () => few.tryTake(key, totalMax)).filter((isTaken) => isTaken).length;
  for (let second = 0; second < 3; second += 1) {
    t.equal(taken('a', 10), 2);
    t.equal(taken('b', 10), 2, 'another has its own');
    nowMs += 700;
    t.equal(taken('c', 10), 1, 'but all together');
    t.equal(taken('d', 10), 0);
    nowMs += 300;
  }
  t.equal(taken('a', 1, 0), 0);
  t.equal(taken('a', 10, 1), 1, 'what all may take can change');
  t.equal(taken('b', 10, 2), 1);
});
