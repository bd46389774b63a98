// The quick build writes what tsc would, and tsc continues from there as if it had written that itself.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import t from 'tap';
import { createScratchDirectory } from './support/scratch-directory.js';

type BuildNewer = (root: string, folders: readonly string[], output: string) => number;
const script = new URL('../../scripts/quick-build.mjs', import.meta.url).href;
const { buildNewer } = (await import(script)) as { readonly buildNewer: BuildNewer };
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');

t.test('a source that the quick build has built, and that was then changed back, is built by tsc', async (t) => {
  const root = createScratchDirectory(t);
  const write = (file: string, text: string): void => writeFileSync(join(root, file), text);
  const built = (file: string): string => readFileSync(join(root, 'build/src', file), 'utf8');
  const quick = (): number => buildNewer(root, ['src', 'absent'], 'build');
  const runTsc = (): number | null => spawnSync(process.execPath, [tsc, '-p', root]).status;
  const compilerOptions = {
    ...{ target: 'ES2023', lib: ['ES5'], module: 'NodeNext', types: [], sourceMap: true, skipLibCheck: true },
    ...{ rootDir: '.', outDir: 'build', incremental: true, tsBuildInfoFile: 'build/.tsbuildinfo' },
  };
  write('package.json', '{"type":"module"}');
  write('tsconfig.json', JSON.stringify({ compilerOptions, include: ['src'] }));
  mkdirSync(join(root, 'src/in'), { recursive: true });
  write('src/types.d.ts', 'interface Declared { readonly a: number }');
  write('src/in/a.ts', 'export const a: number = 1;\n');
  write(
    'src/b.ts',
    "import { a } from './in/a.js';\nexport class B {\n  readonly #a = a;\n  get a(): number {\n    return this.#a;\n  }\n}\n",
  );
  t.equal(quick(), 2, 'everything, and no declarations');
  t.match(built('in/a.js'), /a = 1;/);
  t.same(JSON.parse(built('in/a.js.map')), {
    ...(JSON.parse(built('in/a.js.map')) as object),
    sources: ['../../../src/in/a.ts'],
  });
  t.equal(quick(), 0, 'and nothing twice');
  t.equal(runTsc(), 0);
  t.equal(quick(), 0, 'nor what tsc has built');
  write('src/in/a.ts', 'export const a: number = 2;\n');
  t.equal(quick(), 1);
  t.match(built('in/a.js'), /a = 2;/);
  write('src/in/a.ts', 'export const a: number = 1;\n');
  t.equal(runTsc(), 0);
  t.match(built('in/a.js'), /a = 1;/, 'though it is what tsc had built before');
  write('build/.tsbuildinfo', '{}');
  write('src/in/a.ts', 'export const a: number = 3;\n');
  t.equal(quick(), 1);
  t.notOk(existsSync(join(root, 'build/.tsbuildinfo')), 'of what it cannot read nothing is kept');
});
