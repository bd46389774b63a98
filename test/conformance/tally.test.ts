// When a scenario counts as passed: the suite itself accepts less.
import t from 'tap';
import { Tally } from './tally.js';

function tallyOf(exitCode: number, output: string): Tally {
  const tally = new Tally({
    revision: '2025-11-25',
    workers: 1,
    scenarios: [],
    isVerbose: false,
    report: () => undefined,
  });
  tally.add('scenario', true, { exitCode, output });
  return tally;
}

function results(line: string): string {
  return `Running scenario\nTest Results:\n${line}\n`;
}

t.test('a scenario has passed when it checked something, without a failure or a warning', async (t) => {
  const rows: readonly (readonly [why: string, exitCode: number, output: string, isGood: boolean])[] = [
    ['one check', 0, results('Passed: 1/1, 0 failed, 0 warnings'), true],
    ['many checks', 0, results('Passed: 12/12, 0 failed, 0 warnings'), true],
    ['no check', 0, results('Passed: 0/0, 0 failed, 0 warnings'), false],
    ['fewer than there are', 0, results('Passed: 1/12, 0 failed, 0 warnings'), false],
    ['a failure', 0, results('Passed: 9/10, 1 failed, 0 warnings'), false],
    ['warnings', 0, results('Passed: 9/9, 0 failed, 10 warnings'), false],
    ['skipped', 0, "SKIPPED: scenario 'x' is of another revision\n", false],
    ['nothing said', 0, '', false],
    ['another exit', 1, results('Passed: 1/1, 0 failed, 0 warnings'), false],
  ];
  for (const [why, exitCode, output, isGood] of rows) {
    const tally = tallyOf(exitCode, output);
    t.equal(tally.isAllGood, isGood, why);
    t.same([tally.runCount, tally.passedCount, tally.scoredCount], [1, isGood ? 1 : 0, 1], why);
  }
});
