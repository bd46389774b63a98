// Runs one test file in a process of its own, ended with everything that it started.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

export type TestOutcome = 'passed' | 'failed' | 'hung';

const running = new Set<ChildProcess>();
process.once('exit', () => running.forEach(endGroup));

/**
 * @param root of a built tree.
 * @param name for example `names/names`.
 * @param timeoutMs after which the file counts as hung.
 */
export async function runTestFile(root: string, name: string, timeoutMs: number): Promise<TestOutcome> {
  const child = spawn(process.execPath, [testFile(join(root, 'build', 'test'), name, 'js')], {
    cwd: root,
    // The first failure is enough. tap's own timeout is longer, so that the one here decides.
    env: { ...process.env, TAP_BAIL: '1', TAP_TIMEOUT: String(Math.ceil((2 * timeoutMs) / 1_000)) },
    stdio: 'ignore',
    detached: true,
  });
  running.add(child);
  let hasHung = false;
  const timer = setTimeout(() => {
    hasHung = true;
    endGroup(child);
  }, timeoutMs);
  const [status] = (await once(child, 'exit')) as [number | null];
  clearTimeout(timer);
  running.delete(child);
  endGroup(child);
  return hasHung ? 'hung' : status === 0 ? 'passed' : 'failed';
}

/** Rows that run together with others are in a file without `.test` in its name, which can also run alone. */
export function testFile(directory: string, name: string, extension: 'js' | 'ts'): string {
  const rows = join(directory, `${name}.rows.${extension}`);
  return existsSync(rows) ? rows : join(directory, `${name}.test.${extension}`);
}

/** Ends the process and whatever it left behind: it leads a process group of its own. */
function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group is empty.
  }
}
