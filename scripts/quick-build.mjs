// Writes a JavaScript file for each source, with esbuild and without a look at types: in seconds where tsc takes a minute.
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { buildSync } from 'esbuild';
import { seenThroughDoors } from './doors.mjs';

/** @param sources as paths from the root. @param from the part of these paths that is left out in the output. */
export function transpile(root, sources, from, to, options = {}) {
  const { outputFiles } = buildSync({
    absWorkingDir: root,
    entryPoints: sources,
    outbase: from,
    outdir: to,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: true,
    logLevel: 'warning',
    write: false,
    ...options,
  });
  for (const { path, text } of outputFiles) {
    mkdirSync(dirname(path), { recursive: true });
    const source = join(root, from, relative(join(root, to), path).replace(/\.js$/, '.ts'));
    writeFileSync(path, path.endsWith('.js') ? seenThroughDoors(text, source) : text);
  }
}

/**
 * Builds every source in the folders that is newer than its built file; all of them if what a door passes on may have changed.
 * @returns the number of built files.
 */
export function buildNewer(root, folders, output) {
  const isStale = (source) => isNewer(join(root, source), join(root, output, jsOf(source)));
  const sources = folders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((file) => /(?<!\.d)\.ts$/.test(file) && !/\bnode_modules\b/.test(file))
        .map((file) => join(folder, file)),
    );
  const isDoorNewer = sources.some((source) => source.endsWith('/index.ts') && isStale(source));
  const newer = isDoorNewer ? sources : sources.filter(isStale);
  if (newer.length === 0) return 0;
  mkdirSync(join(root, output), { recursive: true });
  transpile(root, newer, '.', output, { sourcesContent: false });
  return newer.length;
}

function isNewer(source, built) {
  const builtAtMs = statSync(built, { throwIfNoEntry: false })?.mtimeMs;
  return builtAtMs === undefined || builtAtMs < statSync(source).mtimeMs;
}

function jsOf(source) {
  return source.replace(/\.ts$/, '.js');
}
