// Limits: sessions, their records, and the order in which their work is done.
import { KIB, MIB } from './units.js';

export const sessionLimits = {
  /**
   * one in this many places of the shares of sessions, session bytes and requests in flight is reserved for subjects that hold few, unless
   * one subject may use the whole share → the others are refused: 503 `sessions-full`, `session-bytes-full`, `requests-full`
   */
  keptShareDivisor: 8,
  /**
   * smallest request or answer that counts in the shares of bytes in flight; smaller ones are bounded by the number of requests → it waits
   * while the share has no room
   */
  countedFromBytes: 16 * KIB,
  /**
   * time that a large message waits for room; its sender is not read meanwhile, and uWebSockets.js may close an unread upload after 8 s →
   * it is refused
   */
  messageWaitMsMax: 5_000,
  /** large messages of one worker that wait for room at once → one more is refused */
  messagesWaitingMax: 16_384,
  /** large messages of one subject that wait for room at once, per worker → one more is refused */
  messagesWaitingPerSubjectMax: 1_024,
  /**
   * estimate of what a session adds to the shares of session bytes, beside its `clientInfo`, `capabilities` and upstream sessions; resident
   * memory grew by 5.3 KiB for each of 2,000 sessions with one backend → when the shares are full, `initialize` is refused
   */
  sessionBytesEach: 3 * KIB,
  /** one session's record in the session directory → its subscriptions are left out; a record that is still too long is not written */
  sessionRecordBytesMax: 256 * KIB,
  /**
   * leases of one subject in a worker, which serve its requests of 2026-07-28, one for each virtual host, set of capabilities and set of
   * headers for backends → an idle one ends, of the set of headers with the most leases; without an idle one 429 `subject-leases-full`
   */
  leasesPerSubjectMax: 256,
  /**
   * requests in flight of one lease, as a multiple of those that its subject may still begin, and busy leases with the same headers for
   * backends, as a multiple of the subject's leases that are not busy, unopened ones included; 3 leaves a quarter to others → 429
   * `lease-requests-full`, `subject-leases-full`
   */
  leaseShareOfFree: 3,
  /** time that an `initialize` waits for its session's record to be written → it is answered without waiting longer */
  sessionWriteWaitMsMax: 1_000,
  /**
   * time that a DELETE waits for other machines to learn of the session's end, and for each of them to acknowledge it → it is answered
   * anyway; such a machine may serve the session once more
   */
  sessionEndWaitMsMax: 2_000,
  /**
   * processes that a record names as holders of the session, to be told of its end → when one is added, the oldest is dropped from the
   * record
   */
  sessionListenersMax: 64,
  /**
   * ended sessions whose records could not be removed because the session directory was unreachable; this process ignores such records, and
   * removes them later → the oldest is forgotten
   */
  sessionRemovalsKept: 10_000,
  /** a cancellation with its headers that is passed on to the other processes that hold the session → it is not passed on */
  sessionNoticeBytesMax: 32 * KIB,
  /** cancellations that a worker is passing on to other processes at once → one more is not passed on */
  sessionNoticesUnderWayMax: 1_024,
  /** cancellations for sessions of one subject that a worker is passing on at once → one more is not passed on */
  sessionNoticesUnderWayPerSubjectMax: 64,
  /**
   * recent messages of other processes about sessions, remembered so that each is handled once although every node of a cluster delivers it
   * → the oldest is forgotten, and handled again if it is repeated
   */
  sessionNoticesKept: 1_024,
  /** records that a worker writes at once; each is held in memory → one more is not written until it changes again or is renewed */
  sessionWritesMax: 10_000,
  /**
   * records of one subject's sessions that a worker writes at once, so that a slow session directory is not taken up by one subject → one
   * more is not written until it changes again or is renewed
   */
  sessionWritesPerSubjectMax: 2_500,
  /** recent sessions whose record key a process remembers → the key is computed again */
  sessionKeysKept: 1_024,
  /** look-ups of unknown sessions that a worker has in progress at once → further ones wait for their turn */
  sessionLookUpsMax: 256,
  /** look-ups of unknown sessions that wait in a worker, subjects in turn → 503 `directory-failed` */
  sessionLookUpsWaitingMax: 10_000,
  /** look-ups of one subject's unknown sessions that wait in a worker → 503 `directory-failed` */
  sessionLookUpsWaitingPerSubjectMax: 1_000,
  /**
   * how often the record of a session in use is renewed per `--session-idle-timeout`; each renewal is a write → no effect: a record is kept
   * for one and a half timeouts
   */
  sessionRenewalsPerIdleTimeout: 4,
  /**
   * time that a store keeps the mark of a removed session that no other machine held; other marks are kept for 1.5 times
   * `--session-idle-timeout` → the mark is removed
   */
  sessionMarkMs: 60_000,
  /**
   * pause after an embedded session directory failed to write, for example on a full disk → until then other writes fail at once, and are
   * retried like the one that failed
   */
  sessionWritePauseMs: 1_000,
  /**
   * interval between the steps in which a worker renews the records of its sessions, a few at a time, so that writes come evenly → the next
   * step follows
   */
  sessionRenewalStepMs: 100,
  /** delay of the event loop that one renewal step makes up for → the remaining sessions are renewed in the next round */
  sessionRenewalStepMsMax: 500,
  /**
   * interval between a worker's sweeps of an embedded session directory for expired records and for files without a record, which nothing
   * else removes → the next sweep; until then they stay, and are never served
   */
  sessionRecordSweepMs: 10_000,
  /** records that one sweep looks at, in about a millisecond → the next sweep continues behind them */
  sessionRecordsPerSweep: 256,
  /**
   * files of one slot for records of one size in the gateway's own directory; the largest files have room for 65,536 records each → when
   * all are full, the record is not written
   */
  sessionRecordFilesMax: 64,
  /**
   * estimate of what an upstream session adds to the shares of session bytes, beside the backend's instructions and session id; a session
   * with five backends took 12.7 KiB → when the shares are full, `initialize` is refused
   */
  upstreamSessionBytesEach: 1_664,
  /**
   * requests that a worker serves on arrival between two looks at the clock, at up to a millisecond each → after `requestTurnMs` further
   * requests of that turn of the event loop wait, subjects in turn, and count as in flight
   */
  requestsUntimedMax: 8,
  /** requests that wait for their turn in a worker → one more is answered 503 `requests-full` */
  requestsWaitingMax: 65_536,
  /** requests of one subject that wait for their turn in a worker → one more is answered 429 `subject-requests-full` */
  requestsWaitingPerSubjectMax: 4_096,
  /**
   * time in one turn of the event loop for requests served on arrival, and as much again for those that wait, all subjects together → the
   * rest wait for the next turn
   */
  requestTurnMs: 5,
  /**
   * requests resumed between two looks at the clock after a common wait, for an upstream session, a config, a key, a backend's event stream
   * or the link to an owner → after `wokenTurnMs` the others wait for the next turn of the event loop, subjects in turn
   */
  wokenUntimedMax: 64,
  /**
   * time in one turn of the event loop for requests resumed after a common wait, and as much again for those left over, all subjects
   * together → the rest wait for the next turn
   */
  wokenTurnMs: 5,
  /** backends of a virtual host that are opened or sent a request at once, in about a millisecond together → the others wait for turns */
  backendsAtOnceMax: 16,
  /**
   * time in one turn of the event loop for opening backends and sending them requests, all sessions together → the rest wait for the next
   * turn
   */
  backendTurnMs: 5,
  /** backends of one session that are served in a row; subjects and sessions take turns → another session has its turn */
  backendsPerStep: 4,
  /**
   * per worker, sessions and lists with backends that wait for turns, and ending sessions with requests that do → the backends are reported
   * as `not ready yet`, and opened when needed; the requests end at once
   */
  sessionTurnsWaitingMax: 16_384,
  /**
   * sessions and lists of one subject in each of these two queues of a worker → the backends are reported as `not ready yet`, and opened
   * when needed; the requests end at once
   */
  sessionTurnsWaitingPerSubjectMax: 1_024,
  /** requests that end at once with their session, at a tenth of a millisecond each → the others wait for turns */
  requestsEndedAtOnceMax: 64,
  /** time in one turn of the event loop for ending requests of ended sessions, all sessions together → the rest wait for the next turn */
  requestEndTurnMs: 5,
  /** requests of one ended session that are ended in a row; subjects and sessions take turns → another session has its turn */
  requestsEndedPerStep: 8,
  /**
   * calls of one session in flight, so that one caller does not hold every connection to a backend → JSON-RPC error -32000, `Too many
   * requests in flight in this session`
   */
  sessionRequestsInFlightMax: 1_024,
  /** messages in one batch of a session of 2025-03-26 or earlier → 413, `batch-too-large` */
  batchMembersMax: 64,
  /** bytes of one batch → 413, `batch-too-large` */
  batchBytesMax: MIB,
  /**
   * bytes of one answer in a batch, and of all answers waiting for each other, counted like large answers → the waiting ones are sent as
   * events, unread ones within the share; for JSON only, or one large answer: error -32000
   *
   * Behind a slow reader of events more answers may wait, while their subject's share has room.
   */
  batchAnswerBytesMax: 4 * MIB,
} as const;
