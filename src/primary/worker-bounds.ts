// Bounds of asking workers for figures, and of starting, replacing and stopping them (fleet.ts, slot.ts). After the arrow: what happens at
// the bound.
export const workerBounds = {
  /** age of gathered figures that are served again; gathering interrupts every worker → the workers are asked again */
  metricGatheringAgeMsMax: 1_000,
  /** time from a worker's fork until it listens → it is killed, which counts as a failed start */
  workerStartMsMax: 30_000,
  /** workers that start at once; more would slow each other beyond the time for a start → further ones wait */
  workerStartsAtOnceMax: 4,
  /**
   * failed starts in a row of one slot → the primary no longer waits for the slot but keeps trying; before any worker has listened, the
   * failed starts of all slots are counted too, and after this many for each start that may run at once the program ends
   */
  workerFailedStartsMax: 5,
  /** longest wait before a failed start is tried again; the first is `workerRestartDelayMsMin` → the wait grows no further */
  workerStartRetryMsMax: 30_000,
  /** wait before a dead worker is replaced, from its second death in a row on; after the first there is no wait → the wait doubles */
  workerRestartDelayMsMin: 50,
  /** longest wait before a dead worker is replaced; short, because callers of its sessions wait → the wait grows no further */
  workerRestartDelayMsMax: 800,
  /**
   * part of a worker's time to stop that is reserved for everything but notifying backends → notifying ends, and backends that were not
   * notified are counted
   *
   * On a busy machine, a worker with many sessions needs more than a second to exit.
   */
  workerExitMs: 1_000,
  /**
   * divisor of the drain timeout; the quotient is reserved instead of `workerExitMs` when it is more, as a long drain leaves more to end →
   * at most half of the time to stop is reserved
   */
  workerExitDivisor: 10,
  /** time for which a worker must have listened to count as settled → when it dies, it is replaced without delay */
  workerSettledMs: 10_000,
  /**
   * least time for a worker to exit after `stop`, including the DELETEs of its upstream sessions, when less of the drain timeout is left →
   * it is killed
   */
  workerStopMs: 5_000,
} as const;
