// Limits: sessions, their records, and turns within them.
import { KIB, MIB } from './units.js';

export const sessionLimits = {
  /**
   * one in so many of the sessions, their bytes and the requests in flight is kept for subjects that hold few, where
   * one subject may not have all of them anyway → others are refused: 503 `sessions-full`, `session-bytes-full`,
   * `requests-full`
   */
  keptShareDivisor: 8,
  /**
   * a request or an answer that counts in the shares of bytes in flight; smaller ones are bounded by the number of
   * requests → it waits for room when there is none
   */
  countedFromBytes: 16 * KIB,
  /**
   * a large message that waits for room; what sends it is not read from meanwhile, and uWebSockets.js may close such an
   * upload after 8 s → it is refused
   */
  messageWaitMsMax: 5_000,
  /** large messages of one worker that wait at once → one more is refused */
  messagesWaitingMax: 16_384,
  /** of these, those of one subject → the same */
  messagesWaitingPerSubjectMax: 1_024,
  /**
   * what a session counts for in the shares of session bytes, beside its `clientInfo`, its `capabilities` and its
   * upstream sessions: an estimate; resident memory grew by 5.3 KiB for each of 2,000 sessions with one backend → the
   * shares fill, `initialize` is refused
   */
  sessionBytesEach: 3 * KIB,
  /**
   * one session's record in the session directory → its subscriptions are left out of it; a longer one is not written
   */
  sessionRecordBytesMax: 256 * KIB,
  /**
   * leases of one subject in a worker: sessions in which its requests of 2026-07-28 are served, one for each virtual host, set
   * of capabilities and set of headers for backends → one that idles ends, of the headers with most of them; 429
   * `subject-leases-full` when none idles
   */
  leasesPerSubjectMax: 256,
  /**
   * of a subject's requests in flight one lease may hold so many times what is free, and of its leases with requests in flight so
   * many may have the same headers for backends: three quarters, so that others find room → 429 `lease-requests-full`,
   * `subject-leases-full`
   */
  leaseShareOfFree: 3,
  /** an `initialize` waiting until its session is written down → it is answered all the same */
  sessionWriteWaitMsMax: 1_000,
  /**
   * a DELETE waiting until other machines know that the session has ended, and one of these that is told so and does not
   * say that it has heard it → it is answered all the same; the other may serve the session once more
   */
  sessionEndWaitMsMax: 2_000,
  /** processes that a record names as having the session, to be told of its end → of one more the oldest is not told */
  sessionListenersMax: 64,
  /**
   * sessions that have ended while the session directory could not be reached: their records are removed when it can be,
   * and are found by nobody here until then → the oldest is forgotten
   */
  sessionRemovalsKept: 10_000,
  /** what a process passes on to those that have a session, too: a cancellation with its headers → it is not passed on */
  sessionNoticeBytesMax: 32 * KIB,
  /** such messages of a worker under way at once → one more is not passed on */
  sessionNoticesUnderWayMax: 1_024,
  /** of these, those of sessions of one subject → the same */
  sessionNoticesUnderWayPerSubjectMax: 64,
  /**
   * what processes have told a process of sessions that they have, too, which it remembers so that it takes each once,
   * though every node of a cluster brings it → it takes one again
   */
  sessionNoticesKept: 1_024,
  /**
   * records that a worker writes at once: each is held in memory → one more is not written until it changes again or is
   * renewed
   */
  sessionWritesMax: 10_000,
  /** of these, those of sessions of one subject: a place of records that is slow must not be full of them → the same */
  sessionWritesPerSubjectMax: 2_500,
  /** sessions of which a process remembers under what key their record is, those of late → it is worked out again */
  sessionKeysKept: 1_024,
  /** look-ups of unknown sessions that a worker has under way at once → further ones wait for their turn */
  sessionLookUpsMax: 256,
  /** look-ups of a worker that wait for their turn, which goes from subject to subject → 503 `directory-failed` */
  sessionLookUpsWaitingMax: 10_000,
  /** those of one subject → 503 `directory-failed` */
  sessionLookUpsWaitingPerSubjectMax: 1_000,
  /**
   * how often the record of a session in use is renewed within `--session-idle-timeout`: each time is a write →
   * nothing: it is kept for one and a half timeouts
   */
  sessionRenewalsPerIdleTimeout: 4,
  /**
   * the mark of a session that was removed and that no other machine has had, in a session directory of the store;
   * others are kept for 1.5 times `--session-idle-timeout` → it is forgotten
   */
  sessionMarkMs: 60_000,
  /** after an embedded directory did not take a write, as on a full disk → until then others fail at once, and are tried later as that one is */
  sessionWritePauseMs: 1_000,
  /**
   * between two steps of renewing, so that there is no burst of writes: each takes in as many of a worker's sessions as
   * the time calls for → the next step
   */
  sessionRenewalStepMs: 100,
  /** the time that one step makes up for, when the event loop was late → the rest is renewed in the next round */
  sessionRenewalStepMsMax: 500,
  /**
   * between two looks of a worker for expired records in an embedded directory, which nobody else removes, and for
   * files without a record → they stay a while longer, and are found by nobody
   */
  sessionRecordSweepMs: 10_000,
  /** records that such a look takes in: a millisecond or so → the next look goes on behind them */
  sessionRecordsPerSweep: 256,
  /**
   * files of one slot with records of one size, in a directory of the gateway's own; the largest have room for 65,536 records
   * each → a record for which all of them are full is not written
   */
  sessionRecordFilesMax: 64,
  /**
   * what each upstream session of it counts for, beside the backend's instructions and session id: an estimate; the
   * same with five backends was 12.7 KiB → the same
   */
  upstreamSessionBytesEach: 1_664,
  /**
   * requests that a worker serves as they come between two looks at the clock; one takes up to a millisecond → after
   * `requestTurnMs` the others of that turn of the event loop wait, by subject, and count as in flight
   */
  requestsUntimedMax: 8,
  /** requests that wait for their turn in a worker → one more is answered 503 `requests-full` */
  requestsWaitingMax: 65_536,
  /** of these, those of one subject → one more is answered 429 `subject-requests-full` */
  requestsWaitingPerSubjectMax: 4_096,
  /**
   * what requests take of one turn of the event loop as they come, and as much for those that wait, all subjects
   * together → others have their turn
   */
  requestTurnMs: 5,
  /**
   * of those who have waited for the same thing (an upstream session that opens, a config, a key, an event stream of a backend's, an owner's
   * link) and hear what became of it, so many are served between two looks at the clock → after `wokenTurnMs` the others of that turn of
   * the event loop wait, by subject
   */
  wokenUntimedMax: 64,
  /** what those take of one turn of the event loop, and as much those that wait, all subjects together → others have their turn */
  wokenTurnMs: 5,
  /** backends of a virtual host that are opened or asked at once, a millisecond together → those beyond have turns */
  backendsAtOnceMax: 16,
  /**
   * what opening and asking those takes of one turn of the event loop, all sessions together → others have their turn
   */
  backendTurnMs: 5,
  /** backends of one session in a row, subjects and sessions in turn → another session has its turn */
  backendsPerStep: 4,
  /**
   * sessions and lists whose further backends wait for their turns, and sessions that end whose further requests do, each per
   * worker → such backends are named as `not ready yet`, and opened when needed; such requests end at once
   */
  sessionTurnsWaitingMax: 16_384,
  /** those of one subject → the same */
  sessionTurnsWaitingPerSubjectMax: 1_024,
  /** requests of a session that end with it at once, a tenth of a millisecond each → those beyond have turns */
  requestsEndedAtOnceMax: 64,
  /** what ending those takes of one turn of the event loop, all sessions together → others have their turn */
  requestEndTurnMs: 5,
  /** requests of one session that end in a row, subjects and sessions in turn → another session has its turn */
  requestsEndedPerStep: 8,
  /**
   * calls of one session at once: one caller must not hold every connection to a backend → JSON-RPC error -32000, `Too
   * many requests in flight in this session`
   */
  sessionRequestsInFlightMax: 1_024,
  /** messages in one batch of a session of 2025-03-26 or before → 413, `batch-too-large` */
  batchMembersMax: 64,
  /** bytes of one batch → 413, `batch-too-large` */
  batchBytesMax: MIB,
  /**
   * bytes of one answer in a batch, and of all that wait for each other, counted as large answers are → they go out as
   * events, unread ones within the share; JSON alone, or one answer: error -32000
   *
   * Behind a slow reader of events more may wait, while their subject's share has room.
   */
  batchAnswerBytesMax: 4 * MIB,
} as const;
