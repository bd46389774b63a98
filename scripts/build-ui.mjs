// Builds the console: ui/ becomes one script, parts of it that are loaded when they are needed, one style sheet, fonts and one icon with
// hashed names, and the document that loads them. What can be compressed has compressed copies beside it, and the packages' licenses are
// there. `node scripts/build-ui.mjs [directory]`, dist/ui unless given.
import { buildSync } from 'esbuild';
import { mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { basename, extname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { writeLicenses } from './bundle.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/** What stands in the document where a file's address belongs. */
const PLACES = [
  [/^main-.*\.css$/, '{style}'],
  [/^main-.*\.js$/, '{script}'],
  [/^icon-.*\.svg$/, '{icon}'],
  [/^inter-latin-wght-.*\.woff2$/, '{font}'],
];

export function buildUi(directory) {
  rmSync(directory, { recursive: true, force: true });
  const { outputFiles, metafile } = buildSync({
    absWorkingDir: root,
    entryPoints: ['ui/main.tsx', 'ui/style/icon.svg'],
    loader: { '.svg': 'copy', '.woff2': 'file' },
    entryNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    chunkNames: 'part-[hash]',
    splitting: true,
    outdir: join(directory, 'assets'),
    tsconfig: 'ui/tsconfig.json',
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    target: ['es2022'],
    logLevel: 'warning',
  });
  mkdirSync(join(directory, 'assets'), { recursive: true });
  let document = readFileSync(join(root, 'ui/index.html'), 'utf8');
  for (const { path, contents } of outputFiles) {
    writePacked(path, contents);
    const place = PLACES.find(([name]) => name.test(basename(path)))?.[1];
    if (place !== undefined) document = document.replace(place, `/ui/assets/${basename(path)}`);
  }
  writePacked(join(directory, 'index.html'), Buffer.from(document));
  writeLicenses(root, directory, metafile);
}

function writePacked(path, contents) {
  writeFileSync(path, contents);
  // Fonts of this format are compressed in themselves.
  if (extname(path) === '.woff2') return;
  writeFileSync(`${path}.br`, brotliCompressSync(contents));
  writeFileSync(`${path}.gz`, gzipSync(contents, { level: 9 }));
}

if (realpathSync(process.argv[1] ?? '.') === fileURLToPath(import.meta.url))
  buildUi(resolve(root, process.argv[2] ?? 'dist/ui'));
