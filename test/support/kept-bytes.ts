// How much heap memory remains in use after all garbage has been collected.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** For texts that take much more memory than what is kept beside them. */
export const LONG_TEXT_CHARS = 1024 * 1024;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

export function keptHeapBytes(work: () => void): number {
  collect();
  const before = process.memoryUsage().heapUsed;
  work();
  collect();
  return process.memoryUsage().heapUsed - before;
}
