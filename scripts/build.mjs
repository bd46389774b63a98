// Builds one of three trees with tsc, from nothing each time:
//   production  dist/            src/ without src/bootstrap (the optional feature's code is not in it)
//   bootstrap   dist-bootstrap/  all of src/
//   test        build/           src/, test/, bench/ and demo/, for the test runner, the benches and the quick start
// The two programs differ in the presence of src/bootstrap alone: main.ts looks for it when it starts.
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';

const root = fileURLToPath(new URL('..', import.meta.url));
const trees = {
  production: { project: 'tsconfig.production.json', output: 'dist' },
  bootstrap: { project: 'tsconfig.bootstrap.json', output: 'dist-bootstrap' },
  test: { project: 'tsconfig.json', output: undefined },
};
const tree = trees[process.argv[2]];
if (tree === undefined) {
  console.error(`build: name one of ${Object.keys(trees).join(', ')}`);
  process.exit(64);
}
if (tree.output !== undefined) rmSync(join(root, tree.output), { recursive: true, force: true });
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
const { status } = spawnSync(process.execPath, [tsc, '-p', join(root, tree.project)], { stdio: 'inherit', cwd: root });
process.exit(status ?? 1);
