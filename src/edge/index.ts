export { loadLibrary } from './choose-listener.js';
export type { EdgeExchange } from './edge-exchange.js';
export {
  Edge,
  type EdgeHandler,
  METADATA_PATH,
  ProtectedResource,
  type RequestOrigin,
  metadataCorsHeaders,
} from './edge.js';
export { type BodyOutcome, refusedBodies } from './incoming-request.js';
export { NodeExchanges } from './node-server.js';
export { RequestIds } from './request-head.js';
