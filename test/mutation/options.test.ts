import t from 'tap';
import { parseOptions } from './options.js';

void t.test('forty mutants of every package, one at a time, with any seed, unless told otherwise', (t) => {
  const { seed, ...others } = parseOptions([]);
  t.ok(Number.isInteger(seed));
  t.same(others, { only: [], sample: 40, jobs: 1 });
  t.same(parseOptions('--only auth --only streams --sample 5 --seed 7 --jobs 2'.split(' ')), {
    only: ['auth', 'streams'],
    sample: 5,
    seed: 7,
    jobs: 2,
  });
  t.equal(parseOptions(['--all']).sample, Infinity);
  t.end();
});

void t.test('what is no whole number in bounds is refused, with the bounds', (t) => {
  t.throws(() => parseOptions(['--sample', '0']), { message: /--sample takes a whole number from 1/ });
  t.throws(() => parseOptions(['--seed', '1.5']), { message: /--seed takes a whole number from 0/ });
  t.throws(() => parseOptions(['--jobs', '65']), { message: /--jobs takes a whole number from 1 to 64/ });
  t.end();
});
