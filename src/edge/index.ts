export { loadLibrary } from './choose-listener.js';
export type { EdgeExchange } from './edge-exchange.js';
export { Edge, type EdgeHandler } from './edge.js';
export { type BodyOutcome, refusedBodies } from './incoming-request.js';
export { NodeExchanges } from './node-exchanges.js';
