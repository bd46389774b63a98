// Builds the console: ui/ becomes one script, parts of it that are loaded when they are needed, one style sheet and one icon with hashed
// names, and the document that loads them, each with a compressed copy beside it. `node scripts/build-ui.mjs [directory]`, dist/ui unless given.
import { buildSync } from 'esbuild';
import { mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { basename, extname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';

const root = fileURLToPath(new URL('..', import.meta.url));

const PLACES = { '.css': '{style}', '.js': '{script}', '.svg': '{icon}' };

export function buildUi(directory) {
  rmSync(directory, { recursive: true, force: true });
  const { outputFiles } = buildSync({
    absWorkingDir: root,
    entryPoints: ['ui/main.tsx', 'ui/style/icon.svg'],
    loader: { '.svg': 'copy' },
    entryNames: '[name]-[hash]',
    chunkNames: 'part-[hash]',
    splitting: true,
    outdir: join(directory, 'assets'),
    tsconfig: 'ui/tsconfig.json',
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: ['es2022'],
    logLevel: 'warning',
  });
  mkdirSync(join(directory, 'assets'), { recursive: true });
  let document = readFileSync(join(root, 'ui/index.html'), 'utf8');
  for (const { path, contents } of outputFiles) {
    writePacked(path, contents);
    if (!basename(path).startsWith('part-')) {
      document = document.replace(PLACES[extname(path)], `/ui/assets/${basename(path)}`);
    }
  }
  writePacked(join(directory, 'index.html'), Buffer.from(document));
}

function writePacked(path, contents) {
  writeFileSync(path, contents);
  writeFileSync(`${path}.br`, brotliCompressSync(contents));
  writeFileSync(`${path}.gz`, gzipSync(contents, { level: 9 }));
}

if (realpathSync(process.argv[1] ?? '.') === fileURLToPath(import.meta.url))
  buildUi(resolve(root, process.argv[2] ?? 'dist/ui'));
