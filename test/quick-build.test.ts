// The quick build writes a file for each source that is newer than its file.
import { mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { createScratchDirectory } from './support/scratch-directory.js';

type BuildNewer = (root: string, folders: readonly string[], output: string) => number;
const script = new URL('../../scripts/quick-build.mjs', import.meta.url).href;
const { buildNewer } = (await import(script)) as { readonly buildNewer: BuildNewer };

t.test('every source is built, with a map to it, and built again when it is newer than its file', async (t) => {
  const root = createScratchDirectory(t);
  const write = (file: string, text: string): void => writeFileSync(join(root, file), text);
  const built = (file: string): string => readFileSync(join(root, 'build/src', file), 'utf8');
  const quick = (): number => buildNewer(root, ['src', 'absent'], 'build');
  write('package.json', '{"type":"module"}');
  mkdirSync(join(root, 'src/in'), { recursive: true });
  write('src/types.d.ts', 'interface Declared { readonly a: number }');
  write('src/in/a.ts', 'export const a: number = 1;\n');
  write('src/b.ts', "import { a } from './in/a.js';\nexport const b: number = a;\n");
  t.equal(quick(), 2, 'everything, and no declarations');
  t.match(built('in/a.js'), /a = 1;/);
  t.match(JSON.parse(built('in/a.js.map')), { sources: ['../../../src/in/a.ts'] });
  t.equal(quick(), 0, 'and nothing twice');
  write('src/in/a.ts', 'export const a: number = 2;\n');
  const later = Date.now() / 1_000 + 60;
  utimesSync(join(root, 'src/in/a.ts'), later, later);
  t.equal(quick(), 1);
  t.match(built('in/a.js'), /a = 2;/);
});
