// However a bench ends, nothing that it started keeps running.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { projectRoot } from '../support/gateway.js';
import { killWithProcess } from '../support/leftovers.js';
import { until } from '../support/until.js';

const program = fileURLToPath(new URL('stand-in-bench.js', import.meta.url));

/** A zombie counts as ended, too. */
function lives(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  t.test(`${signal} ends all that was started`, async (t) => {
    const bench = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] });
    killWithProcess(bench);
    const [line] = (await once(createInterface({ input: bench.stdout }), 'line')) as [string];
    const { pids, directory } = JSON.parse(line) as { pids: number[]; directory: string };
    t.equal(pids.length, 2);
    t.ok(pids.every(lives));
    bench.kill(signal);
    const [code] = (await once(bench, 'exit')) as [number | null];
    t.equal(code, 128 + constants.signals[signal]);
    await until(() => !pids.some(lives), 'the processes to be gone');
    t.notOk(existsSync(directory), 'and their files');
  });
}

t.test(
  'npm passes a signal on to the program that it runs, because no shell in between keeps it to itself',
  async (t) => {
    const { scripts } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
      scripts: Readonly<Record<string, string>>;
    };
    for (const name of ['bench', 'bench:check', 'profile', 'call-path', 'fleet'])
      t.match(scripts[name], /^(?:.* && )?exec (?:node|npm) [^&]*$/, name);
  },
);
