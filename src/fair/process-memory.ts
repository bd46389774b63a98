// The memory of this process. On Linux, the resident memory is read from a file. While no file descriptor is free, the last figure is used
// again, so that a process with too many connections goes on.
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

/** The memory that V8 manages, under the names of `process.memoryUsage`. */
export function heapMemory(): { readonly heapTotal: number; readonly heapUsed: number; readonly external: number } {
  const heap = getHeapStatistics();
  return { heapTotal: heap.total_heap_size, heapUsed: heap.used_heap_size, external: heap.external_memory };
}
