// What there is for the program: the machine's memory and processors, or what its cgroup (a container, a systemd unit) may take.
import { availableParallelism, totalmem } from 'node:os';
import { limits } from '../shared/limits.js';
import { readCgroupBounds } from './cgroup.js';

/** The rest is for the primary, the store, the kernel's buffers and everybody else on the machine. */
const WORKERS_SHARE = 0.75;

/** What each of so many workers may take unless an option says otherwise, bytes. */
export function defaultWorkerMemoryBytes(workerCount: number, machineBytes = machineMemoryBytes()): number {
  return Math.max(limits.workerMemoryBytesLeast, Math.floor((machineBytes * WORKERS_SHARE) / workerCount));
}

/**
 * How many workers there are unless an option says otherwise. Part of a processor counts as one: a worker too few leaves it
 * unused.
 */
export function defaultWorkerCount(bounds = readCgroupBounds(), machineProcessors = availableParallelism()): number {
  return Math.min(machineProcessors, Math.ceil(bounds.processors), limits.workersMax);
}

/** Bytes. libuv reads the bound of the process's own cgroup, of version 1 too, and none above it. */
export function machineMemoryBytes(bounds = readCgroupBounds(), machineBytes = totalmem()): number {
  const boundBytes = process.constrainedMemory();
  // 0 or more than there is: no bound.
  const ownBytes = boundBytes > 0 ? Math.min(machineBytes, boundBytes) : machineBytes;
  // A bound of 0 lets nothing run: it is not what this process lives in.
  return bounds.memoryBytes > 0 ? Math.min(ownBytes, bounds.memoryBytes) : ownBytes;
}
