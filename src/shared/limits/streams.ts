// Limits: sessions' own streams, what is kept of broken streams, and backends' own streams.
import { KIB, MIB } from './units.js';

export const streamLimits = {
  /** what the stream of a session's GET adds to the shares of session bytes → 429 or 503, as for a session */
  sessionStreamBytesEach: 4 * KIB,
  /** duration of one stream that answers a GET → it ends, and the client opens the next one */
  sessionStreamMsMax: 600_000,
  /** events on a session's stream that wait for a slow reader → the oldest is dropped, and the client is told so */
  sessionStreamWaitingMax: 1_024,
  /**
   * bytes of the events that wait on a session's stream, which count in the shares of session bytes → the oldest is dropped, and the client
   * is told so
   */
  sessionStreamWaitingBytesMax: MIB,
  /**
   * a stream's last written events that are kept in case the connection broke before they arrived; the very last event is kept whatever its
   * size → older ones are taken as delivered
   */
  writtenBytesKept: 64 * KIB,
  /**
   * request id that event ids name, for an error in place of an answer that is not kept → without room for its answer, a stream with a
   * longer id is dropped, and who comes back for it gets the session's own stream
   */
  keptIdBytesMax: KIB,
  /** streams of one session that are kept for a while after their answer was written → the oldest is dropped */
  deliveredStreamsKept: 4,
  /** time that such a stream is kept; a client notices a broken connection sooner → its call is answered with an error instead */
  deliveredStreamsKeptMs: 60_000,
  /** interval between a session's checks for streams that were kept long enough → they are dropped */
  keptStreamsSweepMs: 5_000,
  /**
   * time that a backend's request on a session's stream waits for the client's `notifications/initialized` → the backend's request is
   * refused
   */
  clientReadyMsMax: 5_000,
  /** reconnection time sent to clients, for a call's stream or the session's → they reconnect */
  streamRetryMs: 1_000,
  /** connections of one worker for backends' own streams; at most half of those for calls → the stream is tried again later */
  backendStreamsMax: 8_192,
  /**
   * connections of one worker that are reserved for answers to backends, as the calls that wait for these answers hold the others → further
   * answers use connections for calls
   */
  replyConnectionsMax: 512,
  /**
   * one in this many connections for calls is reserved for answers to backends, if that is less → further answers use connections for calls
   */
  replyConnectionsDivisor: 16,
  /**
   * one event on a backend's own stream; what has arrived of it counts in the share of session bytes → the stream is closed, and opened
   * again behind the event
   */
  backendStreamEventBytesMax: 128 * KIB,
  /**
   * an event's id, its name or its `retry`, each decoded in one go; the id is sent with the next GET → the stream is not resumed from a
   * longer id; a longer name is cut, a longer `retry` ignored
   */
  eventFieldBytesMax: KIB,
  /** first wait before a backend's stream is opened again; its `retry` may ask for longer → it is opened, and the wait doubles */
  backendStreamDelayMsMin: 1_000,
  /** longest wait before a backend's stream is opened again → the wait grows no further */
  backendStreamDelayMsMax: 30_000,
  /** shortest `retry` of a backend that is honored, as a backend could close its stream all the time → a shorter one is raised to this */
  backendRetryMsMin: 100,
  /** longest `retry` of a backend that is honored → a longer one is reduced to this */
  backendRetryMsMax: 3_600_000,
  /**
   * time that the first call waits for a backend's own stream to open; many servers lose what they ask before that → the call is sent, and
   * the backend's requests on that stream may be lost
   */
  backendStreamPatienceMs: 500,
  /**
   * time that an answer waits for one more report of a call's progress, where reports come on the backend's own stream: it may have
   * overtaken the last one → the answer is given; a later report is dropped
   */
  lateReportMs: 50,
  /**
   * time that backends' streams stay open while their client is gone, or has not come yet → they are closed; requests asked on them are
   * answered with an error
   */
  backendStreamsLingerMs: 10_000,
  /** `subscriptions/listen` requests of one subject in progress, per worker; each has its own session with each backend → -32603 */
  listensPerSubjectMax: 64,
  /** `subscriptions/listen` requests of all subjects in progress, per worker; each has its own session with each backend → -32603 */
  listensMax: 16_384,
  /** resources of one `subscriptions/listen` that backends are asked for at once → the next one follows when one is answered */
  listenResourcesAtOnceMax: 8,
  /**
   * interval at which an open `subscriptions/listen` or session's stream compares its user config with the current one → if it changed, the
   * former ends, and its client listens again; for the latter, the session adopts the new config
   */
  listenConfigMs: 10_000,
  /** user configs that are read at once for sessions' streams, per worker → the next one follows when one is read */
  listenConfigsAtOnceMax: 16,
} as const;
