// Limits: workers and the primary.

export const processLimits = {
  /** a worker from its fork to listening → it is killed, a failed start */
  workerStartMsMax: 30_000,
  /** finding out whether `setpriv` can have workers end with their primary → they are started without: one that hangs may outlive it */
  launcherTryMsMax: 2_000,
  /** workers that start at once: more would slow each other down past their time → further ones wait for their turn */
  workerStartsAtOnceMax: 4,
  /**
   * failed starts in a row of one slot; and, before any worker has ever listened, for each that may be under way at
   * once → the slot is not waited for, but tried on; the program ends
   */
  workerStartTriesMax: 5,
  /** longest wait before a failed start is tried again; the first is that of a restart → the wait grows no more */
  workerStartRetryMsMax: 30_000,
  /**
   * first wait before a worker that died again is replaced; the first time there is none → it is started, and the wait
   * doubles
   */
  workerRestartDelayMsMin: 50,
  /** longest such wait: its sessions' callers are waiting → the wait grows no more */
  workerRestartDelayMsMax: 800,
  /**
   * of a worker's time to stop, what is kept for everything but telling backends → telling them ends, and what could
   * not be told is counted
   *
   * On a busy machine a worker that was full needs more than a second for it.
   */
  workerExitMs: 1_000,
  /**
   * the same is one in so many parts of the drain timeout when that is more: who drains long has much to end → half of
   * the time to stop at most
   */
  workerExitDivisor: 10,
  /** a worker that listened this long has settled → when it dies it is replaced without delay again */
  workerSettledMs: 10_000,
  /**
   * a worker from `stop` to its exit, the DELETEs of its upstream sessions included, when less is left of the drain
   * timeout → it is killed
   */
  workerStopMs: 5_000,
  /**
   * a worker that was replaced, for what may still come over kept connections → they have been closed by then: ten idle
   * seconds and a look every four
   */
  keptConnectionMsMax: 15_000,
  /** between two looks of such a worker, after that, whether everything is answered → none */
  retiredLookMs: 250,
  /** between two looks of a worker that drains, after a notice, whether a connection is left → none */
  drainLookMs: 50,
  /** a turn of the event loop, in microseconds, in which next to nothing came, to close a listener in → the next one is tried */
  quietTurnMicrosecondsMax: 100,
  /** turns of a busy worker that are tried → the listener closes in the last of them */
  quietTurnsTriedMax: 200,
  /** a worker, for the one that it replaced to hear so, when it has cancellations for it → they are dropped */
  predecessorWaitMsMax: 5_000,
  /** cancellations that wait for that, per worker → one more is dropped */
  predecessorNoticesWaitingMax: 64,
  /**
   * heartbeats of a worker in `--worker-hang-timeout`: a late one alone is no reason → a worker that sends none for all
   * that time is killed
   */
  heartbeatsPerHangTimeout: 4,
  /** between two heartbeats of a worker → none: they are sent more often for a short timeout */
  heartbeatMsMax: 2_500,
  /** workers forgetting a changed config → its writer is answered all the same, and the log says so */
  forgetRoundMsMax: 2_000,
  /** changed configs that workers are forgetting at once → the oldest round ends as if its time were up */
  forgetRoundsMax: 1_024,
  /**
   * stop signals so soon after the first are the same wish: npm repeats a Ctrl-C that the group already got → a later
   * one ends the program at once
   */
  stopSignalRepeatMsMax: 500,
  /**
   * between two looks whether a Unix socket still stands at its path → it is made again, folder and all, when it was
   * removed
   */
  standingSocketCheckMs: 2_000,
  /** connections at once to the socket by which a primary holds its directory → one more is closed */
  hopDirectoryHolderConnectionsMax: 16,
  /** directories that a starting primary looks at, to remove what killed ones have left → the rest is left */
  hopDirectoriesSweptMax: 1_000,
  /** the path of a Unix socket, 108 with its NUL (unix(7)) → the primary does not start */
  unixSocketPathBytesMax: 107,
} as const;
