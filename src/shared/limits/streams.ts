// Limits: a session's own stream, what is kept of broken ones, and backends' own streams.
import { KIB, MIB } from './units.js';

export const streamLimits = {
  /** what the stream of a session's GET counts for in the shares of session bytes → 429 or 503, as for a session */
  sessionStreamBytesEach: 4 * KIB,
  /** how long a GET is answered with one stream → it ends; the client opens the next one */
  sessionStreamMsMax: 600_000,
  /** events on it that wait for a slow reader → the oldest is dropped, and the client told */
  sessionStreamWaitingMax: 1_024,
  /** their bytes, which count in the shares of session bytes → the oldest is dropped, and the client told */
  sessionStreamWaitingBytesMax: MIB,
  /**
   * a stream's last events, which are kept though they were written: a connection may break with them on the way →
   * older ones are taken for arrived; the very last one is kept whatever its size
   */
  writtenBytesKept: 64 * KIB,
  /**
   * a request's id that is kept with its stream, for an error in the place of an answer that cannot be kept → such a
   * stream cannot be gone on with: 404 `stream-unknown`
   */
  keptIdBytesMax: KIB,
  /** streams of one session that are kept for a while though their answer was written → the oldest is not */
  deliveredStreamsKept: 4,
  /**
   * how long: a client notices sooner that its connection broke → going on with one is refused: 404 `stream-unknown`
   */
  deliveredStreamsKeptMs: 60_000,
  /** between two looks of a session for streams that have been kept for long enough → they go */
  keptStreamsSweepMs: 5_000,
  /**
   * how long what a backend asks on a session's stream waits for the client's `notifications/initialized` → the backend
   * is refused
   */
  clientReadyMsMax: 5_000,
  /**
   * what clients are told to wait before they come back for a stream that has ended, a call's or the session's → they
   * come back
   */
  streamRetryMs: 1_000,
  /**
   * connections of one worker to backends' own streams; half as many as calls may have if that is less → the stream is
   * tried again later
   */
  backendStreamsMax: 8_192,
  /**
   * connections of one worker for answers to backends: calls that wait for these hold the others → they go on
   * connections of calls
   */
  replyConnectionsMax: 512,
  /** one in so many of those that calls may have, if that is less → they go on connections of calls */
  replyConnectionsDivisor: 16,
  /**
   * one event on a backend's own stream; what has come of it counts in the share of session bytes → the stream is
   * closed, and opened again behind the event
   */
  backendStreamEventBytesMax: 128 * KIB,
  /**
   * an event's id, its name, and a `retry`, which are decoded at once; the next GET carries the id → a longer id is not
   * gone on from; a longer name is cut, a `retry` passed over
   */
  eventFieldBytesMax: KIB,
  /**
   * first wait before a backend's stream is opened again; its `retry` may say longer → it is opened; the wait doubles
   */
  backendStreamDelayMsMin: 1_000,
  /** longest such wait → the wait grows no more */
  backendStreamDelayMsMax: 30_000,
  /** the least that a backend's `retry` may say: one could close its stream all the time → it is taken for this */
  backendRetryMsMin: 100,
  /** what a backend's `retry` may say → it is taken for this */
  backendRetryMsMax: 3_600_000,
  /**
   * a backend's own stream to open before the first call: many servers lose what they ask before that → the call is
   * sent, and what the backend asks on that stream may be lost
   */
  backendStreamPatienceMs: 500,
  /**
   * backends' streams whose client is gone, or has not come yet → they are closed; what was asked on them is answered
   * by an error
   */
  backendStreamsLingerMs: 10_000,
  /**
   * `subscriptions/listen` of one subject at once, per worker: each has a session with each backend of its own → -32603
   */
  listensPerSubjectMax: 64,
  /** the same of all subjects → -32603 */
  listensMax: 16_384,
  /** resources of one `subscriptions/listen` that backends are asked for at once → the next when one has answered */
  listenResourcesAtOnceMax: 8,
  /**
   * a `subscriptions/listen`, or a session's stream, goes on under the config that it began with, whatever its user's is
   * since → it is looked at; under another one the former ends, and its client listens again; the latter's session obeys it
   */
  listenConfigMs: 10_000,
  /** users' configs that are read at once for sessions' streams, per worker → the next when one is read */
  listenConfigsAtOnceMax: 16,
} as const;
