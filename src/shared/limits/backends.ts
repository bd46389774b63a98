// Limits: messages and sessions of backends, and how sessions with them are ended.
import { KIB, MIB } from './units.js';

export const backendLimits = {
  /** first wait before a stream or an access token is asked for again; a stream's `retry` may ask for longer → it is tried, and the wait doubles */
  retryDelayMsMin: 1_000,
  /** longest such wait → the wait grows no further */
  retryDelayMsMax: 60_000,
  /** one JSON answer or one event of a backend; it is held in memory as a whole → fault `answer-too-large` */
  upstreamMessageBytesMax: 64 * MIB,
  /** body of a backend's HTTP error response, which may contain a JSON-RPC error → only the status counts */
  upstreamRefusalBytesMax: 64 * KIB,
  /** a backend's answer to `initialize`, or an event before it; only a few members are needed → fault `answer-too-large` */
  initializeAnswerBytesMax: MIB,
  /** first event of a backend with transport SSE, which names the URL for messages, and what precedes it → fault `endpoint-missing` */
  sseEndpointBytesMax: 8 * KIB,
  /**
   * requests of one session that wait for answers on the single stream of an SSE backend; their POSTs end long before → fault
   * `backend-busy`
   */
  sseRequestsWaitingMax: 1_024,
  /** a caller's params of `initialize`, which are parsed twice → `-32602`, naming them */
  initializeParamsBytesMax: 64 * KIB,
  /** a caller's `clientInfo`, which each session keeps → `-32602`, naming it */
  clientInfoBytesMax: 16 * KIB,
  /** a caller's `capabilities`, which each session keeps for its backends → `-32602`, naming them */
  clientCapabilitiesBytesMax: 16 * KIB,
  /**
   * time for a backend to accept a notification, or the DELETE of its session, whose outcome is ignored → it is cut
   *
   * A stopping worker waits for these, and must have time left to exit.
   */
  noticeMsMax: 4_000,
} as const;
