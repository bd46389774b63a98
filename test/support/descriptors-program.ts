// A process whose file descriptors are all in use when it first needs the list thread, and free when it needs it again. Prints both
// outcomes of an empty page as one line of JSON. `ulimit -n` is set by who starts it.
import { closeSync, openSync } from 'node:fs';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';
import { ListPool } from '../../src/lists/list-pool.js';
import { createLogger } from '../../src/shared/logger.js';

const page = Buffer.from('{"jsonrpc":"2.0","id":"a","result":{"tools":[]}}');
const deadlines = new DeadlineWheel();
const pool = new ListPool(deadlines, createLogger('silent', {}));

async function readPage(): Promise<unknown> {
  const pieces = [Uint8Array.from(page)];
  const task = { key: pool.mintKey(), pieces, bytes: page.length, id: '"a"', kind: 'tools' } as const;
  return new Promise((resolve) => pool.run('ada', 'read', task, pieces, resolve));
}

const taken: number[] = [];
try {
  for (;;) taken.push(openSync('/dev/null', 'r'));
} catch {
  // All are in use.
}
const first = await readPage();
for (const descriptor of taken) closeSync(descriptor);
const second = await readPage();
process.stdout.write(JSON.stringify([first, second]));
await pool.close();
deadlines.stop();
