// A private directory of one test, removed with everything in it when the test is over, or its process.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { removeNow, removeWithProcess } from './leftovers.js';

export function createScratchDirectory(t: Pick<Test, 'teardown'>): string {
  const path = mkdtempSync(join(tmpdir(), 'switchyard-test-'));
  removeWithProcess(path);
  t.teardown(() => removeNow(path));
  return path;
}
