// A full file system, simulated by a limit on the size of files: writes fail, existing data can be read, and once there is room again
// everything works.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { createScratchDirectory } from '../support/scratch-directory.js';

const PROGRAM = fileURLToPath(new URL('../support/disk-filler.js', import.meta.url));
/** In the shell's blocks, of 512 or 1,024 bytes. */
const BLOCKS_MAX = 2_000;

/** Rejects unless the exit status is 0: an unhandled rejection makes it 1, and a promise that never settles 13. */
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
