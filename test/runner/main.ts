// `npm test`: runs the compiled test files of a tier, all or those whose names contain one of the given words, and reports a line
// for each file and what failed. Exit status 1 when a file failed, also on its second run alone.
import { fileURLToPath } from 'node:url';
import { changedModules, reachedTests } from './changed.js';
import FailureReport from './failure-report.js';
import { parseOptions, usage, type TestOptions } from './options.js';
import { groupFiles } from './shared-processes.js';
import { runTestFiles } from './test-run.js';
import { isMeasuring, testFiles, tiersOf } from './tiers.js';

const EXIT_USAGE = 64;

function exitWithUsage(reason: string): never {
  process.stderr.write(`${reason}\n${usage}\n`);
  process.exit(EXIT_USAGE);
}

function optionsOf(words: readonly string[]): TestOptions {
  try {
    return parseOptions(words);
  } catch (error) {
    return exitWithUsage(error instanceof Error ? error.message : String(error));
  }
}

const root = fileURLToPath(new URL('../../..', import.meta.url));
const { words, tier, isChanged, jobs, isStrict } = optionsOf(process.argv.slice(2));
const fitting = testFiles(root, words, tier);
if (fitting.length === 0) exitWithUsage(`no test file has any of these in its name: ${words.join(', ')}`);
const names = isChanged ? reachedTests(root, fitting, changedModules(root)) : fitting;
/** The first tier has run the rows on one deployment; what has no rows there runs on all. */
const environmentOf = (name: string): Readonly<Record<string, string>> =>
  tier === 'system' ? { TEST_DEPLOYMENTS: tiersOf(root, name).length > 1 ? 'others' : 'all' } : {};
const report = new FailureReport();
report.pipe(process.stdout);
const running = new Set<string>();
// Tells the user who ends a slow run which files were running. Whatever the files have started ends with the process.
process.once('SIGTERM', () => {
  process.stdout.write(`ended while these ran: ${[...running].join(', ') || 'none'}\n`, () => process.exit(1));
});
const isPassed = await runTestFiles(names, {
  root,
  jobs,
  isStrict,
  isMeasuring,
  environmentOf,
  running,
  groupFiles: (others) => groupFiles(root, others),
  write: (tap) => report.write(tap),
});
report.end();
process.exitCode = isPassed ? 0 : 1;
