// Where a bench keeps its store, keys and logs while it runs.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Gone when the process exits. */
export function scratchDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'switchyard-bench-'));
  process.once('exit', () => rmSync(path, { recursive: true, force: true }));
  return path;
}
