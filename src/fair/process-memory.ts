// The memory of this process. On Linux, what is resident is read from a file: while no file descriptor is free, the last figure stands, for
// a process that has too many connections must not end over it.
import { getHeapStatistics } from 'node:v8';

let lastResidentBytes = 0;

export function residentBytes(): number {
  try {
    lastResidentBytes = process.memoryUsage.rss();
  } catch {
    // EMFILE, or ENFILE.
  }
  return lastResidentBytes;
}

/** Figures of memory, as `process.memoryUsage` gives them. */
export function heapMemory(): { readonly heapTotal: number; readonly heapUsed: number; readonly external: number } {
  const heap = getHeapStatistics();
  return { heapTotal: heap.total_heap_size, heapUsed: heap.used_heap_size, external: heap.external_memory };
}
