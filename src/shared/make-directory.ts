// Makes a directory, and those above it that are not there, for this user alone. Node.js's own `recursive` turns for ever
// where the directory above is there and nothing can be made in it, as in /proc. Cold.
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

const OWNER_ALONE = 0o700;

/** One that is there stays as it is. Throws the file system's error when there can be none. */
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
