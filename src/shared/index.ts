export { Backoff, delayAfter, spread } from './backoff.js';
export { bodyText } from './body-text.js';
export {
  type DataplaneRequest,
  type DataplaneSessions,
  explanationShape,
  figuresShape,
  readyShape,
  requestsShape,
  sessionsShape,
  workersShape,
} from './dataplane-answers.js';
export { type LoadRow, type TopAnswer, type WorkerReading, loadOf } from './dataplane-load.js';
export type { Endpoint, EndpointAnswer, FeatureModule } from './endpoint.js';
export { type ExitStatus, exitStatus } from './exit-status.js';
export { Figures, Interval } from './figures.js';
export { HostPolicy, REMEMBERED_HEADER_CHARS_MAX, refusedHost } from './host-policy.js';
export { HTTP_TOKEN, bearerToken, headerIn, isHttpToken, isOwnHeader } from './http-token.js';
export { nameLike } from './likeness.js';
export { limits, perSubject } from './limits.js';
export {
  FAILURE_LOG_INTERVAL_MS,
  LOG_LEVELS,
  LineShares,
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
export { PROGRAM_VERSION } from './program-version.js';
export { METADATA_PATH, ProtectedResource, type RequestOrigin, metadataCorsHeaders } from './protected-resource.js';
export {
  type Refusal,
  headerUnreadable,
  methodUnknown,
  modernCodes,
  refusals,
  rpcCodes,
  tokenRefusals,
} from './refusals.js';
export { RequestIds } from './request-ids.js';
export { type Role, isRoleEnough, roles } from './roles.js';
export { type RpcError, errorsToBackends, refusalAsError, rpcErrors } from './rpc-errors.js';
export { RandomPool, SEAL_BYTES, SEAL_KEY_BYTES, joinedParts, seal, sealParts, unseal } from './sealing.js';
export {
  HOSTS_FILE_SUFFIX,
  SECRET_NAME_RULE,
  type SecretPlace,
  isSecretName,
  isSecretValue,
  readSecretPlace,
} from './secret-name.js';
export { StandingSocket, isPrivateFolder, makeDirectory, preparedSocketPath } from './standing-socket.js';
export { TaskThread } from './task-thread.js';
export { KIB, MIB } from './units.js';
export { type FileRead, WatchedFile } from './watched-file.js';
