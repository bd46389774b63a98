// `npm test`: runs the compiled test files, all or those with one of the given words in their name, and reports a line for
// each file and what failed. Exit status 1 when anything did.
import { fileURLToPath } from 'node:url';
import FailureReport from './failure-report.js';
import { testFiles } from './file-order.js';
import { runTestFiles } from './test-run.js';

/** More than the two cores of the smallest machine that runs them: many files wait for something much of the time. */
const JOBS = 3;

const root = fileURLToPath(new URL('../../..', import.meta.url));
const words = process.argv.slice(2);
const names = testFiles(root, words);
if (names.length === 0) {
  process.stderr.write(`no test file has any of these in its name: ${words.join(', ')}\n`);
  process.exit(64);
}
const report = new FailureReport();
report.pipe(process.stdout);
const isPassed = await runTestFiles(names, { root, jobs: JOBS, write: (tap) => report.write(tap) });
report.end();
process.exitCode = isPassed ? 0 : 1;
