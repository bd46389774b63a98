// What the cgroup of the process may take, of version 2: a container's or a systemd unit's bounds of memory and processor time.
// A bound may stand at any cgroup above the process's own, and the tightest is the one that counts.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface CgroupBounds {
  /** Infinity: no bound. */
  readonly memoryBytes: number;
  /** Processor time in a period, divided by the period: 1.5 is one and a half processors. Infinity: no bound. */
  readonly processors: number;
}

/** Where Linux tells them. */
export interface CgroupFiles {
  /** Lists the cgroups that the process is in. */
  readonly membership: string;
  /** Below it each cgroup has a directory. */
  readonly root: string;
}

const LINUX: CgroupFiles = { membership: '/proc/self/cgroup', root: '/sys/fs/cgroup' };

/** Without cgroups of version 2, as on another system: no bounds. */
export function readCgroupBounds(files = LINUX): CgroupBounds {
  const bounds = { memoryBytes: Infinity, processors: Infinity };
  const own = /^0::(\/.*)$/m.exec(textOf(files.membership))?.[1];
  if (own === undefined) return bounds;
  // Joined with `/`, as a cgroup outside of the namespace begins with `/..`. A container that sees the host's names finds
  // none of those directories but its root, which is its own.
  for (let path = join('/', own); ; path = dirname(path)) {
    const directory = join(files.root, path);
    bounds.memoryBytes = Math.min(bounds.memoryBytes, memoryBound(textOf(join(directory, 'memory.max'))));
    bounds.processors = Math.min(bounds.processors, processorBound(textOf(join(directory, 'cpu.max'))));
    if (path === '/') return bounds;
  }
}

/** `max`, or bytes. */
function memoryBound(text: string): number {
  const bytes = /^\d+$/m.exec(text)?.[0];
  return bytes === undefined ? Infinity : Number(bytes);
}

/** `max 100000`, or microseconds of each period of so many. */
function processorBound(text: string): number {
  const [, quota, period] = /^(\d+) (\d+)$/m.exec(text) ?? [];
  return Number(quota) > 0 && Number(period) > 0 ? Number(quota) / Number(period) : Infinity;
}

/** Nothing of a file that is not there or cannot be read: the outermost cgroup has no bounds, others may lack a controller. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
