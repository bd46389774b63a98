// Which tests a change can reach: those that import a changed source, directly or through others, and those that have changed
// themselves. A change of what no test imports (a document, a style) reaches none.
import { spawnSync } from 'node:child_process';
import { reachedModules } from './imports.js';

/** Sources that differ from the last commit, or are not in it yet, as compiled files: `build/src/main.js`. */
export function changedModules(root: string): string[] {
  const words = [
    ['diff', '--name-only', '--relative', '-z', 'HEAD'],
    ['ls-files', '--others', '--exclude-standard', '-z'],
  ];
  const files = words.flatMap((each) => {
    const { status, stdout, stderr } = spawnSync('git', each, { cwd: root, encoding: 'utf8' });
    if (status !== 0) throw new Error(`git could not say what has changed: ${stderr.trim()}`);
    return stdout.split('\0');
  });
  return files.filter((file) => /(?<!\.d)\.ts$/.test(file)).map((file) => `build/${file.replace(/ts$/, 'js')}`);
}

/** @param names compiled test files. @param changed compiled files, from the root. */
export function reachedTests(root: string, names: readonly string[], changed: readonly string[]): string[] {
  return names.filter((name) => {
    const { modules } = reachedModules(root, name);
    return changed.some((module) => modules.has(module));
  });
}
