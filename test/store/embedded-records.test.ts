import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { EmbeddedRecords } from '../../src/store/embedded-store.js';
import { countUp, COUNTER } from '../support/record-counter.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

const COUNTER_PROGRAM = fileURLToPath(new URL('../support/record-counter.js', import.meta.url));

t.test('two processes count one record up without losing a count', async (t) => {
  const path = createScratchDirectory(t);
  const records = new EmbeddedRecords(path);
  t.teardown(() => records.close());
  const other = fork(COUNTER_PROGRAM, [path, '200']);
  t.teardown(() => other.kill('SIGKILL'));
  const counted = once(other, 'message');
  // Both processes must be counting at once: otherwise no count could get lost.
  while ((await records.read(COUNTER)) === undefined) await new Promise(setImmediate);
  await countUp(records, 200);
  await counted;
  t.equal((await records.read(COUNTER))?.toString(), '400');
});

t.test('the very next read and list see what another process committed', async (t) => {
  const path = createScratchDirectory(t);
  const records = new EmbeddedRecords(path);
  t.teardown(() => records.close());
  for (let round = 1; round <= 3; round++) {
    await records.read(COUNTER);
    const other = fork(COUNTER_PROGRAM, [path, '1']);
    await once(other, 'message');
    t.equal((await records.readMany(['counter']))[0]?.toString(), String(round));
    t.equal((await records.read(COUNTER))?.toString(), String(round));
    await once(other, 'exit');
  }
});
