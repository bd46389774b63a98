// Bundles what ships: a file for each program and each thread, and some shared ones, because a process that loads some three
// hundred files takes twice as long to start. Packages of many small files that processes need at their
// start are bundled, with their licenses; they are the development's dependencies. The package's own dependencies stay outside. Names are
// kept, so that stack traces are readable.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { build } from 'esbuild';
import { seenThroughDoors } from './doors.mjs';

/** For packages that load others in the way of CommonJS. */
const REQUIRE =
  "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);";

/** Placeholder for the path from a bundled file to the bundle's root, until it is known which file that is. */
const ROOT = '@bundle-root@';
/** A module that another one names in order to start it as a process or a thread. */
const STARTED = /new URL\('(?<path>[\w./-]+)\.js', import\.meta\.url\)/g;

/**
 * @param root of the repository.
 * @param output folder in which each program has the same path as in `src/`.
 * @param hasFolder says which folders of `src/` may have a program.
 */
export async function bundle(root, output, hasFolder = () => true) {
  const source = join(root, 'src');
  const texts = new Map(
    readdirSync(source, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => [file, readFileSync(join(source, file), 'utf8')]),
  );
  const started = [...texts].flatMap(([file, text]) =>
    [...text.matchAll(STARTED)].map(({ groups }) => join(dirname(file), `${groups.path}.ts`)),
  );
  const programs = [...new Set(['main.ts', ...started])].filter((file) => hasFolder(file.split(sep)[0]));
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: programs.map((file) => join(source, file)),
    outbase: source,
    outdir: output,
    // For code that programs share, and code that is loaded on first use.
    chunkNames: 'parts/[name]-[hash]',
    bundle: true,
    splitting: true,
    external: Object.keys(dependencies).flatMap((name) => [name, `${name}/*`]),
    format: 'esm',
    platform: 'node',
    target: 'node20',
    banner: { js: REQUIRE },
    sourcemap: true,
    logLevel: 'warning',
    write: false,
    metafile: true,
    plugins: [{ name: 'own places', setup: (setup) => keepPlaces(setup, source) }],
  });
  for (const { path, text } of outputFiles) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text.replaceAll(ROOT, relative(dirname(path), output) || '.'));
  }
  writeLicenses(root, output, metafile);
}

/** Writes the versions and licenses of the packages that have gone into a bundle. */
export function writeLicenses(root, output, { inputs }) {
  writeFileSync(join(output, 'third-party-licenses.txt'), licensesOf(root, Object.keys(inputs)));
}

function licensesOf(root, files) {
  const packages = new Set(files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  return [...packages]
    .sort()
    .map((path) => {
      const file = readdirSync(join(root, path)).find((name) => /^licen[cs]e/i.test(name));
      const { version, license } = JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8'));
      const text = file === undefined ? license : readFileSync(join(root, path, file), 'utf8');
      if (text === undefined) throw new Error(`${path} names no license, so it cannot be bundled`);
      return `${path.replace(/^.*node_modules\//, '')} ${version}\n\n${text.trim()}\n`;
    })
    .join('\n\n');
}

/** Imports files from behind doors; makes each module resolve paths from where it would stand unbundled, whichever file its text is in. */
function keepPlaces(setup, source) {
  setup.onLoad({ filter: /\.ts$/ }, ({ path }) => {
    const text = seenThroughDoors(readFileSync(path, 'utf8'), path);
    const place = `${ROOT}/${relative(source, path).replaceAll(sep, '/').replace(/ts$/, 'js')}`;
    return { contents: text.replaceAll('import.meta.url', `new URL('${place}', import.meta.url).href`), loader: 'ts' };
  });
}
