// Builds a tree, or several:
//   production  dist/            src/, and ui/ as static files in dist/ui, without src/bootstrap (the optional feature's code is not in it)
//   bootstrap   dist-bootstrap/  all of src/
//   test        build/           src/, test/, bench/ and demo/, for the test runner and the benches
//   quickstart  dist-quickstart/ all of src/, and demo/, within a second or two: by esbuild, without type checking
//   quick       build/ and dist/, within seconds, by esbuild, too: for use during a change. It builds each source newer than its file in
//               build/, and strikes it from tsc's records (quick-build.mjs), so that the next build of tests rebuilds it
//   by-file     the first three, with a file for each source in the first two as well: for inspecting or changing single files
// tsc checks the types, and builds the trees that have a file for each source. The first two are bundled (bundle.mjs), and differ only in
// the presence of src/bootstrap, which planes.ts looks for at startup. They are rebuilt from scratch each time; build/ is updated, and
// files whose source is gone are removed from it, so that no test outlives its source.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { buildUi } from './build-ui.mjs';
import { bundle } from './bundle.mjs';
import { buildNewer, transpile } from './quick-build.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
const trees = {
  production: { project: 'tsconfig.production.json', output: 'dist', hasFolder: (name) => name !== 'bootstrap' },
  bootstrap: { project: 'tsconfig.bootstrap.json', output: 'dist-bootstrap' },
  test: { project: 'tsconfig.json' },
};

function runTsc(words) {
  const { status } = spawnSync(process.execPath, [tsc, ...words], { stdio: 'inherit', cwd: root });
  if (status !== 0) process.exit(status ?? 1);
}

function buildTests() {
  removeOrphans();
  runTsc(['-p', join(root, trees.test.project)]);
}

/** Without type checking. */
async function bundleProgram({ output, hasFolder }) {
  rmSync(join(root, output), { recursive: true, force: true });
  await bundle(root, join(root, output), hasFolder);
  buildUi(join(root, output, 'ui'));
}

/** Without type checking, either. */
function buildByFile() {
  const { project, output } = trees.bootstrap;
  rmSync(join(root, output), { recursive: true, force: true });
  runTsc(['-p', join(root, project), '--noCheck']);
  buildUi(join(root, output, 'ui'));
  copyProduction();
}

/** Type-checks the console, whose build skips that in order to be quick. */
function checkUi() {
  runTsc(['-p', join(root, 'ui')]);
}

function removeOrphans() {
  const build = join(root, 'build');
  if (!existsSync(build)) return;
  for (const file of readdirSync(build, { recursive: true, encoding: 'utf8' })) {
    const module = /^(.*)\.js(?:\.map)?$/.exec(file)?.[1];
    if (module !== undefined && !existsSync(join(root, `${module}.ts`))) rmSync(join(build, file));
  }
}

/** The production build is the other one without its optional feature: what tsc would write, byte for byte. */
function copyProduction() {
  const from = join(root, trees.bootstrap.output);
  const to = join(root, trees.production.output);
  rmSync(to, { recursive: true, force: true });
  cpSync(from, to, { recursive: true, filter: (path) => path !== join(from, 'bootstrap') });
}

/** A quick build for interactive use: each file by itself, as tsc would write it. */
function buildQuickstart() {
  const output = join(root, 'dist-quickstart');
  rmSync(output, { recursive: true, force: true });
  for (const [from, to] of [
    ['src', output],
    ['demo', join(output, 'demo')],
  ]) {
    const files = readdirSync(join(root, from), { recursive: true, encoding: 'utf8' });
    const sources = files.filter((file) => file.endsWith('.ts')).map((file) => join(from, file));
    transpile(root, sources, from, to);
  }
  buildUi(join(output, 'ui'));
}

const name = process.argv[2];
switch (name) {
  case 'all':
  case 'by-file':
    buildTests();
    checkUi();
    // The types of these sources have just been checked, as part of the tests' tree.
    if (name === 'by-file') {
      buildByFile();
      break;
    }
    await bundleProgram(trees.bootstrap);
    await bundleProgram(trees.production);
    buildQuickstart();
    break;
  case 'quickstart':
    buildQuickstart();
    break;
  case 'quick':
    removeOrphans();
    buildNewer(root, ['src', 'test', 'bench', 'demo', 'ui'], 'build');
    await bundleProgram(trees.production);
    break;
  case 'test':
    buildTests();
    break;
  case 'production':
  case 'bootstrap':
    runTsc(['-p', join(root, trees[name].project), '--noEmit']);
    await bundleProgram(trees[name]);
    break;
  default:
    console.error(`build: name one of ${Object.keys(trees).join(', ')}, quickstart, quick, by-file, or all`);
    process.exit(64);
}
