export { Backoff, delayMsAfter, settledWithin, withJitter } from './backoff.js';
export { readBodyText } from './body-text.js';
export {
  type DataplaneRequest,
  type DataplaneSessions,
  explanationShape,
  figuresShape,
  type DataplaneFigures,
  type DataplaneReadiness,
  readyShape,
  requestShape,
  requestsShape,
  sessionsShape,
  workersShape,
} from './dataplane-answers.js';
export type { Endpoint, EndpointAnswer, FeatureModule } from './endpoint.js';
export { type ExitStatus, exitStatus, PROGRAM_VERSION } from './program.js';
export { HostPolicy, REMEMBERED_HEADER_CHARS_MAX, refusedHost } from './host-policy.js';
export { HTTP_TOKEN, bearerToken, challengeParameter, headerIn, isHttpToken, isOwnHeader } from './http-token.js';
export { limits, perSubject } from './limits.js';
export {
  FAILURE_LOG_INTERVAL_MS,
  LOG_LEVELS,
  type LogLevel,
  type Logger,
  OutsideFault,
  RepeatedLog,
  createLogger,
  flushLog,
  isLogLevel,
  sessionHash,
  setLogLevel,
  subjectHash,
} from './logger.js';
export { makeDirectory } from './make-directory.js';
export { RecentMap, dropOldest, getOrMake } from './recent-map.js';
export {
  type Refusal,
  headerUnreadable,
  methodUnknown,
  modernCodes,
  refusals,
  rpcCodes,
  tokenRefusals,
} from './refusals.js';
export { type RpcError, errorsToBackends, refusalAsError, rpcErrors } from './rpc-errors.js';
export { RandomPool, SEAL_BYTES, SEAL_KEY_BYTES, joinedParts, seal, sealParts, unseal } from './sealing.js';
export { KIB, MIB, isObject, tryParseJson } from './values.js';
