// The program's resources: the machine's memory and processors, or the limits of its cgroup (a container, a systemd unit).
import { availableParallelism, totalmem } from 'node:os';
import { limits } from '../shared/limits.js';
import { readCgroupBounds } from './cgroup.js';

/** The rest is left to the primary, the store, the kernel's buffers and other programs. */
const WORKERS_SHARE = 0.75;

/** The default memory limit of each worker, in bytes. */
export function defaultWorkerMemoryBytes(workerCount: number, machineBytes = machineMemoryBytes()): number {
  return Math.max(limits.workerMemoryBytesLeast, Math.floor((machineBytes * WORKERS_SHARE) / workerCount));
}

/** The default number of workers. Part of a processor counts as one, because with one worker less it would stay unused. */
export function defaultWorkerCount(bounds = readCgroupBounds(), machineProcessors = availableParallelism()): number {
  return Math.min(machineProcessors, Math.ceil(bounds.processors), limits.workersMax);
}

/** In bytes. libuv reads the limit of the process's own cgroup, also for version 1, but not those of the cgroups above it. */
export function machineMemoryBytes(bounds = readCgroupBounds(), machineBytes = totalmem()): number {
  const boundBytes = process.constrainedMemory();
  // 0, or more than the machine has, means no limit.
  const ownBytes = boundBytes > 0 ? Math.min(machineBytes, boundBytes) : machineBytes;
  // With a limit of 0 nothing could run, so it cannot apply to this process.
  return bounds.memoryBytes > 0 ? Math.min(ownBytes, bounds.memoryBytes) : ownBytes;
}
