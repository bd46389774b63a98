// Every bound of the program that is not an option, each with its unit, its reason and what happens when it is hit.
// docs/limits.md mirrors this file, and a test holds the two together.

const KIB = 1024;
const MIB = 1024 * KIB;

export const limits = {
  /** Header bytes of one request; uWebSockets.js answers 431 above. A bearer token alone can pass its own 4 KiB. */
  requestHeaderBytesMax: 32 * KIB,
  /** Verified tokens remembered per worker; the oldest is dropped, and verified again when it comes back. */
  tokenCacheEntriesMax: 50_000,
  /** An `authorization` header longer than this is not remembered: it is verified each time. */
  tokenCacheKeyCharsMax: 8 * KIB,
  /** Compiled user configs remembered per worker; the least recently used is dropped and compiled again. */
  userConfigCacheEntriesMax: 50_000,
  /** Bytes of one user config; a larger one cannot be decoded (500). */
  userConfigBytesMax: 4 * MIB,
  /** UTF-8 bytes of a subject as a store key: LMDB takes 1,978 at most. A longer one cannot be encoded (500). */
  storeKeyBytesMax: 1_978,
  /** Raw values kept by the Redis client-side cache per worker; the least recently used is dropped and read again. */
  redisCacheEntriesMax: 50_000,

  /** Sessions of one worker; an `initialize` above is answered 503. */
  sessionsMax: 200_000,
  /** Requests of one session in flight at once; one more is answered with a JSON-RPC error. */
  sessionRequestsInFlightMax: 1_024,
  /** Characters of a session id that a caller may send; a longer one is unknown (404). */
  sessionIdCharsMax: 128,

  /** Bytes of one JSON answer or one event of a backend; above it the answer is invalid. */
  upstreamMessageBytesMax: 64 * MIB,
  /** Bytes of an HTTP error answer that are read to find a JSON-RPC error in it; above it the status alone counts. */
  upstreamRefusalBytesMax: 64 * KIB,
  /** Pages that one backend's `tools/list` may have; more is an invalid answer. */
  listPagesMax: 1_000,
  /** Connections per worker and backend origin; further requests wait for one. */
  upstreamConnectionsMax: 1_024,
  /** First and longest wait before an unavailable backend is tried again, ms. */
  upstreamRetryDelayMsMin: 100,
  upstreamRetryDelayMsMax: 5_000,
  /** After a cancellation was passed on, how long a backend may take to end its answer, ms. Then it is cut. */
  cancelledAnswerMsMax: 5_000,
  /** How long the end of an upstream session (DELETE) may take, ms. */
  upstreamDeleteMsMax: 5_000,

  /** Bytes written to a slow caller's stream that may wait in memory before the backend is no longer read. */
  streamBufferBytesMax: 256 * KIB,
  /** Silence on an event stream before a comment line is sent, ms (decisions 2.2 says at least every 15 s). */
  streamKeepAliveMs: 14_000,

  /** Bytes that the owner may send ahead on one hopped answer before the receiver returns credit. */
  hopWindowBytes: 256 * KIB,
  /** How long a connection to an owner may take, ms; a Unix socket answers at once or not at all. */
  hopConnectMsMax: 2_000,

  /** Tries to start a worker that has never listened before the program gives up. */
  workerStartTriesMax: 5,
  /** First and longest wait before a worker is started again, ms. */
  workerRestartDelayMsMin: 50,
  workerRestartDelayMsMax: 800,
  /** How long a worker may take from its fork to listening, ms. */
  workerStartMsMax: 30_000,
  /** How long the upstream DELETEs of a stopping worker may take, ms. */
  workerStopMsMax: 5_000,
} as const;
