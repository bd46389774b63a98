import t from 'tap';
import { comparisonTable, compareWithBaseline, createBaseline, isWithinBounds } from '../../bench/baseline.js';
import type { Run } from '../../bench/results.js';
import { results, run } from './results-fixture.js';

/** Rounds with these ratios to nginx. */
function callRuns(ratios: readonly number[], connections = 16): Run[] {
  return ratios.flatMap((ratio, round) => [
    run(round, 'gateway', ratio * 20, { connections }),
    run(round, 'nginx', 20, { connections }),
  ]);
}

function idleRun(bytesPerSession: number): Run {
  const idle = run(1, 'gateway', 1, { scenario: 'idle', unit: 'session', connections: 10_000 });
  const { measurement } = idle;
  return {
    ...idle,
    measurement: { ...measurement, targetResidentBytes: bytesPerSession * measurement.requests },
  };
}

const baseline = createBaseline(results([...callRuns([1.9, 2, 5]), idleRun(6_000)]));

function verdicts(runs: readonly Run[]): string[] {
  return compareWithBaseline(results(runs), baseline).map(({ verdict }) => verdict);
}

t.test('a baseline consists of medians, and says what it was made from', async (t) => {
  t.same(baseline, {
    startedAt: '2026-01-02T03:04:05.000Z',
    commit: 'abcdef0',
    processor: 'Some Processor',
    loadAverageBefore: 0.1,
    figures: [
      { scenario: 'call', connections: 16, value: 2 },
      { scenario: 'idle', connections: 10_000, value: 6_000 },
    ],
  });
});

t.test('a ratio may be 0.85 to 1.2 of the baseline’s, bounds included', async (t) => {
  for (const [ratio, verdict] of [
    [1.69, 'faster'],
    [1.7, 'ok'],
    [2, 'ok'],
    [2.4, 'ok'],
    [2.41, 'slower'],
  ] as const) {
    t.same(verdicts(callRuns([ratio])), [verdict], String(ratio));
  }
});

t.test('one bad round of several does not move the median', async (t) => {
  t.same(verdicts(callRuns([2, 2, 9])), ['ok']);
  t.same(verdicts(callRuns([2, 9, 9])), ['slower']);
});

t.test('a slower machine does not make the gateway look slower', async (t) => {
  const slowMachine = [run(1, 'gateway', 400), run(1, 'nginx', 200)];
  t.same(verdicts(slowMachine), ['ok']);
});

t.test('memory has no yardstick and is compared as it is', async (t) => {
  t.same(verdicts([idleRun(7_000)]), ['ok']);
  t.same(verdicts([idleRun(7_300)]), ['slower']);
});

t.test('a figure out of bounds on either side fails, a new one does not', async (t) => {
  const isGood = (runs: readonly Run[]) => isWithinBounds(compareWithBaseline(results(runs), baseline));
  t.equal(isGood(callRuns([2])), true);
  t.equal(isGood([...callRuns([2]), ...callRuns([9], 64)]), true, 'the baseline has no 64 connections');
  t.equal(isGood([...callRuns([2]), idleRun(9_000)]), false);
  t.equal(isGood(callRuns([1])), false);
});

t.test('a comparison without figures fails', async (t) => {
  t.equal(isWithinBounds([]), false);
  t.equal(isWithinBounds(compareWithBaseline(results(callRuns([2], 64)), baseline)), false);
  t.same(verdicts([run(1, 'gateway', 40)]), [], 'without its yardstick a figure has no ratio');
});

t.test('the comparison is printed line by line', async (t) => {
  const [, , line, added] = comparisonTable(
    compareWithBaseline(results([...callRuns([3]), ...callRuns([3], 64)]), baseline),
  ).split('\n');
  t.match(line, /call +\| +16 \| +2\.00 \| 3\.00 \| +1\.50 \| slower/);
  t.match(added, /call +\| +64 \| +– \| 3\.00 \| +– \| new/);
});
