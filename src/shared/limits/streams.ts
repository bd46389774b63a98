// Limits: sessions' own streams, what is kept of broken streams, and backends' own streams.
import { KIB, MIB } from './units.js';

export const streamLimits = {
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
   * time that a backend's request on a session's stream waits for the client's `notifications/initialized` → the backend's request is
   * refused
   */
  clientReadyMsMax: 5_000,
  /**
   * one event on a backend's own stream; what has arrived of it counts in the share of session bytes → the stream is closed, and opened
   * again behind the event
   */
  backendStreamEventBytesMax: 128 * KIB,
  /** first wait before a backend's stream is opened again; its `retry` may ask for longer → it is opened, and the wait doubles */
  backendStreamDelayMsMin: 1_000,
  /** longest wait before a backend's stream is opened again → the wait grows no further */
  backendStreamDelayMsMax: 30_000,
  /** `subscriptions/listen` requests of one subject in progress, per worker; each has its own session with each backend → -32603 */
  listensPerSubjectMax: 64,
  /** `subscriptions/listen` requests of all subjects in progress, per worker; each has its own session with each backend → -32603 */
  listensMax: 16_384,
  /**
   * interval at which an open `subscriptions/listen` or session's stream compares its user config with the current one → if it changed, the
   * former ends, and its client listens again; for the latter, the session adopts the new config
   */
  listenConfigMs: 10_000,
} as const;
