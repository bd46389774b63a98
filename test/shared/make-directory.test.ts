import { lstatSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { makeDirectory } from '../../src/shared/make-directory.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

t.test('a directory is created with its parents, for its owner alone, and an existing one stays', async (t) => {
  const scratch = createScratchDirectory(t);
  const path = join(scratch, 'one', 'two');
  makeDirectory(path);
  for (const each of [join(scratch, 'one'), path]) t.equal(lstatSync(each).mode & 0o777, 0o700);
  writeFileSync(join(path, 'kept'), '');
  makeDirectory(path);
  t.ok(lstatSync(join(path, 'kept')).isFile());
});

t.test('a directory that cannot be created is an error at once', async (t) => {
  const scratch = createScratchDirectory(t);
  writeFileSync(join(scratch, 'file'), '');
  symlinkSync(join(scratch, 'nowhere'), join(scratch, 'dangling'));
  t.throws(() => makeDirectory('/proc/x'), { code: 'ENOENT' }, 'where Node.js’s own turns for ever');
  t.throws(() => makeDirectory('/proc/x/y'), { code: 'ENOENT' });
  t.throws(() => makeDirectory(join(scratch, 'file')), { code: 'EEXIST' });
  t.throws(() => makeDirectory(join(scratch, 'file', 'below')), { code: 'ENOTDIR' });
  t.throws(() => makeDirectory(join(scratch, 'dangling')), { code: 'EEXIST' });
});
