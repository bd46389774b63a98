export { type BackendFaultHandler, BackendLog, type LastFault } from './backend-log.js';
export { BackendEndpoints, type OriginView } from './reach/backend-endpoints.js';
export { type IdSpan, type RequestHandler, cancelledNotification } from './rpc/request-plan.js';
export type { RpcRequest } from './rpc/rpc-request.js';
export { LIST_PART_BYTES } from './rpc/unparsed-answer.js';
export { BackendStream, type BackendStreamPlan } from './session/backend-stream.js';
export {
  type ClientIntroduction,
  Introductions,
  OWN_INTRODUCTION,
  hashOfIntroduction,
  introductionBytes,
} from './session/client-introduction.js';
export { type HandshakeResult, sessionHeaders } from './session/handshake.js';
export { Discovery } from './session/modern-handshake.js';
export { ModernListening, type ModernListeningPlan, type RefusedSubscriptions } from './session/modern-listening.js';
export { headerValueOf, isNameTooLong, modernHead } from './session/modern-request.js';
export type { MessageBudget, UpstreamSessionRecord } from './session/known-mirrors.js';
export { type UpstreamOwner, UpstreamSession } from './session/upstream-session.js';
export { OwnRequestIds, type UpstreamContext, type UpstreamDependencies } from './upstream-context.js';
