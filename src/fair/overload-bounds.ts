// When a process counts as pressed, and what it still accepts then (overload.ts, load-shedder.ts).
export const overloadBounds = {
  /**
   * resident memory in percent of `--worker-memory`; what is in flight needs the rest → new sessions are refused; below this, new requests
   * are accepted again
   */
  residentPercentPressed: 80,
  /** resident memory in percent of `--worker-memory` → new requests are refused */
  residentPercentHardPressed: 90,
  /**
   * heap without garbage, in percent of V8's half of `--worker-memory`; a nearly full heap makes V8 do little but collect, then abort → new
   * sessions are refused; below this, new requests are accepted again
   */
  heapPercentPressed: 70,
  /** heap without garbage, in percent of V8's half of `--worker-memory` → new requests are refused */
  heapPercentHardPressed: 80,
  /**
   * event loop delay, each of the last five readings, less (on Linux) the time that other processes had the processor → new sessions are
   * refused; below this, new requests are accepted again
   */
  loopDelayPressedMs: 300,
  /** event loop delay, measured as for `loopDelayPressedMs` → new requests are refused */
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
} as const;
