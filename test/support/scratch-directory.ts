// A private directory of one test, removed with everything in it when the test is over.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';

export function createScratchDirectory(t: Pick<Test, 'teardown'>): string {
  const path = mkdtempSync(join(tmpdir(), 'switchyard-test-'));
  t.teardown(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
