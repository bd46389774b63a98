export { BackendConnections } from './backend-connections.js';
export { connectionBounds } from './connection-bounds.js';
export { keepsCookies, withCookies } from './cookies.js';
export {
  type ByteSpan,
  type HttpUpstream,
  type ModernHead,
  NO_METADATA,
  type OutgoingMessage,
  type RequestMetadata,
  type TraceHeaders,
  type UpstreamCall,
  type UpstreamHandler,
  type UpstreamRequest,
  plainRequest,
  withModernHead,
} from './http-upstream.js';
export { Http1Upstream } from './http1-upstream.js';
export { AddressGuard } from './names/address-guard.js';
export { Names, type NamesOptions } from './names/names.js';
export { type FileRead, WatchedFile } from './names/watched-file.js';
export { OneWayRequests } from './one-way-requests.js';
export {
  type BackendRefusal,
  type UnavailableBackend,
  type UpstreamFault,
  type UpstreamFaultKind,
  faultReason,
  httpStatusFault,
  initializeFault,
  isNotUnderstood,
  isReachFault,
  isShareFault,
  isUnauthorized,
  listRefusedFault,
  loggedReason,
  missingBackend,
  redirectFault,
  unavailableMeta,
  upstreamFault,
  versionsFault,
  movedTarget,
} from './upstream-fault.js';
export { isTemporaryRefusal } from './response-parser.js';
export { type FetchedRequest, fetchOver, upstreamFetch } from './upstream-fetch.js';
