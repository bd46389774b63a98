// A hung process does not see its channel close: only the kernel can end it with its parent.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import t from 'tap';
import { findLauncher } from '../../src/primary/slot.js';
import { killWithProcess } from '../support/leftovers.js';
import { until } from '../support/until.js';

const isUnavailable = !existsSync('/usr/bin/setpriv') && 'no setpriv on this machine';

/** Also a process that nobody has waited for is over. */
function isOver(pid: number): boolean {
  try {
    return /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return true;
  }
}

t.test('a stopped process ends with the one that started it', { skip: isUnavailable }, async (t) => {
  const command = [...findLauncher(), process.execPath, '-e', 'process.kill(process.pid, "SIGSTOP")'];
  t.ok(command.length > 3, 'words come before the command');
  const starting = `
    const child = require('node:child_process').spawn(${JSON.stringify(command[0])}, ${JSON.stringify(command.slice(1))});
    console.log(child.pid);`;
  const parent = spawn(process.execPath, ['-e', starting], { stdio: ['ignore', 'pipe', 'inherit'] });
  killWithProcess(parent);
  const [line] = (await once(createInterface({ input: parent.stdout }), 'line')) as [string];
  const pid = Number(line);
  t.teardown(() => isOver(pid) || process.kill(pid, 'SIGKILL'));
  await until(() => / T /.test(readFileSync(`/proc/${pid}/stat`, 'latin1')), 'it has stopped');
  parent.kill('SIGKILL');
  await until(() => isOver(pid), 'it has ended as well');
});
