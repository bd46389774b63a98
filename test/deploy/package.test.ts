// The package that `npm pack` makes from a build: the program and what its users need, nothing else; and it runs elsewhere.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import t from 'tap';
import { projectRoot } from '../support/gateway.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

const manifest = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as Manifest;
const directory = createScratchDirectory(t);
// The build exists already, and building again would remove it under the other tests.
execFileSync('npm', ['pack', '--ignore-scripts', '--pack-destination', directory], { cwd: projectRoot, stdio: 'pipe' });
const [archive = ''] = readdirSync(directory);
execFileSync('tar', ['-xzf', join(directory, archive), '-C', directory]);
const unpacked = join(directory, 'package');
const files = readdirSync(unpacked, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name).slice(unpacked.length + 1));

t.test('the package has the program and its documents, and nothing of its development', async (t) => {
  const belongs =
    /^(?:dist\/|deploy\/|docs\/(?:decisions\/)?[^/]+\.(?:md|json)$|docs\/drawings\/[^/]+\.svg$|(?:README|CHANGELOG|SECURITY)\.md$|LICENSE$|package\.json$)/;
  t.strictSame(
    files.filter((file) => !belongs.test(file) || /\.(?:map|ts|tsx)$/.test(file)),
    [],
  );
  for (const file of ['dist/main.js', 'dist/worker/main.js', 'dist/ui/index.html', 'docs/options.md', 'LICENSE']) {
    t.ok(files.includes(file), file);
  }
  t.notOk(
    files.some((file) => file.startsWith('dist/bootstrap')),
    'the feature for first looks is not in production',
  );
});

t.test('the package depends on every package that it imports', async (t) => {
  const asked = new Set(Object.keys(manifest.dependencies));
  const missing = files
    .filter((file) => file.endsWith('.js') && !file.startsWith('dist/ui/'))
    .flatMap((file) => [
      ...readFileSync(join(unpacked, file), 'utf8').matchAll(/(?:from|import\(|\bimport) ?["']([^"'.\s][^"'\s]*)["']/g),
    ])
    .map(([, specifier = '']) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier)
    .filter((name) => !name.startsWith('node:') && !builtinModules.includes(name) && !asked.has(name));
  t.strictSame([...new Set(missing)], []);
});

t.test('the package runs where it was unpacked, under the name of its command', async (t) => {
  t.strictSame(manifest.bin, { switchyard: 'dist/main.js' });
  t.match(manifest.name, /^@/, 'the bare name is taken');
  // As `npm install --omit=dev` would install them beside the program.
  mkdirSync(join(unpacked, 'node_modules'));
  for (const name of readdirSync(join(projectRoot, 'node_modules'))) {
    symlinkSync(join(projectRoot, 'node_modules', name), join(unpacked, 'node_modules', name));
  }
  const program = join(unpacked, 'dist/main.js');
  t.match(readFileSync(program, 'utf8'), /^#!\/usr\/bin\/env node\n/);
  const version = spawnSync(program, ['--version'], { cwd: directory, encoding: 'utf8' });
  t.equal(version.error, undefined, 'docs/production.md links its command to this file');
  t.equal(version.stdout.trim(), manifest.version, version.stderr);
  const words = ['dataplane', '--check', '--store-path', join(directory, 'store'), '--address', '127.0.0.1:0'];
  const check = spawnSync(process.execPath, [program, ...words], { cwd: directory, encoding: 'utf8' });
  t.equal(check.status, 0, check.stdout + check.stderr);
  t.notOk(existsSync(join(directory, 'store')), 'a check makes nothing');
});
