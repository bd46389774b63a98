// The reader of the log is gone. Both planes keep serving, and end when they are told to.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import t from 'tap';
import { until } from '../primary/stub-fleet.js';
import { childEnvironment, programPath } from '../support/gateway.js';
import { killWithProcess } from '../support/leftovers.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

const REQUESTS = 40;

for (const plane of ['control-plane', 'dataplane']) {
  t.test(`a ${plane} whose standard output was closed serves, and ends on SIGTERM`, async (t) => {
    const words = [plane, '--address', '127.0.0.1:0', '--store-path', join(createScratchDirectory(t), 'store')];
    if (plane === 'dataplane') words.push('--number-of-cpus', '1');
    const program = spawn(process.execPath, [programPath(), ...words, '--log-level', 'trace'], {
      env: childEnvironment(),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    killWithProcess(program);
    t.teardown(() => program.kill('SIGKILL'));
    let output = '';
    program.stdout.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')));
    await until('the program listens', () => output.includes('"msg":"listening"'));
    const address = /"address":"([^"]+)"/.exec(output)?.[1] ?? '';
    program.stdout.destroy();
    for (let request = 0; request < REQUESTS; request++) {
      const answer = await fetch(`http://${address}/gw-rs/servers/x/mcp`, { method: 'POST', body: '{}' });
      await answer.arrayBuffer();
      t.ok(answer.status >= 400);
    }
    const exited = once(program, 'exit');
    program.kill('SIGTERM');
    t.same(await exited, [0, null]);
  });
}
