// A file for each source as tsc would write it, by esbuild and without a look at the types: in seconds where tsc takes a minute.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { buildSync } from 'esbuild';

/** @param sources as paths from the root. @param from what of these paths is left out in the output. */
export function transpile(root, sources, from, to, options = {}) {
  buildSync({
    absWorkingDir: root,
    entryPoints: sources,
    outbase: from,
    outdir: to,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: true,
    logLevel: 'warning',
    ...options,
  });
}

/**
 * Builds every source in the folders that is newer than what there is of it.
 * @returns how many that were.
 */
export function buildNewer(root, folders, output) {
  const sources = folders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((file) => /(?<!\.d)\.ts$/.test(file))
        .map((file) => join(folder, file)),
    );
  const newer = sources.filter((source) => isNewer(join(root, source), join(root, output, jsOf(source))));
  if (newer.length === 0) return 0;
  mkdirSync(join(root, output), { recursive: true });
  // Before: whoever ends this half-way has files that tsc does not know of, and not the other way round.
  forget(
    join(root, output),
    newer.map((source) => relative(output, source)),
  );
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

/**
 * tsc builds what differs from what it has seen last. A source that was changed, built here, and changed back does not, though what is
 * built does: so its version is struck out. @param sources as seen from the output.
 */
function forget(output, sources) {
  const path = join(output, '.tsbuildinfo');
  if (!existsSync(path)) return;
  const struck = strikeOut(readFileSync(path, 'utf8'), new Set(sources));
  if (struck === undefined) rmSync(path);
  else writeFileSync(path, struck);
}

/** @returns `undefined` where it is written otherwise than is known here: without it tsc builds everything. */
function strikeOut(text, sources) {
  try {
    const info = JSON.parse(text);
    info.fileNames.forEach((name, index) => {
      if (!sources.has(name)) return;
      const file = info.fileInfos[index];
      const { version } = typeof file === 'string' ? { version: file } : file;
      if (typeof version !== 'string') throw new TypeError('no version');
      info.fileInfos[index] =
        typeof file === 'string'
          ? { version: '', signature: file }
          : { ...file, signature: file.signature ?? version, version: '' };
    });
    return JSON.stringify(info);
  } catch {
    return undefined;
  }
}
