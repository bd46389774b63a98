// Limits: requests of backends to clients, and what sessions remember of clients' subscriptions, log levels and tasks.
import { KIB } from './units.js';

export const backendRequestLimits = {
  /** params of `logging/setLevel`, which each session keeps for its backends → `-32602` */
  logLevelParamsBytesMax: KIB,
  /** requests of one backend that a session's client has not answered → one more is refused to the backend */
  backendRequestsOpenMax: 64,
  /**
   * id of a backend's request, which becomes part of the id sent to the client, and its progress token → a longer id is refused, a longer
   * token ignored
   */
  backendRequestIdBytesMax: KIB,
  /** resource subscriptions that a session keeps, to renew them at backends that lost them → `-32000` */
  subscriptionsMax: 256,
  /** time for a backend to accept a renewed subscription → it is no longer waited for */
  subscribeMsMax: 5_000,
  /**
   * times that a backend without sessions may answer one request of a session with questions for its client, as it could ask for ever → the
   * client is answered `-32603`
   */
  inputRoundsMax: 8,
  /**
   * time for the client to answer what a backend asked during a call, while the call is held open; a person may have to decide → the call
   * is given up, and the client is told to start again
   */
  heldCallMsMax: 600_000,
  /** held calls of one subject, per worker; each keeps a request to a backend open → the backend is told that the client cannot be asked */
  heldCallsPerSubjectMax: 64,
  /** held calls of all subjects, per worker → the backend is told that the client cannot be asked */
  heldCallsMax: 4_096,
  /** how often one held call may ask its client → the backend is told that the client cannot be asked any more */
  heldCallRoundsMax: 64,
  /**
   * what backends ask in one round of a held call, kept until it is sent to the client → the backend is told that the client cannot be
   * asked
   */
  heldQuestionBytesMax: 256 * KIB,
  /** a backend's answer that arrives while its held call has no request of the client waiting → it is replaced by an error that says so */
  heldAnswerBytesMax: 64 * KIB,
} as const;
