// Limits: by what a process judges that it has too much to do.
import { KIB } from './units.js';

export const overloadLimits = {
  /**
   * memory that a worker keeps only while it uses it (`MALLOC_MMAP_THRESHOLD_` of glibc, which may be set otherwise):
   * what is smaller counts as resident for long after it was used → the C library asks the kernel for it by itself
   */
  memoryReturnedFromBytes: 12 * KIB,
  /** between two readings of memory and event loop → the next is taken */
  overloadReadingMs: 100,
  /**
   * readings in a row below a mark: memory that the C library keeps may never fall far below it → the mark counts as
   * left behind
   */
  overloadReadingsBelow: 150,
  /**
   * between two collections of garbage that a worker short of memory asks for: each holds up its event loop → the next
   * is asked for
   */
  overloadCollectionMs: 10_000,
  /** resident memory, in percent of `--worker-memory` → below it, sessions are taken again */
  residentPercentCalm: 70,
  /** the same: what is in flight needs the rest → new sessions are refused; below it, requests are taken again */
  residentPercentPressed: 80,
  /** the same → new requests are refused */
  residentPercentHardPressed: 90,
  /**
   * the heap without garbage, in percent of half of `--worker-memory`, which is V8's → below it, sessions are taken
   * again
   */
  heapPercentCalm: 60,
  /**
   * the same: close to its end V8 does little but collect, and then gives up → new sessions are refused; below it,
   * requests are taken again
   */
  heapPercentPressed: 70,
  /** the same → new requests are refused */
  heapPercentHardPressed: 80,
  /**
   * by how much the event loop was late at each of the last five readings, less (on Linux) the time in which other
   * processes had the processor → below it, sessions are taken again
   */
  loopDelayCalmMs: 100,
  /**
   * the same: one long task is no overload, one after another is → new sessions are refused; below it, requests are
   * taken again
   */
  loopDelayPressedMs: 300,
  /** the same → new requests are refused */
  loopDelayHardPressedMs: 1_000,
  /**
   * sessions that a worker which refuses sessions opens all the same, each second, for those who do not hold much;
   * fewer as the second mark comes closer, at last none → one more is refused
   */
  pressedSessionsPerSecond: 16,
  /** of these, those of one subject → one more is refused */
  pressedSessionsPerSubjectPerSecond: 1,
  /**
   * requests that a worker which refuses requests takes all the same, each second, for those who do not hold much; none
   * where memory is what it lacks → one more is refused
   */
  pressedRequestsPerSecond: 128,
  /** of these, those of one subject → one more is refused */
  pressedRequestsPerSubjectPerSecond: 8,
  /**
   * how many times as many sessions, bytes of sessions or requests in flight as other subjects hold on the average one
   * may hold → it is refused first: all sessions, or requests
   */
  pressedTimesOthersMax: 2,
  /**
   * what one subject may hold at least of its share of these, in percent, whatever others hold → it counts as one that
   * holds much
   */
  pressedHarmlessPercent: 2,
} as const;
