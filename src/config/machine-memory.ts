// The program's resources: the machine's memory and processors, or the limits of its cgroup (a container, a systemd unit).
import { availableParallelism, totalmem } from 'node:os';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { MIB } from '../shared/index.js';

/** The most workers on one machine. */
export const WORKERS_MAX = 1_024;

/** The smallest memory limit of a worker; an idle worker uses half of it. */
export const WORKER_MEMORY_BYTES_MIN = 192 * MIB;

/**
 * The limits of the process's cgroup (version 2): memory and processor time of a container or a systemd unit. A limit may be set on any
 * cgroup above the process's own, and the tightest one counts.
 */
interface CgroupBounds {
  /** `Infinity`: no limit. */
  readonly memoryBytes: number;
  /** Processor time per period, divided by the period: 1.5 means one and a half processors. `Infinity`: no limit. */
  readonly processors: number;
}

/** Where Linux exposes cgroups. */
export interface CgroupFiles {
  /** The file that lists the cgroups of the process. */
  readonly membership: string;
  /** The directory with a subdirectory for each cgroup. */
  readonly root: string;
}

const LINUX: CgroupFiles = { membership: '/proc/self/cgroup', root: '/sys/fs/cgroup' };

/** Finds no limits on a system without cgroups of version 2. */
export function readCgroupBounds(files = LINUX): CgroupBounds {
  const bounds = { memoryBytes: Infinity, processors: Infinity };
  const own = /^0::(\/.*)$/m.exec(textOf(files.membership))?.[1];
  if (own === undefined) return bounds;
  // `join` with `/`, because a cgroup outside the namespace begins with `/..`. In a container that sees the host's names, only the root
  // directory exists, which is the container's own cgroup.
  for (let path = join('/', own); ; path = dirname(path)) {
    const directory = join(files.root, path);
    bounds.memoryBytes = Math.min(bounds.memoryBytes, memoryBound(textOf(join(directory, 'memory.max'))));
    bounds.processors = Math.min(bounds.processors, processorBound(textOf(join(directory, 'cpu.max'))));
    if (path === '/') return bounds;
  }
}

/** @param text `max`, or bytes. */
function memoryBound(text: string): number {
  const bytes = /^\d+$/m.exec(text)?.[0];
  return bytes === undefined ? Infinity : Number(bytes);
}

/** @param text quota and period in microseconds; a quota of `max` means no limit. */
function processorBound(text: string): number {
  const [, quota, period] = /^(\d+) (\d+)$/m.exec(text) ?? [];
  return Number(quota) > 0 && Number(period) > 0 ? Number(quota) / Number(period) : Infinity;
}

/** The file's text; `''` if it cannot be read: the root cgroup has no files of limits, and other cgroups may lack a controller. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** The workers' part of the memory. The rest is for the primary, the store, the kernel's buffers and other programs. */
const WORKERS_SHARE = 0.75;

/** The default memory limit of each worker, in bytes. */
export function defaultWorkerMemoryBytes(workerCount: number, machineBytes = machineMemoryBytes()): number {
  return Math.max(WORKER_MEMORY_BYTES_MIN, Math.floor((machineBytes * WORKERS_SHARE) / workerCount));
}

/** The default number of workers. Part of a processor counts as one, because with one worker less it would stay unused. */
export function defaultWorkerCount(bounds = readCgroupBounds(), machineProcessors = availableParallelism()): number {
  return Math.min(machineProcessors, Math.ceil(bounds.processors), WORKERS_MAX);
}

/** Memory in bytes. libuv reads the limit of the process's own cgroup, also for version 1, but not those of the cgroups above it. */
export function machineMemoryBytes(bounds = readCgroupBounds(), machineBytes = totalmem()): number {
  const limitBytes = process.constrainedMemory();
  // 0, or more than the machine has, means no limit.
  const ownBytes = limitBytes > 0 ? Math.min(machineBytes, limitBytes) : machineBytes;
  // With a limit of 0 nothing could run, so it cannot apply to this process.
  return bounds.memoryBytes > 0 ? Math.min(ownBytes, bounds.memoryBytes) : ownBytes;
}
