import { mkdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { RunQueueWait } from '../../src/fair/overload-watch.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

t.test('the wait is the second number, read anew each time', async (t) => {
  const path = join(createScratchDirectory(t), 'schedstat');
  writeFileSync(path, '7000000000 1500000000 42\n');
  const wait = new RunQueueWait(path);
  t.equal(wait.totalMs(), 1_500);
  writeFileSync(path, '7000000001 2250000000 43\n');
  t.equal(wait.totalMs(), 2_250);
  writeFileSync(path, 'gone mad\n');
  t.equal(wait.totalMs(), 2_250, 'no wait since, when nobody can tell');
  writeFileSync(path, '7000000001 9 43 and more\n');
  t.equal(wait.totalMs(), 2_250, 'another form is not guessed at');
  rmSync(path);
  mkdirSync(path);
  t.equal(wait.totalMs(), 2_250, 'as when the file cannot be read for now');
  rmdirSync(path);
  writeFileSync(path, '7000000002 3000000000 44\n');
  t.equal(wait.totalMs(), 3_000, 'and is read again when it can be');
});

t.test('where the wait is not counted it is zero', async (t) => {
  t.equal(new RunQueueWait(join(createScratchDirectory(t), 'nothing')).totalMs(), 0);
});

t.test('the wait of this thread never falls', async (t) => {
  const wait = new RunQueueWait();
  const before = wait.totalMs();
  t.ok(before >= 0);
  t.ok(wait.totalMs() >= before);
});
