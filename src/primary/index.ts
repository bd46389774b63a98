export { workerBounds } from './worker-bounds.js';
