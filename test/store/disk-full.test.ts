// A file system that takes no more, as a limit on the size of files makes it: what is written fails, what is there can be
// read, and once there is room again everything goes on.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { createScratchDirectory } from '../support/scratch-directory.js';

const PROGRAM = fileURLToPath(new URL('../support/disk-filler.js', import.meta.url));
/** Blocks of 512 or 1,024 bytes, as the shell has it. */
const BLOCKS_MAX = 2_000;

/** Rejects unless the status is 0: an unhandled rejection makes it 1, and waiting for what never comes 13. */
async function fill(t: Test, word: string): Promise<unknown> {
  const script = `ulimit -f ${BLOCKS_MAX}; exec "$0" "$@"`;
  const words = ['-c', script, process.execPath, PROGRAM, createScratchDirectory(t), word];
  return JSON.parse((await promisify(execFile)('sh', words)).stdout);
}

t.test('a full disk fails swaps, ends nothing, and heals', async (t) => {
  t.same(await fill(t, ''), { fault: 'RecordStoreFault', read: 100_000, isHealed: true });
});

t.test('a store on a full disk can be closed', async (t) => {
  t.same(await fill(t, 'close'), { fault: 'RecordStoreFault', isClosed: true });
});
