// In the process of a group: each file's test, by the URL that the file's import of tap resolves to.
import type { Test } from 'tap';

const tests = new Map<string, Test>();

/** @param file URL of the compiled test file. */
export function setTestOf(file: string, test: Test): void {
  tests.set(file, test);
}

/** @param module URL of `file-tap.js`, which names the file. */
export function testNamedIn(module: string): Test {
  const file = new URL(module).searchParams.get('file') ?? '';
  const test = tests.get(file);
  if (test === undefined) throw new Error(`no test of this group: ${file}`);
  return test;
}
