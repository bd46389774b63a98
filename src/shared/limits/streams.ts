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
   * one event on a backend's own stream; what has arrived of it counts in the share of session bytes → the stream is closed, and opened
   * again behind the event
   */
  backendStreamEventBytesMax: 128 * KIB,
  /** `subscriptions/listen` requests of one subject in progress, per worker; each has its own session with each backend → -32603 */
  listensPerSubjectMax: 64,
  /** `subscriptions/listen` requests of all subjects in progress, per worker; each has its own session with each backend → -32603 */
  listensMax: 16_384,
} as const;
