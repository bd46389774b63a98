// Runs all test files: first those that measure, two at once, where one that failed beside another runs again alone (in strict mode one
// at a time, so that nothing runs again); then the rest, `jobs` at once, small ones as groups with a process for each group. A file that
// its group's process did not finish runs by itself. The results come out as one TAP document, a subtest for each file. Most files start
// programs and wait for them, so if only a few failed, each runs once more at the end, alone: one that passes then points to the machine
// rather than to the system; it is reported with all its failures, and does not fail the run. A measuring file that failed alone has failed.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Parser } from 'tap-parser';
import { removeNow, removeWithProcess } from '../support/leftovers.js';
import { inParallel } from '../support/in-parallel.js';
import { splitGroup } from './group-output.js';
import { runTestFile, runTestGroup, type TestFileRun } from './test-file.js';

/** Reported with the failures of a file that passed on its second run. */
export const PASSED_ALONE = 'passed when it ran once more, alone';
/** When more files fail, the reason is one that a second run would only hide. */
const SECOND_RUNS_MAX = 3;
/** How many measuring files run at once: each leaves most of the machine idle, and what passes beside another passes alone. */
const MEASURING_AT_ONCE = 2;

export interface TestRunSetup {
  readonly root: string;
  /** How many processes run at once. */
  readonly jobs: number;
  /** When true, no file runs a second time. */
  readonly isStrict?: boolean;
  /** Such a file runs before the others, and a failure of it alone on the machine is final. */
  readonly isMeasuring?: (name: string) => boolean;
  /** Which files run together in one process; by default each has its own. */
  readonly groupFiles?: (names: readonly string[]) => readonly (readonly string[])[];
  /** Environment of a file that has a process of its own, beside that of the run. */
  readonly environmentOf?: (name: string) => Readonly<Record<string, string>>;
  /** Filled with the files that run now, so that an interrupted run can name them. */
  readonly running?: Set<string>;
  readonly write: (tap: string) => void;
}

/** Returns whether all have passed, possibly on a second run. */
export async function runTestFiles(names: readonly string[], setup: TestRunSetup): Promise<boolean> {
  const { root, jobs, isStrict = false, isMeasuring = () => false, groupFiles = each, write } = setup;
  const { running = new Set(), environmentOf = () => ({}) } = setup;
  const outputs = mkdtempSync(join(tmpdir(), 'switchyard-tests-'));
  removeWithProcess(outputs);
  const failed: { readonly name: string; readonly run: TestFileRun; isPassedAlone: boolean }[] = [];
  let ended = 0;
  const tell = (name: string, run: TestFileRun, verdict: string, remark = `time=${run.tookMs.toFixed(0)}ms`): void => {
    ended += 1;
    write(`${subtest(name, run)}${verdict} ${ended} - ${name} # ${remark}\n`);
    if (verdict !== 'ok') write(diagnostics(run));
  };

  write('TAP version 14\n');
  const take = (name: string, run: TestFileRun): void => {
    if (hasPassed(run)) return tell(name, run, 'ok');
    failed.push({ name, run, isPassedAlone: false });
    const when = isMeasuring(name) ? 'is told' : 'comes again';
    write(`# failed after ${(run.tookMs / 1000).toFixed(1)} s, and ${when} at the end: ${name}\n`);
  };
  const runOnce = async (group: readonly string[], onRun = take): Promise<void> => {
    const [first = ''] = group;
    const where = { root, outputPath: join(outputs, String(names.indexOf(first))) };
    for (const name of group) running.add(name);
    const run = await (group.length === 1
      ? runTestFile(first, { ...where, environment: environmentOf(first) })
      : runTestGroup(group, where));
    for (const name of group) running.delete(name);
    if (group.length === 1) return onRun(first, run);
    const runs = splitGroup(group, run);
    for (const name of group) {
      const own = runs.get(name);
      if (own !== undefined) take(name, own);
      else await runOnce([name]);
    }
  };
  /** Measuring files that ran while another one did. */
  const beside = new Set<string>();
  /** Those of them that failed. */
  const disturbed: string[] = [];
  const judge = (name: string, run: TestFileRun): void => {
    if (hasPassed(run) || !beside.has(name)) return take(name, run);
    disturbed.push(name);
    write(`# failed beside another after ${(run.tookMs / 1000).toFixed(1)} s, and comes again alone: ${name}\n`);
  };
  await inParallel(names.filter(isMeasuring), isStrict ? 1 : Math.min(jobs, MEASURING_AT_ONCE), async (name) => {
    if (running.size > 0) for (const each of [...running, name]) beside.add(each);
    await runOnce([name], judge);
  });
  for (const name of disturbed) await runOnce([name]);
  await inParallel(groupFiles(names.filter((name) => !isMeasuring(name))), jobs, (group) => runOnce(group));
  const repeatable = failed.filter(({ name }) => !isMeasuring(name));
  if (!isStrict && repeatable.length <= SECOND_RUNS_MAX) {
    for (const file of repeatable) {
      running.add(file.name);
      const again = await runTestFile(file.name, {
        root,
        outputPath: join(outputs, 'again'),
        environment: environmentOf(file.name),
      });
      running.delete(file.name);
      file.isPassedAlone = hasPassed(again);
    }
  }
  for (const { name, run, isPassedAlone } of failed) {
    tell(name, run, 'not ok', isPassedAlone ? `TODO ${PASSED_ALONE}` : undefined);
  }
  write(`1..${names.length}\n`);
  removeNow(outputs);
  return failed.every(({ isPassedAlone }) => isPassedAlone);
}

function each(names: readonly string[]): string[][] {
  return names.map((name) => [name]);
}

/** A file that ends in the middle of its tests, or before the first, has not passed, whatever its exit status. */
function hasPassed({ output, exitStatus, hasHung }: TestFileRun): boolean {
  const parser = new Parser();
  parser.end(output);
  return exitStatus === 0 && !hasHung && parser.ok && parser.count > 0;
}

function subtest(name: string, { output }: TestFileRun): string {
  const lines = output.split('\n').filter((line) => line !== '' && !line.startsWith('TAP version'));
  return `# Subtest: ${name}\n${lines.map((line) => `    ${line}\n`).join('')}`;
}

function diagnostics({ exitStatus, signal, hasHung }: TestFileRun): string {
  const entries = [`exitCode: ${exitStatus}`, `signal: ${signal}`, ...(hasHung ? ['hung: true'] : [])];
  return ['---', ...entries, '...'].map((line) => `  ${line}\n`).join('');
}
