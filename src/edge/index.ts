export { loadLibrary } from './choose-listener.js';
export type { EdgeExchange } from './edge-exchange.js';
export { Edge, type EdgeHandler } from './edge.js';
export { type BodyOutcome, refusedBodies } from './incoming-request.js';
export { NodeExchanges } from './node-exchanges.js';
export { METADATA_PATH, ProtectedResource, type RequestOrigin, metadataCorsHeaders } from './protected-resource.js';
export { RequestIds } from './request-ids.js';
