// Creates a directory and its missing parents for this user alone. Node.js's `recursive` loops for ever when nothing can be created in a
// parent, as in /proc. Cold path.
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Makes the directory. Throws the file system's error. */
export function makeDirectory(path: string): void {
  const whole = resolve(path);
  try {
    mkdirSync(whole, 0o700);
  } catch (error) {
    if (statSync(whole, { throwIfNoEntry: false })?.isDirectory() === true) return;
    const parent = dirname(whole);
    if (existsSync(parent)) throw error;
    makeDirectory(parent);
    makeDirectory(whole);
  }
}
