import t from 'tap';
import type { Verdict } from './mutation-run.js';
import { isEnough, killedShare, scoreTable, survivorsInWords } from './score.js';

function verdicts(killedCount: number, survivedCount: number): Verdict[] {
  const verdict = (killedBy: string | undefined): Verdict => ({
    mutant: { file: 'src/a.ts', slip: 'a slip', text: 'a < b', becomes: 'a <= b', noticedBy: ['a'] },
    killedBy,
    hasHung: false,
    tookMs: 1,
  });
  return [
    ...Array.from({ length: killedCount }, () => verdict('a')),
    ...Array.from({ length: survivedCount }, () => verdict(undefined)),
  ];
}

t.test('92 of a hundred are enough, fewer are not, and an empty run is no success', async (t) => {
  t.equal(isEnough(verdicts(92, 8)), true);
  t.equal(isEnough(verdicts(91, 9)), false);
  t.equal(isEnough([]), false);
  t.equal(killedShare(verdicts(1, 3)), 0.25);
});

t.test('each area has a line, and so has the total', async (t) => {
  const [, , first, second, all] = scoreTable([
    { area: 'names', verdicts: verdicts(3, 0) },
    { area: 'store', verdicts: verdicts(0, 1) },
  ]).split('\n');
  t.match(first, /names \| +3 \| +3 \| +0 \| 100\.0 /);
  t.match(second, /store \| +1 \| +0 \| +1 \| +0\.0 /);
  t.match(all, /all +\| +4 \| +3 \| +1 \| +75\.0 /);
});

t.test('a survivor is listed with its change', async (t) => {
  t.equal(survivorsInWords(verdicts(2, 1)), 'survived: src/a.ts: a slip\n  - a < b\n  + a <= b');
});
