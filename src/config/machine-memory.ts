// Defaults for the number of workers and their memory, from the machine's size and the process's cgroup (a container, a systemd unit).
import { availableParallelism, totalmem } from 'node:os';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { MIB } from '../shared/index.js';

export const WORKERS_MAX = 1_024;

/** The least memory limit that a worker may have. An idle worker uses half of this. */
export const WORKER_MEMORY_BYTES_MIN = 192 * MIB;

/** The tightest limits of the process's cgroup (version 2) and of the cgroups above it; `Infinity` for no limit. */
interface CgroupBounds {
  readonly memoryBytes: number;
  /** Processor time divided by the period: 1.5 means one and a half processors. */
  readonly processors: number;
}

/** Where Linux exposes cgroups. */
export interface CgroupFiles {
  /** The file that lists the cgroups of the process. */
  readonly membership: string;
  /** The directory that contains a directory for each cgroup. */
  readonly root: string;
}

const LINUX_CGROUP_FILES: CgroupFiles = { membership: '/proc/self/cgroup', root: '/sys/fs/cgroup' };

export function readCgroupBounds(files = LINUX_CGROUP_FILES): CgroupBounds {
  const bounds = { memoryBytes: Infinity, processors: Infinity };
  const own = /^0::(\/.*)$/m.exec(readTextOrEmpty(files.membership))?.[1];
  if (own === undefined) return bounds;
  // The path of a cgroup outside the namespace begins with `/..`, which `join` removes. In a container that sees the host's paths, only
  // the root directory exists: it is the container's own cgroup.
  for (let path = join('/', own); ; path = dirname(path)) {
    const directory = join(files.root, path);
    bounds.memoryBytes = Math.min(bounds.memoryBytes, parseMemoryBound(readTextOrEmpty(join(directory, 'memory.max'))));
    bounds.processors = Math.min(bounds.processors, parseProcessorBound(readTextOrEmpty(join(directory, 'cpu.max'))));
    if (path === '/') return bounds;
  }
}

/** The limit in bytes. @param text `max`, or a number of bytes. */
function parseMemoryBound(text: string): number {
  const bytes = /^\d+$/m.exec(text)?.[0];
  return bytes === undefined ? Infinity : Number(bytes);
}

/** The limit in processors. @param text quota and period in microseconds; a quota may be `max`. */
function parseProcessorBound(text: string): number {
  const [, quota, period] = /^(\d+) (\d+)$/m.exec(text) ?? [];
  return Number(quota) > 0 && Number(period) > 0 ? Number(quota) / Number(period) : Infinity;
}

/** The file's text; `''` if it cannot be read: the root cgroup has no limit files, and other cgroups may lack a controller. */
function readTextOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** The fraction of the machine's memory for all workers. The rest is for the primary, the store, kernel buffers and other programs. */
const WORKERS_FRACTION = 0.75;

export function defaultWorkerMemoryBytes(workerCount: number, machineBytes = machineMemoryBytes()): number {
  return Math.max(WORKER_MEMORY_BYTES_MIN, Math.floor((machineBytes * WORKERS_FRACTION) / workerCount));
}

/** The default number of workers: one per processor. A fraction of a processor counts as one; otherwise it would stay unused. */
export function defaultWorkerCount(bounds = readCgroupBounds(), machineProcessors = availableParallelism()): number {
  return Math.min(machineProcessors, Math.ceil(bounds.processors), WORKERS_MAX);
}

/** The memory that the program may use. libuv knows the limit of the process's own cgroup, of version 1 or 2, but not of those above. */
export function machineMemoryBytes(bounds = readCgroupBounds(), machineBytes = totalmem()): number {
  const limitBytes = process.constrainedMemory();
  // A limit of 0, or of more than the machine's memory, means that there is no limit.
  const ownBytes = limitBytes > 0 ? Math.min(machineBytes, limitBytes) : machineBytes;
  // A limit of 0 is ignored, because nothing could run with it.
  return bounds.memoryBytes > 0 ? Math.min(ownBytes, bounds.memoryBytes) : ownBytes;
}
