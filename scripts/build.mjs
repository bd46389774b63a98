// Builds a tree, or several, with esbuild and so within seconds. Nothing here looks at types: `npm run check:types` does, beside.
//   production  dist/            src/ bundled, and ui/ as static files in dist/ui, without src/bootstrap (the optional feature's code is
//                                not in it)
//   bootstrap   dist-bootstrap/  all of src/, bundled
//   test        build/           src/, test/, bench/, demo/ and ui/, a file for each source, for the test runner and the benches
//   quickstart  dist-quickstart/ all of src/, and demo/
//   quick       the tests and production: for use during a change
//   by-file     the first three, with a file for each source in the first two as well: for inspecting or changing single files
//   all         everything that the tests need
// The bundles (bundle.mjs) differ only in the presence of src/bootstrap, which planes.ts looks for at startup. Trees are rebuilt from
// scratch, except build/: there each source that is newer than its file is built, and files whose source is gone are removed, so that no
// test outlives its source.
import { chmodSync, cpSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { buildUi } from './build-ui.mjs';
import { bundle } from './bundle.mjs';
import { buildNewer, transpile } from './quick-build.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const production = { output: 'dist', hasFolder: (name) => name !== 'bootstrap' };
const bootstrap = { output: 'dist-bootstrap' };

const builds = {
  production: () => bundleProgram(production),
  bootstrap: () => bundleProgram(bootstrap),
  test: buildTests,
  quickstart: () => buildByFile('dist-quickstart', { src: '.', demo: 'demo' }),
  quick: async () => {
    buildTests();
    await bundleProgram(production);
  },
  'by-file': () => {
    buildTests();
    buildByFile(bootstrap.output, { src: '.' });
    copyProduction();
  },
  all: async () => {
    buildTests();
    await bundleProgram(bootstrap);
    await bundleProgram(production);
    builds.quickstart();
  },
};

function buildTests() {
  removeOrphans();
  buildNewer(root, ['src', 'test', 'bench', 'demo', 'ui'], 'build');
}

async function bundleProgram({ output, hasFolder }) {
  rmSync(join(root, output), { recursive: true, force: true });
  await bundle(root, join(root, output), hasFolder);
  finish(output);
}

/** Builds each file of these folders by itself, into the given places in the output. */
function buildByFile(output, places) {
  rmSync(join(root, output), { recursive: true, force: true });
  for (const [from, to] of Object.entries(places)) {
    const files = readdirSync(join(root, from), { recursive: true, encoding: 'utf8' });
    const sources = files.filter((file) => file.endsWith('.ts')).map((file) => join(from, file));
    transpile(root, sources, from, join(output, to));
  }
  finish(output);
}

function finish(output) {
  buildUi(join(root, output, 'ui'));
  // `npm install` would do it, unpacking with tar does not.
  chmodSync(join(root, output, 'main.js'), 0o755);
}

function removeOrphans() {
  const build = join(root, 'build');
  if (!existsSync(build)) return;
  for (const file of readdirSync(build, { recursive: true, encoding: 'utf8' })) {
    const module = /^(.*)\.js(?:\.map)?$/.exec(file)?.[1];
    if (module !== undefined && !existsSync(join(root, `${module}.ts`))) rmSync(join(build, file));
  }
}

/** The production build is the other one without its optional feature. */
function copyProduction() {
  const from = join(root, bootstrap.output);
  const to = join(root, production.output);
  rmSync(to, { recursive: true, force: true });
  cpSync(from, to, { recursive: true, filter: (path) => path !== join(from, 'bootstrap') });
}

const build = builds[process.argv[2]];
if (build === undefined) {
  console.error(`build: name one of ${Object.keys(builds).join(', ')}`);
  process.exit(64);
}
await build();
