// The child processes of a process.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Direct children of a process, whichever of its threads forked them. Linux only. */
export function childPids(pid: number): number[] {
  const tasks = `/proc/${pid}/task`;
  try {
    return readdirSync(tasks)
      .flatMap((task) => readFileSync(join(tasks, task, 'children'), 'utf8').split(' '))
      .filter((word) => word !== '')
      .map(Number);
  } catch {
    return [];
  }
}
