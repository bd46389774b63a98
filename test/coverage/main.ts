// `npm run coverage`: runs the tests with V8's coverage on, including the programs that they start, and shows which share of
// the lines of each area ran. Exit status 1 when a test fails or a share is below its floor.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { removeWithProcess } from '../support/leftovers.js';
import { areasOf, areaTable, FLOOR_PERCENT, isEnough, leastCovered, type CoverageSummary } from './areas.js';

const SHOWN_FILES = 15;

const root = fileURLToPath(new URL('../../..', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'switchyard-coverage-'));
removeWithProcess(scratch);

const raw = join(scratch, 'raw');
const tests = run(process.execPath, ['build/test/runner/main.js', ...process.argv.slice(2)], { NODE_V8_COVERAGE: raw });
// Reads the coverage of both builds, the program's and the tests' own, and maps it to their sources.
const words = ['report', '--temp-directory', raw, '--merge-async', '--exclude-after-remap', '--include', 'src/**'];
const report = join(scratch, 'report');
run(join(root, 'node_modules/.bin/c8'), [...words, '--reporter', 'json-summary', '--reports-dir', report], {});

const summary = JSON.parse(readFileSync(join(report, 'coverage-summary.json'), 'utf8')) as CoverageSummary;
const areas = areasOf(summary, join(root, 'src'));
const files = leastCovered(areas, SHOWN_FILES).map((file) => `${file.uncovered} of ${file.total}  ${file.name}`);
process.stdout.write(`\n${areaTable(areas)}\n\nLines that never ran, most first:\n  ${files.join('\n  ')}\n`);
process.stdout.write(`The floor of an area that has one is ${FLOOR_PERCENT} %.\n`);
process.exitCode = tests === 0 && isEnough(areas) ? 0 : 1;

/** @returns the exit status; 1 for a process that a signal has ended. */
function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv): number {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } });
  if (error !== undefined) throw error;
  return status ?? 1;
}
