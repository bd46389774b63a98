// A private directory for one test, removed with its contents when the test or its process ends.
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
