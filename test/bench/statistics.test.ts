import t from 'tap';
import { median, ratios, spread } from '../../bench/statistics.js';

t.test('the median is the middle value, or the mean of the two middle ones', async (t) => {
  t.equal(median([7]), 7);
  t.equal(median([9, 1, 5]), 5);
  t.equal(median([4, 1, 3, 2]), 2.5);
  t.equal(median([10, 9, 100]), 10, 'numbers are compared as numbers');
});

t.test('taking a median leaves the values in their order', async (t) => {
  const values = [3, 1, 2];
  median(values);
  t.same(values, [3, 1, 2]);
});

t.test('there is no median of no values', async (t) => {
  t.throws(() => median([]), { message: 'no values to take a median of' });
});

t.test('a spread consists of the ends and the middle', async (t) => {
  t.same(spread([5, 1, 9, 2, 3]), { minimum: 1, median: 3, maximum: 9 });
});

t.test('a ratio is taken within a round, whatever the order of the rounds', async (t) => {
  const figures = [
    { round: 1, value: 30 },
    { round: 2, value: 80 },
  ];
  const yardstick = [
    { round: 2, value: 40 },
    { round: 1, value: 20 },
  ];
  t.same(ratios(figures, yardstick), [1.5, 2]);
});

t.test('rounds that lack one of the two, and yardsticks of zero, have no ratio', async (t) => {
  const figures = [
    { round: 1, value: 30 },
    { round: 2, value: 80 },
    { round: 3, value: 10 },
  ];
  const yardstick = [
    { round: 1, value: 0 },
    { round: 3, value: 5 },
    { round: 4, value: 5 },
  ];
  t.same(ratios(figures, yardstick), [2]);
});
