// Builds one of four trees, or all of them:
//   production  dist/            src/, and ui/ as static files in dist/ui, without src/bootstrap (the optional feature's code is not in it)
//   bootstrap   dist-bootstrap/  all of src/
//   test        build/           src/, test/, bench/ and demo/, for the test runner and the benches
//   quickstart  dist-quickstart/ all of src/, and demo/, within a second or two: by esbuild, without a look at the types
// The others are tsc's. Its two programs differ in the presence of src/bootstrap alone: main.ts looks for it when it starts. They are built from
// nothing each time; build/ is kept up to date, and rid of what has no source any more, so that no test outlives its file.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { buildUi } from './build-ui.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
const trees = {
  production: { project: 'tsconfig.production.json', output: 'dist' },
  bootstrap: { project: 'tsconfig.bootstrap.json', output: 'dist-bootstrap' },
  test: { project: 'tsconfig.json', output: undefined },
};

function build({ project, output }, options = []) {
  if (output === undefined) removeOrphans();
  else rmSync(join(root, output), { recursive: true, force: true });
  const words = [tsc, '-p', join(root, project), ...options];
  const { status } = spawnSync(process.execPath, words, { stdio: 'inherit', cwd: root });
  if (status !== 0) process.exit(status ?? 1);
  if (output !== undefined) buildUi(join(root, output, 'ui'));
}

/** The console is built without a look at its types, as a build must be quick. */
function checkUi() {
  const { status } = spawnSync(process.execPath, [tsc, '-p', join(root, 'ui')], { stdio: 'inherit', cwd: root });
  if (status !== 0) process.exit(status ?? 1);
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

/** For who waits for it: each file by itself, as tsc would write it. */
function buildQuickstart() {
  const output = join(root, 'dist-quickstart');
  rmSync(output, { recursive: true, force: true });
  for (const [from, to] of [
    ['src', output],
    ['demo', join(output, 'demo')],
  ]) {
    const files = readdirSync(join(root, from), { recursive: true, encoding: 'utf8' });
    buildSync({
      absWorkingDir: root,
      entryPoints: files.filter((file) => file.endsWith('.ts')).map((file) => join(from, file)),
      outbase: from,
      outdir: to,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      sourcemap: true,
      logLevel: 'warning',
    });
  }
  buildUi(join(output, 'ui'));
}

const name = process.argv[2];
if (name === 'all') {
  build(trees.test);
  checkUi();
  // The types of these sources have just been checked, as a part of the tests' tree.
  build(trees.bootstrap, ['--noCheck']);
  copyProduction();
  buildQuickstart();
} else if (name === 'quickstart') {
  buildQuickstart();
} else if (name !== undefined && Object.hasOwn(trees, name)) {
  build(trees[name]);
} else {
  console.error(`build: name one of ${Object.keys(trees).join(', ')}, quickstart, or all`);
  process.exit(64);
}
