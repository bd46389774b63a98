// Creates a directory and its missing parents, accessible to this user alone. Node.js's `recursive` option loops for ever when a parent
// exists but nothing can be created in it, as in /proc. Cold path.
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

const OWNER_ALONE = 0o700;

/** An existing directory stays as it is. Throws the file system's error when there can be none. */
export function makeDirectory(path: string): void {
  const whole = resolve(path);
  try {
    mkdirSync(whole, OWNER_ALONE);
  } catch (error) {
    if (isDirectory(whole)) return;
    const parent = dirname(whole);
    if (existsSync(parent)) throw error;
    makeDirectory(parent);
    makeDirectory(whole);
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
