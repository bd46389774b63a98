// Removes what a test has started and created when its process ends, however it ends: also when the runner ends it with a
// signal for taking too long, after which no teardowns run. A process that is killed outright can do nothing.
import type { ChildProcess } from 'node:child_process';
import { rmSync } from 'node:fs';
import { onExit } from 'signal-exit';
import { childPids } from './child-pids.js';

const children = new Set<ChildProcess>();
const directories = new Set<string>();

onExit(clear);

/** Kills the child and its descendants when this process ends, unless the child has ended by then. */
export function killWithProcess(child: ChildProcess): void {
  children.add(child);
  child.once('exit', () => children.delete(child));
}

/** Removes the directory when this process ends. */
export function removeWithProcess(directory: string): void {
  directories.add(directory);
}

/** Removes the directory now. */
export function removeNow(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
  directories.delete(directory);
}

function clear(): void {
  for (const { pid } of children) if (pid !== undefined) killTree(pid);
  children.clear();
  for (const directory of directories) {
    try {
      removeNow(directory);
    } catch {
      // A process that is just ending has written into the directory.
    }
  }
}

/** Parents first, so that none of them can replace a killed child. */
function killTree(pid: number): void {
  const pids = childPids(pid);
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has exited by itself.
  }
  pids.forEach(killTree);
}
