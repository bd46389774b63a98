// The private directory of the slots' hop sockets: made when the primary starts, removed when it ends. Cold.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { limits } from '../shared/limits.js';
import { exitStatus, StartFault } from '../process/start-fault.js';

/**
 * Under the system's temporary directory (`TMPDIR` names another one).
 * @throws {StartFault} when it cannot be made, or when its sockets' paths would be too long.
 */
export function makeHopDirectory(slotCount: number): string {
  const parent = tmpdir();
  const advice = 'point TMPDIR to a short path that can be written';
  let directory: string;
  try {
    directory = mkdtempSync(join(parent, 'switchyard-')); // mkdtemp(3) gives it mode 0700
  } catch (error) {
    throw new StartFault(exitStatus.cannotCreate, `cannot make a directory in ${parent}: ${advice}`, error);
  }
  const longestPath = join(directory, `slot-${slotCount - 1}.sock`);
  if (Buffer.byteLength(longestPath) > limits.unixSocketPathBytesMax) {
    removeHopDirectory(directory);
    throw new StartFault(exitStatus.cannotCreate, `${longestPath} is too long for a socket: ${advice}`, undefined);
  }
  return directory;
}

export function removeHopDirectory(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
}
