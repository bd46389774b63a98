// What `--check` finds out about an embedded store, compared with what opening it does.
import { chmodSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { checkEmbedded, embeddedObstacle } from '../../src/store/check-embedded.js';
import { openForCommand } from '../../src/store/open-store.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

const isRoot = process.getuid?.() === 0;

/** Paths where a store fails to open, in a new directory. */
function unusable(t: Test): Readonly<Record<string, readonly [path: string, reason: RegExp]>> {
  const directory = createScratchDirectory(t);
  const at = (name: string): string => join(directory, name);
  writeFileSync(at('file'), '');
  symlinkSync(at('nothing'), at('link'));
  mkdirSync(at('damaged'));
  writeFileSync(at('damaged/data.mdb'), 'junk'.repeat(3_000));
  mkdirSync(at('locked'));
  chmodSync(at('locked'), 0o500);
  return {
    'a file': [at('file'), /file is not a directory/],
    'below a file': [at('file/store'), /ENOTDIR: not a directory/],
    'a dangling link': [at('link'), /link is a symbolic link to something that does not exist/],
    'a damaged store': [at('damaged'), /the embedded store in .* is damaged: .*Restore its files/],
    ...(process.platform === 'linux' && {
      'below /proc': ['/proc/store', /nothing can be stored in \/proc; give --store-path/],
      'deep below /proc': ['/proc/a/b/c', /nothing can be stored in \/proc;/],
    }),
    ...(!isRoot && { 'a directory of somebody else': [at('locked/store'), /EACCES/] as const }),
  };
}

t.test('where a store cannot be opened or created, the reason and the remedy are named', async (t) => {
  for (const [what, [path, reason]] of Object.entries(unusable(t))) {
    t.match(embeddedObstacle(path), reason, what);
    await t.rejects(checkEmbedded(path), { message: /./ }, `${what}: a start fails as well`);
  }
});

t.test('where it can be, nothing is said, and nothing is created', async (t) => {
  const directory = createScratchDirectory(t);
  const path = join(directory, 'a', 'store');
  t.equal(embeddedObstacle(path), undefined);
  t.equal(embeddedObstacle(directory), undefined);
  t.strictSame(readdirSync(directory), []);
  await checkEmbedded(path);
  t.equal(embeddedObstacle(path), undefined, 'it is empty');
  await (await openForCommand({ kind: 'embedded', path }, true))?.close();
  t.equal(embeddedObstacle(path), undefined, 'it is there');
});
