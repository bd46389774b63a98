import t from 'tap';
import { parseOptions } from './options.js';

const areas = ['names', 'store'];

t.test('without words every area is tried, one mutant at a time', async (t) => {
  t.same(parseOptions([], areas), { only: areas, match: '', jobs: 1, isList: false });
});

t.test('areas, names and jobs are chosen', async (t) => {
  const words = ['--only', 'store', '--match', 'redis', '--jobs', '2', '--list'];
  t.same(parseOptions(words, areas), { only: ['store'], match: 'redis', jobs: 2, isList: true });
});

t.test('unknown words and options are refused', async (t) => {
  t.throws(() => parseOptions(['--only', 'edge'], areas), { message: 'no such area: edge; there are names, store' });
  for (const jobs of ['0', '1.5', 'many', '65']) t.throws(() => parseOptions(['--jobs', jobs], areas), /--jobs takes/);
  t.throws(() => parseOptions(['--fast'], areas));
});
