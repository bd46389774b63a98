// All test files, some at once, each as soon as another has ended: their results come out as one document of TAP, a subtest
// for each file.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Parser } from 'tap-parser';
import { removeNow, removeWithProcess } from '../support/leftovers.js';
import { inParallel } from '../support/in-parallel.js';
import { runTestFile, type TestFileRun } from './test-file.js';

export interface TestRunSetup {
  readonly root: string;
  /** So many at once. */
  readonly jobs: number;
  readonly write: (tap: string) => void;
}

/** Answers whether all have passed. */
export async function runTestFiles(names: readonly string[], { root, jobs, write }: TestRunSetup): Promise<boolean> {
  const outputs = mkdtempSync(join(tmpdir(), 'switchyard-tests-'));
  removeWithProcess(outputs);
  let ended = 0;
  let isPassed = true;
  write('TAP version 14\n');
  await inParallel([...names.entries()], jobs, async ([index, name]) => {
    const run = await runTestFile(name, { root, outputPath: join(outputs, String(index)) });
    ended += 1;
    const isGood = hasPassed(run);
    isPassed &&= isGood;
    write(`${subtest(name, run)}${isGood ? 'ok' : 'not ok'} ${ended} - ${name} # time=${run.tookMs.toFixed(0)}ms\n`);
    if (!isGood) write(diagnostics(run));
  });
  write(`1..${names.length}\n`);
  removeNow(outputs);
  return isPassed;
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
