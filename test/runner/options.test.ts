import t from 'tap';
import { parseOptions } from './options.js';

t.test('words select files; --jobs sets how many run at once', async (t) => {
  t.same(parseOptions(['relay/', '--jobs', '3', 'drain']), {
    words: ['relay/', 'drain'],
    tier: undefined,
    isChanged: false,
    jobs: 3,
    isStrict: false,
  });
  t.match(parseOptions(['--tier', 'system', '--changed']), { tier: 'system', isChanged: true });
  t.match(parseOptions([]), { words: { length: 0 } });
  t.match(parseOptions(['--strict', 'drain']), { words: ['drain'], isStrict: true });
  t.ok(parseOptions([]).jobs > 2, 'more than there are cores');
});

t.test('a wrong command line is refused with an explanation', async (t) => {
  for (const jobs of ['0', '65', '1.5', 'many', '']) {
    t.throws(() => parseOptions(['--jobs', jobs]), { message: /--jobs takes a whole number from 1 to 64/ }, jobs);
  }
  t.throws(() => parseOptions(['--tier', 'third']), { message: /--tier takes one of test, system, measure/ });
  t.throws(() => parseOptions(['--reporter=x']), { message: /--reporter/ });
});
