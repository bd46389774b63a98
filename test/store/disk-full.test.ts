// A file system that takes no more, as a limit on the size of files makes it: what is written fails, what is there can be
// read, and once there is room again everything goes on.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { createScratchDirectory } from '../support/scratch-directory.js';

const PROGRAM = fileURLToPath(new URL('../support/disk-filler.js', import.meta.url));
/** Blocks of 512 or 1,024 bytes, as the shell has it. */
const BLOCKS_MAX = 2_000;

interface Outcome {
  readonly fault: string;
  readonly read: number;
  readonly isHealed: boolean;
}

t.test('a full disk fails swaps, ends nothing, and heals', async (t) => {
  const script = `ulimit -f ${BLOCKS_MAX}; exec "$0" "$1" "$2"`;
  const words = ['-c', script, process.execPath, PROGRAM, createScratchDirectory(t)];
  // Rejects unless the status is 0: an unhandled rejection makes it 1.
  const { stdout } = await promisify(execFile)('sh', words);
  const outcome = JSON.parse(stdout) as Outcome;
  t.same(outcome, { fault: 'RecordStoreFault', read: 100_000, isHealed: true });
});
