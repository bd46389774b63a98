// Starts processes that end with their parent, whatever they are doing: a hung or stopped process does not notice that its channel
// has closed, and would keep its port from the next gateway. On Linux a process can ask the kernel for this before its program
// begins; Node.js has no API for it, but setpriv(1) of util-linux does. Cold path.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/**
 * Time to find out whether `setpriv` can make workers end with their primary. After that, workers are started without it, and one that hangs
 * may outlive the primary.
 */
const LAUNCHER_TRY_MS_MAX = 2_000;

const SETPRIV = '/usr/bin/setpriv';
const WORDS = ['--pdeathsig', 'KILL', '--'];

/**
 * The words to put before a command, so that its process gets SIGKILL when the thread that started it ends. The process id stays.
 * @returns nothing where that is unavailable: there, a process ends when it sees its channel close.
 */
export function endWithParent(): readonly string[] {
  if (process.platform !== 'linux' || !existsSync(SETPRIV)) return [];
  // Another implementation of setpriv may not know the option.
  const { status } = spawnSync(SETPRIV, [...WORDS, SETPRIV, '--version'], {
    stdio: 'ignore',
    timeout: LAUNCHER_TRY_MS_MAX,
  });
  return status === 0 ? [SETPRIV, ...WORDS] : [];
}
