export { curateArguments } from './curated-call.js';
export {
  type ListChange,
  type ListenFilter,
  filterJson,
  listChanges,
  readListenFilter,
  SUBSCRIPTION_ID_KEY,
  taggedNotification,
  untaggedNotification,
} from './listening.js';
export {
  type DecodeKey,
  MirroredPaths,
  type MirroredValues,
  type ReadArguments,
  TOO_LONG,
  mirrorDisagreement,
  decodeHeader,
  paramHeaders,
  scalarText,
  mirroredValuesIn,
} from './mirrored-params.js';
export { modernMessage, withEditsFor } from './modern-message.js';
export { bareNameBody, bareUriBody, callersParts, withEdit, withEdits } from './rewriting.js';
export { type TaskOwnership, bareTaskEdit, belongsToTask, callersTaskEdits } from './task-ids.js';
export { tracedMessage } from './trace-passing.js';
export {
  UriMatcher,
  UriTemplate,
  type UriPrefix,
  type UriRoute,
  callersUri,
  isTemplate,
  routeUri,
  uriInsertion,
  uriPrefix,
} from './uris.js';
export { CALL_TOOL, FIND_TOOLS, argumentsIn, isSearchTool, unwrapCall } from './wrapped-call.js';
