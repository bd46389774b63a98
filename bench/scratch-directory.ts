// Where a bench keeps its store, keys and logs while it runs.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const TRIES_MAX = 10;
const RETRY_MS = 20;

/** Removed when the process exits. */
export function scratchDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'switchyard-bench-'));
  process.once('exit', () => {
    try {
      rmSync(path, { recursive: true, force: true, maxRetries: TRIES_MAX, retryDelay: RETRY_MS });
    } catch {
      // A process that is just being killed may still write into it.
    }
  });
  return path;
}
