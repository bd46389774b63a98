// Limits: messages and sessions of backends, and how they are left.
import { KIB, MIB } from './units.js';

export const backendLimits = {
  /** one JSON answer, or one event: it is in memory as a whole → fault `answer-too-large` */
  upstreamMessageBytesMax: 64 * MIB,
  /** the path that a backend redirects to, in the log and in a server's record → the rest is cut off */
  redirectPathCharsMax: 256,
  /** an HTTP error answer, which may have a JSON-RPC error in it → the status alone counts */
  upstreamRefusalBytesMax: 64 * KIB,
  /** a backend's answer to `initialize`, and an event before it: a few members are wanted → fault `answer-too-large` */
  initializeAnswerBytesMax: MIB,
  /**
   * what the first event of a server of transport SSE may say, and what stands before it: the place for messages →
   * fault `endpoint-missing`
   */
  sseEndpointBytesMax: 8 * KIB,
  /**
   * requests of one session that wait for their answers on the one stream of such a server: each POST is over long
   * before → fault `backend-busy`
   */
  sseRequestsWaitingMax: 1_024,
  /** a caller's params of `initialize`, which are read twice → `-32602`, naming them */
  initializeParamsBytesMax: 64 * KIB,
  /** a caller's `clientInfo`, which each session keeps → `-32602`, naming it */
  clientInfoBytesMax: 16 * KIB,
  /** a caller's `capabilities`, which each session keeps for its backends → `-32602`, naming them */
  clientCapabilitiesBytesMax: 16 * KIB,
  /**
   * introductions of clients that a worker knows, of which sessions share one copy → the oldest are forgotten; sessions
   * keep theirs
   */
  introductionsKnownMax: 256,
  /** an introduction (`clientInfo` and `capabilities`) that sessions may share → each session has a copy of its own */
  introductionSharedBytesMax: 2 * KIB,
  /**
   * what a backend declares as experimental, names and values, which each session keeps → what comes behind them is
   * left out
   */
  experimentalBytesMax: KIB,
  /** a backend's `instructions`, which each session keeps → they are left out */
  instructionsCharsMax: 32 * KIB,
  /** a call whose caller is gone goes on, and holds a connection → the backend is told, the call is ended */
  unheardCallMsMax: 300_000,
  /** what is read at once of a call whose caller is gone → another such call has its turn */
  unheardReadBytes: 64 * KIB,
  /**
   * times as long as that took no such call is read on: a fifth of the event loop is for them at most → they are read
   * on later, subjects in turn
   */
  unheardRestFactor: 4,
  /** that rest, for what was read at once → another such call has its turn */
  unheardRestMsMax: 1_000,
  /** a backend's event stream after its answer: it may end by itself, which keeps the connection → it is cut */
  answeredStreamMsMax: 1_000,
  /**
   * a backend's answer after its cancellation: it need not send one → it is cut, and the caller told `Request
   * cancelled`
   */
  cancelledAnswerMsMax: 5_000,
  /** notices under way at once when all sessions end with the process → further ones wait for their turn */
  farewellsMax: 2_048,
  /** of these to one origin: fewer than connections, so that none waits for one → further ones wait for their turn */
  farewellsPerOriginMax: 256,
  /**
   * of these to one origin at first: an origin that is silent must not hold up others → one more for each that is
   * answered, half for each that is not
   */
  farewellsPerOriginFirst: 16,
  /**
   * telling backends, where the stop does not say how long it may take → what could not be told is counted and logged
   */
  farewellsMsMax: 4_000,
  /**
   * a backend taking a notification, or the DELETE of its session: nobody waits for it → it is cut
   *
   * A worker that stops waits for these, and must have time left to end.
   */
  noticeMsMax: 4_000,
} as const;
