// Limits: the thresholds of overload.
import { KIB } from './units.js';

export const overloadLimits = {
  /**
   * smallest allocation that glibc returns to the kernel as soon as it is freed (`MALLOC_MMAP_THRESHOLD_`, which the environment may set
   * otherwise) → smaller ones may count as resident long after their use
   */
  memoryReturnedFromBytes: 12 * KIB,
  /** interval between readings of memory use and event loop delay → the next reading is taken */
  overloadReadingMs: 100,
  /** readings in a row below a mark; memory that the C library keeps may never fall far below it → the overload state of that mark ends */
  overloadReadingsBelow: 150,
  /** interval between garbage collections requested by a worker short of memory; each blocks its event loop → the next one is requested */
  overloadCollectionMs: 10_000,
  /** resident memory in percent of `--worker-memory` → below this, new sessions are accepted again */
  residentPercentCalm: 70,
  /**
   * resident memory in percent of `--worker-memory`; what is in flight needs the rest → new sessions are refused; below this, new requests
   * are accepted again
   */
  residentPercentPressed: 80,
  /** resident memory in percent of `--worker-memory` → new requests are refused */
  residentPercentHardPressed: 90,
  /** heap without garbage, in percent of V8's half of `--worker-memory` → below this, new sessions are accepted again */
  heapPercentCalm: 60,
  /**
   * heap without garbage, in percent of V8's half of `--worker-memory`; a nearly full heap makes V8 do little but collect, then abort → new
   * sessions are refused; below this, new requests are accepted again
   */
  heapPercentPressed: 70,
  /** heap without garbage, in percent of V8's half of `--worker-memory` → new requests are refused */
  heapPercentHardPressed: 80,
  /**
   * event loop delay at each of the last five readings, less (on Linux) the time that other processes had the processor → below this, new
   * sessions are accepted again
   */
  loopDelayCalmMs: 100,
  /**
   * event loop delay, measured as for `loopDelayCalmMs`; one long task is no overload, several in a row are → new sessions are refused;
   * below this, new requests are accepted again
   */
  loopDelayPressedMs: 300,
  /** event loop delay, measured as for `loopDelayCalmMs` → new requests are refused */
  loopDelayHardPressedMs: 1_000,
  /**
   * sessions per second that a worker still opens while it refuses new sessions, for subjects that hold little; fewer towards the second
   * mark, where it is none → one more is refused
   */
  pressedSessionsPerSecond: 16,
  /** sessions per second of one subject that a worker still opens while it refuses new sessions → one more is refused */
  pressedSessionsPerSubjectPerSecond: 1,
  /**
   * requests per second that a worker still accepts while it refuses new requests, for subjects that hold little; none when memory is short
   * → one more is refused
   */
  pressedRequestsPerSecond: 128,
  /** requests per second of one subject that a worker still accepts while it refuses new requests → one more is refused */
  pressedRequestsPerSubjectPerSecond: 8,
  /**
   * how many times the average of the other subjects one subject may hold of sessions, session bytes or requests in flight → under overload
   * all its new sessions, or requests, are refused
   */
  pressedTimesOthersMax: 2,
  /**
   * part of its share that one subject may always hold, in percent, whatever others hold → beyond this it can count as a subject that holds
   * much
   */
  pressedHarmlessPercent: 2,
} as const;
