// The kept results: every bench without faults that was written to `results/`, oldest first.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { faultsOf } from './report.js';
import type { BenchResults } from './results.js';

export function readHistory(directory: string): BenchResults[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith('.json'))
    .map((name) => readResults(join(directory, name)))
    .filter(({ runs }) => faultsOf(runs) === 0)
    .sort((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
}

/** Throws when the file does not contain results. */
export function readResults(path: string): BenchResults {
  const value = JSON.parse(readFileSync(path, 'utf8')) as Partial<BenchResults> | null;
  if (typeof value?.startedAt !== 'string' || !Array.isArray(value.runs)) {
    throw new Error(`${path} holds no results of a bench`);
  }
  return value as BenchResults;
}
