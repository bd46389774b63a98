// Limits: sessions, their records, and the order in which their work is done.
import { KIB, MIB } from './units.js';

export const sessionLimits = {
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
  /**
   * estimate of what a session adds to the shares of session bytes, beside its `clientInfo`, `capabilities` and upstream sessions; resident
   * memory grew by 5.3 KiB for each of 2,000 sessions with one backend → when the shares are full, `initialize` is refused
   */
  sessionBytesEach: 3 * KIB,
  /**
   * requests, messages or sessions of one process that wait for the same thing: room for a large message, a connection to a backend, the
   * look-up of a name or of a session, an owner's restart, turns of large sessions, a record to be written, of which one subject has a
   * quarter; Redis, the config thread → what they wait for fails, with an error that names it; a record is written when it changes again
   */
  waitingMax: 16_384,
  /** one session's record in the session directory → its subscriptions are left out; a record that is still too long is not written */
  sessionRecordBytesMax: 256 * KIB,
  /**
   * leases of one subject in a worker, which serve its requests of 2026-07-28, one for each virtual host, set of capabilities and set of
   * headers for backends → an idle one ends, of the set of headers with the most leases; without an idle one 429 `subject-leases-full`
   */
  leasesPerSubjectMax: 256,
  /**
   * time that a DELETE waits for other machines to learn of the session's end, and for each of them to acknowledge it → it is answered
   * anyway; such a machine may serve the session once more
   */
  sessionEndWaitMsMax: 2_000,
  /**
   * interval between a worker's sweeps of an embedded session directory for expired records and for files without a record, which nothing
   * else removes → the next sweep; until then they stay, and are never served
   */
  sessionRecordSweepMs: 10_000,
  /**
   * estimate of what an upstream session adds to the shares of session bytes, beside the backend's instructions and session id; a session
   * with five backends took 12.7 KiB → when the shares are full, `initialize` is refused
   */
  upstreamSessionBytesEach: 1_664,
  /**
   * requests that a worker serves on arrival between two looks at the clock, at up to a millisecond each → after `turnMs` further
   * requests of that turn of the event loop wait, subjects in turn, and count as in flight
   */
  requestsUntimedMax: 8,
  /** requests that wait for their turn in a worker → one more is answered 503 `requests-full` */
  requestsWaitingMax: 65_536,
  /** requests of one subject that wait for their turn in a worker → one more is answered 429 `subject-requests-full` */
  requestsWaitingPerSubjectMax: 4_096,
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
   * events; for JSON only, or one large answer that is no stream: error -32000
   */
  batchAnswerBytesMax: 4 * MIB,
} as const;
