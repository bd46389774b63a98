export { errorCodeIn, isToolError } from './answer-outcome.js';
export {
  type RequestDetail,
  readCreatedTask,
  readProgressKey,
  readRequestDetail,
  readRequestId,
} from './backend-request.js';
export {
  ANY_TASK_CAPABILITY,
  type ClientCapabilities,
  LIST_CHANGES,
  type ExtraCapability,
  TASKS_EXTENSION,
  TASK_CAPABILITIES,
  PRESUMED_CAPABILITIES,
  capabilitiesJson,
  capability,
  readClientCapabilities,
} from './capabilities.js';
export { readDiscoverResult, readInitializeResult } from './initialize-result.js';
export {
  INPUT_METHODS,
  type InputRequest,
  type InputRequired,
  readInputRequired,
  readResultType,
} from './input-required.js';
export {
  type BackendMessage,
  type ClientBatch,
  type ClientMessage,
  type ParsedClientMessage,
  answersRequest,
  beginsWithResult,
  isMcpMethod,
  readBackendAnswer,
  readBackendBatch,
  readBackendMessage,
  readClientMessage,
} from './json-rpc.js';
export { readLargeBackendMessage, readLargeClientMessage } from './large-messages.js';
export { type ListKind, type ListKindName, listKindOf, listKinds } from './list-kinds.js';
export { type ListAnswer, type ListEra, type ListPage, SPAN_LENGTH, readListAnswer, span } from './list-page.js';
export {
  CLIENT_CAPABILITIES_KEY,
  CLIENT_INFO_KEY,
  LOG_LEVEL_KEY,
  type ModernEnvelope,
  PROTOCOL_VERSION_KEY,
  type BackendError,
  readBackendError,
} from './modern-envelope.js';
export {
  BACKEND_VERSIONS,
  BATCH_PROTOCOL_VERSIONS,
  type Era,
  LATEST_LEGACY_VERSION,
  MODERN_PROTOCOL_VERSION,
  LEGACY_VERSIONS,
  canResume,
  eraOfVersion,
  versionIfOfferable,
  versionToOfferNext,
  readVersionRefusal,
  versionRefusalOf,
  severityOf,
} from './protocol-versions.js';
export {
  NO_SPANS,
  NUMBERS_PER_SPAN,
  type LocatedSpans,
  uriLocation,
  uriFinder,
  URI_NODES_MAX,
  taskIdFinder,
  taskLocation,
} from './value-finder.js';
export { type MirroredParam, type PageMirrors, type MirroredTool, isVisibleTo } from './tool-mirrors.js';
