// A disk of a few megabytes for one test, so that it can be full: mounted in memory, where this user may mount.
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { createScratchDirectory } from './scratch-directory.js';

const PIECE = Buffer.alloc(4_096, 'x');

/** Why no such disk can be mounted here; `false` where it can. */
export function whyNoSmallDisk(): string | false {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'only root mounts a disk, on Linux';
  try {
    execFileSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], { stdio: 'ignore' });
    return false;
  } catch {
    return 'no disk can be mounted here';
  }
}

export class SmallDisk {
  /** The mount point. */
  readonly path: string;

  /** Unmounted with the test. */
  constructor(t: Pick<Test, 'teardown'>, bytes: number) {
    this.path = createScratchDirectory(t);
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', this.path]);
    t.teardown(() => execFileSync('umount', ['--lazy', this.path]));
  }

  get #ballast(): string {
    return join(this.path, 'ballast');
  }

  /** Fills the disk until nothing more can be written to it. */
  fill(): void {
    const descriptor = openSync(this.#ballast, 'a');
    try {
      for (;;) writeSync(descriptor, PIECE);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
    } finally {
      closeSync(descriptor);
    }
  }

  /** Removes what it was filled with. */
  empty(): void {
    rmSync(this.#ballast);
  }
}
