// Processes that end with the one that started them, whatever they are at: one that hangs, or was stopped, does not hear that its channel has
// closed, and would keep its port from the next gateway. Linux ends them, where a process has asked it to before its program begins;
// Node.js has no words for that, setpriv(1) of util-linux has. Cold.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { limits } from '../shared/limits.js';

const SETPRIV = '/usr/bin/setpriv';
const WORDS = ['--pdeathsig', 'KILL', '--'];

/**
 * What to put before a command, so that its process gets SIGKILL when the thread ends that has started it. The process stays the one that
 * was started.
 * @returns nothing where that cannot be had: there a process ends that sees its channel close.
 */
export function endWithParent(): readonly string[] {
  if (process.platform !== 'linux' || !existsSync(SETPRIV)) return [];
  // Those that have this program under another's name may not know the option.
  const { status } = spawnSync(SETPRIV, [...WORDS, SETPRIV, '--version'], {
    stdio: 'ignore',
    timeout: limits.launcherTryMsMax,
  });
  return status === 0 ? [SETPRIV, ...WORDS] : [];
}
