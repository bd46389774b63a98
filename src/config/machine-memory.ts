// How much memory there is for the program: the machine's, or what its cgroup (a container, a systemd unit) may take.
import { totalmem } from 'node:os';
import { limits } from '../shared/limits.js';

/** The rest is for the primary, the store, the kernel's buffers and everybody else on the machine. */
const WORKERS_SHARE = 0.75;

/** What each of so many workers may take unless an option says otherwise, bytes. */
export function defaultWorkerMemoryBytes(workerCount: number, machineBytes = machineMemoryBytes()): number {
  return Math.max(limits.workerMemoryBytesLeast, Math.floor((machineBytes * WORKERS_SHARE) / workerCount));
}

/** Bytes. libuv reads the cgroup's bound, of version 1 and 2. */
export function machineMemoryBytes(): number {
  const boundBytes = process.constrainedMemory();
  // 0 or more than there is: no bound.
  return boundBytes > 0 ? Math.min(totalmem(), boundBytes) : totalmem();
}
