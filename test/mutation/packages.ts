// The packages of the program, and the tests that judge each.
import { readdirSync } from 'node:fs';
import { join, sep } from 'node:path';
import { reachedModules } from '../runner/imports.js';
import { isMeasuring, testFiles, tiersOf } from '../runner/tiers.js';

export interface Package {
  /** A folder of `src`, for example `auth` or `worker/hop`. */
  readonly name: string;
  /** For example `src/auth/token-verifier.ts`. */
  readonly sources: readonly string[];
}

/** Their folders are packages of their own. */
const SPLIT: ReadonlySet<string> = new Set(['upstream', 'worker']);
const TESTS = join('build', 'test');
/** Much of what these promise shows only where a relay joins them, and is tested there: in test/relay, and in test/modern for that era. */
const RELAYING: ReadonlySet<string> = new Set([
  'exchange',
  'messages',
  'lists',
  'streams',
  'session',
  'calls',
  'modern',
]);
/** Tests in these folders drive whole systems. */
const SYSTEMS: readonly string[] = ['integration', 'spec'].map((folder) => join(TESTS, folder) + sep);

/** Files directly in `src` are in none: they connect the packages, and only the built program runs them. */
export function packagesOf(root: string): Package[] {
  const packages = new Map<string, string[]>();
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' });
  for (const file of files.filter((name) => name.endsWith('.ts')).sort()) {
    const [top = '', folder = '', ...rest] = file.split(sep);
    if (folder === '') continue;
    const name = SPLIT.has(top) && rest.length > 0 ? `${top}/${folder}` : top;
    const sources = packages.get(name) ?? [];
    packages.set(name, [...sources, join('src', file)]);
  }
  return [...packages].map(([name, sources]) => ({ name, sources }));
}

/**
 * The tests that can notice a slip in one of the sources: those in the folder of the package (the top one), those of the relay for
 * the packages that it joins, and those elsewhere that import the package, themselves or through a helper of the tests. Of those elsewhere,
 * the ones that start programs are asked only if no others are there.
 */
export function testsOf(root: string, { name }: Package, sources: readonly string[]): string[] {
  const [top = ''] = name.split('/');
  const modules = sources.map((source) => join('build', source.replace(/\.ts$/, '.js')));
  const inPackage = join('build', 'src', name) + sep;
  const own = [top, ...(RELAYING.has(top) ? ['relay', 'modern'] : [])].map((folder) => join(TESTS, folder) + sep);
  const isOwn = (test: string): boolean => own.some((folder) => test.startsWith(folder));
  const imports = (test: string): boolean =>
    [
      ...reachedModules(root, test, (module) => module.startsWith(TESTS + sep) || module.startsWith(inPackage)).modules,
    ].some((module) => module.startsWith(inPackage));
  const reaching = testFiles(root, [])
    .filter((test) => !isMeasuring(test) && !SYSTEMS.some((folder) => test.startsWith(folder)))
    .filter((test) => isOwn(test) || imports(test))
    .filter((test) => modules.some((module) => reachedModules(root, test).modules.has(module)));
  const asked = reaching.filter((test) => isOwn(test) || tiersOf(root, test).includes('test'));
  return asked.length > 0 ? asked : reaching;
}
