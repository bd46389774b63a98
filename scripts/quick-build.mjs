// Writes a file for each source as tsc would, with esbuild and without type checking: in seconds where tsc takes a minute.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { buildSync } from 'esbuild';

/** @param sources as paths from the root. @param from the part of these paths that is left out in the output. */
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
 * Builds every source in the folders that is newer than its built file.
 * @returns the number of built files.
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
  // First: an interruption may leave files that tsc rebuilds needlessly, but none that it wrongly trusts.
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
 * tsc builds what differs from what it saw last. A source that was changed, built here, and changed back does not differ, but its built
 * file does: so its version is struck out of tsc's records. @param sources relative to the output.
 */
function forget(output, sources) {
  const path = join(output, '.tsbuildinfo');
  if (!existsSync(path)) return;
  const struck = strikeOut(readFileSync(path, 'utf8'), new Set(sources));
  if (struck === undefined) rmSync(path);
  else writeFileSync(path, struck);
}

/** @returns `undefined` when the format is unknown: the file is then removed, and tsc builds everything. */
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
