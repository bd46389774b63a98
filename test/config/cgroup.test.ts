import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import {
  readCgroupBounds,
  type CgroupFiles,
  defaultWorkerCount,
  defaultWorkerMemoryBytes,
  machineMemoryBytes,
} from '../../src/config/machine-memory.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

const MIB = 1_048_576;
const NO_BOUNDS = { memoryBytes: Infinity, processors: Infinity };

/** A tree of cgroups like Linux's, with the given files in each. */
function fakeTree(t: Test, membership: string, cgroups: Record<string, Record<string, string>>): CgroupFiles {
  const directory = createScratchDirectory(t);
  const files = { membership: join(directory, 'membership'), root: join(directory, 'root') };
  writeFileSync(files.membership, membership);
  for (const [path, contents] of Object.entries(cgroups)) {
    mkdirSync(join(files.root, path), { recursive: true });
    for (const [name, text] of Object.entries(contents)) writeFileSync(join(files.root, path, name), `${text}\n`);
  }
  return files;
}

t.test('the bounds of the process’s own cgroup are read', async (t) => {
  const own = { 'memory.max': String(512 * MIB), 'cpu.max': '150000 100000' };
  const files = fakeTree(t, '0::/unit\n', { unit: own });
  t.strictSame(readCgroupBounds(files), { memoryBytes: 512 * MIB, processors: 1.5 });
});

t.test('the tightest bound of all parents counts, for memory and processors separately', async (t) => {
  const files = fakeTree(t, '1:cpu:/other\n0::/slice/pod/container\n', {
    slice: { 'memory.max': String(256 * MIB), 'cpu.max': 'max 100000' },
    'slice/pod': { 'memory.max': String(512 * MIB), 'cpu.max': '50000 100000' },
    'slice/pod/container': { 'memory.max': 'max', 'cpu.max': '400000 100000' },
    other: { 'memory.max': '1', 'cpu.max': '1 100000' },
  });
  t.strictSame(readCgroupBounds(files), { memoryBytes: 256 * MIB, processors: 0.5 });
});

t.test("a container that sees the host's names finds its own bounds at the root", async (t) => {
  for (const path of ['/kubepods/pod/container', '/../../container']) {
    const files = fakeTree(t, `0::${path}\n`, { '.': { 'memory.max': String(MIB), 'cpu.max': '300000 100000' } });
    t.strictSame(readCgroupBounds(files), { memoryBytes: MIB, processors: 3 }, path);
  }
});

t.test('there are no bounds when none is set, files are missing, or cgroups are not version 2', async (t) => {
  const unset = { 'memory.max': 'max', 'cpu.max': 'max 100000' };
  t.strictSame(readCgroupBounds(fakeTree(t, '0::/unit\n', { unit: unset })), NO_BOUNDS);
  t.strictSame(readCgroupBounds(fakeTree(t, '0::/unit\n', { unit: {} })), NO_BOUNDS);
  t.strictSame(readCgroupBounds(fakeTree(t, '4:memory:/unit\n', { unit: { 'memory.max': '1' } })), NO_BOUNDS);
  t.strictSame(readCgroupBounds({ membership: '/nowhere', root: '/nowhere' }), NO_BOUNDS);
});

t.test('defaults respect the bounds', async (t) => {
  const bounds = (processors: number): typeof NO_BOUNDS => ({ ...NO_BOUNDS, processors });
  t.strictSame(
    [0.1, 1, 1.5, 2, 64, Infinity].map((processors) => defaultWorkerCount(bounds(processors), 8)),
    [1, 1, 2, 2, 8, 8],
  );
  // Less memory than any test machine has, so that the machine's own amount is no tighter bound.
  t.equal(machineMemoryBytes({ ...NO_BOUNDS, memoryBytes: 64 * MIB }), 64 * MIB);
  t.equal(machineMemoryBytes({ ...NO_BOUNDS, memoryBytes: 0 }), machineMemoryBytes(NO_BOUNDS), '0 is no bound');
  const bounded = machineMemoryBytes({ ...NO_BOUNDS, memoryBytes: 4_096 * MIB }, 65_536 * MIB);
  t.ok(defaultWorkerMemoryBytes(1, bounded) <= 3_072 * MIB);
});
