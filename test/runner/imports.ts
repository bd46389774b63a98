// What a compiled file imports, directly or through others.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

export interface Reached {
  /** Files from the root, for example `build/src/main.js`; the given file is one of them. */
  readonly modules: ReadonlySet<string>;
  /** For example `node:http`. */
  readonly packages: ReadonlySet<string>;
}

const statements = new Map<string, readonly string[]>();

/** @param name of the compiled file, from the root. @param isFollowed says which modules are looked into; all unless given. */
export function reachedModules(root: string, name: string, isFollowed = (_module: string): boolean => true): Reached {
  const packages = new Set<string>();
  const modules = new Set([name]);
  for (const module of modules) {
    for (const specifier of importsOf(join(root, module))) {
      const target = relative(root, resolve(root, dirname(module), specifier));
      if (!specifier.startsWith('.')) packages.add(specifier);
      else if (isFollowed(target)) modules.add(target);
    }
  }
  return { modules, packages };
}

/** Statements and calls of `import`, and modules that are started as programs or threads. */
function importsOf(path: string): readonly string[] {
  const known = statements.get(path);
  if (known !== undefined) return known;
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const found = [
    ...text.matchAll(/(?<=^|; )(?:import|export)\s(?:[^'";]*?from\s*)?['"]([^'"]+)['"];/gm),
    ...text.matchAll(/\bimport\(['"]([^'"]+)['"]\)/g),
    ...text.matchAll(/new URL\(['"]([^'":]+\.js)['"], ?import\.meta\.url\)/g),
    // A URL is relative also without a dot.
  ].map(([statement, specifier = '']) => (statement.startsWith('new URL') ? `./${specifier}` : specifier));
  statements.set(path, found);
  return found;
}
