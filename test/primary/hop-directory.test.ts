import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { makeHopDirectory, removeHopDirectory } from '../../src/primary/hop-directory.js';
import { limits } from '../../src/shared/limits.js';

/** os.tmpdir() reads TMPDIR at each call. */
function setTmpdir(test: Test, path: string): void {
  const before = process.env.TMPDIR;
  process.env.TMPDIR = path;
  test.teardown(() => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  });
}

t.test('it is private, and removed with what is in it', (t) => {
  const directory = makeHopDirectory(2);
  t.equal(statSync(directory).mode & 0o777, 0o700);
  writeFileSync(join(directory, 'slot-0.sock'), '');
  removeHopDirectory(directory);
  t.notOk(existsSync(directory));
  t.end();
});

t.test('a socket path that does not fit is refused, and nothing is left behind', (t) => {
  // In a short place, since the path has to end exactly at the limit.
  const probe = makeHopDirectory(1);
  t.teardown(() => removeHopDirectory(probe));
  const randomPart = '/switchyard-XXXXXX/slot-9.sock'.length;
  const parent = probe + '/'.padEnd(limits.unixSocketPathBytesMax - probe.length - randomPart, 'd');
  mkdirSync(parent);
  setTmpdir(t, parent);
  removeHopDirectory(makeHopDirectory(10));
  t.throws(() => makeHopDirectory(11), { exitStatus: 73, message: /too long.*TMPDIR/ });
  t.same(readdirSync(parent), []);
  t.end();
});

t.test('a place that does not exist is refused', (t) => {
  setTmpdir(t, '/nowhere/at/all');
  t.throws(() => makeHopDirectory(1), { exitStatus: 73, message: /cannot make a directory in \/nowhere.*TMPDIR/ });
  t.end();
});
