// However a test process ends, short of being killed outright, it leaves nothing behind: no process, no folder.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { childEnvironment } from './gateway.js';
import { killWithProcess } from './leftovers.js';
import type { Leftovers } from './leftover-program.js';
import { until } from './until.js';

const program = fileURLToPath(new URL('leftover-program.js', import.meta.url));

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** tap sends messages of its own over the same channel. */
async function leftoversOf(child: ChildProcess): Promise<Leftovers> {
  for (;;) {
    const [message] = (await once(child, 'message')) as [Partial<Leftovers>];
    const { pids, directories } = message;
    if (pids !== undefined && directories !== undefined) return { pids, directories };
  }
}

// The runner sends SIGALRM to a file that takes too long, a person SIGINT, a service manager SIGTERM.
for (const signal of ['SIGALRM', 'SIGINT', 'SIGTERM'] as const) {
  t.test(`a test that hangs, ended by ${signal}`, async (t) => {
    const child = fork(program, ['run'], { env: childEnvironment({ TAP: '1', TAP_TIMEOUT: '300' }), silent: true });
    killWithProcess(child);
    t.teardown(() => child.kill('SIGKILL'));
    const { pids, directories } = await leftoversOf(child);
    t.equal(pids.length, 4, 'a Redis, a primary, two workers');
    t.ok(pids.every(isAlive));
    t.ok(directories.every(existsSync));
    child.kill(signal);
    await once(child, 'exit');
    await until(() => !pids.some(isAlive), 'all processes to be gone');
    t.notOk(directories.some(existsSync));
  });
}
