// Limits: what backends ask of clients, and what clients ask to be told.
import { KIB } from './units.js';

export const backendRequestLimits = {
  /** answers to one backend's own requests under way in one session → more of its requests are not answered */
  backendRequestsUnderWayMax: 16,
  /** the params of `logging/setLevel`, which each session keeps for its backends → `-32602` */
  logLevelParamsBytesMax: KIB,
  /** a backend setting its log level → the client is answered without it */
  logLevelMsMax: 5_000,
  /** requests of one backend that the client of a session has not answered → one more is refused to the backend */
  backendRequestsOpenMax: 64,
  /**
   * what each of them counts for in the subject's share of session bytes, beside its id → without room for it, it is
   * refused to the backend
   */
  backendRequestBytesEach: KIB,
  /** tasks that the client of a session runs for backends, whose ids are kept → of one more the oldest is forgotten */
  clientTasksMax: 256,
  /** each of them in the subject's share of session bytes, beside its id → without room for it, it is not kept */
  clientTaskBytesEach: 192,
  /**
   * silence of a backend while the result of a task is waited for, if `--call-timeout` does not say more → the caller
   * is answered -32603, and may ask again
   */
  taskResultSilenceMsMax: 3_600_000,
  /**
   * the id of such a request, which is part of ours, and its progress token → a longer id is refused, a longer token is
   * not known
   */
  backendRequestIdBytesMax: KIB,
  /**
   * requests that another process asked of a session's client, and whose answers were passed on here: each once → the
   * oldest is forgotten
   */
  answeredIdsKeptMax: 256,
  /** resources that a session is subscribed to, which it keeps for backends that forget → `-32000` */
  subscriptionsMax: 256,
  /** what each counts for in the shares of session bytes, beside its URI → 429 or 503, as for a session */
  subscriptionBytesEach: 128,
  /** a backend taking a subscription again → nobody waits for it */
  subscribeMsMax: 5_000,
  /**
   * times that a backend without sessions may answer one request of a session with questions for its client: it might
   * ask without end → the client is answered `-32603`
   */
  inputRoundsMax: 8,
  /** such an answer that asks for nothing and wants to be asked again → a pause, of which it gets no more than rounds */
  inputPauseMs: 250,
  /**
   * a client's answer to what a backend asked in the middle of its call, which waits for it at the backend: a person may
   * have to read and decide → the call is given up, and the client is told to begin again
   */
  heldCallMsMax: 600_000,
  /** calls that are held so, of one subject and per worker: each keeps a request at a backend open → the backend is told that the client cannot be asked */
  heldCallsPerSubjectMax: 64,
  /** the same of all subjects → the same */
  heldCallsMax: 4_096,
  /** how often one call may ask its client → the backend is told that the client cannot be asked any more */
  heldCallRoundsMax: 64,
  /** what backends ask in one round, which is kept until it is told → the backend is told that it cannot be asked */
  heldQuestionBytesMax: 256 * KIB,
  /** between the first thing that a backend asks and the round: what it asks at the same time goes into it → the next round */
  heldGatherMs: 20,
  /** an answer of the backend that comes while nobody waits for it → an error that says so takes its place */
  heldAnswerBytesMax: 64 * KIB,
} as const;
