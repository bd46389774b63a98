export { type AskingStream, BackendRequests } from './asking/backend-requests.js';
export { CallerStream, type StreamOwner } from './caller-stream.js';
export {
  ScansInProgress,
  RequestInFlight,
  RequestsInFlight,
  SlowRequests,
  visitAll,
} from './in-flight/requests-in-flight.js';
export { type EventId, FINAL_ID, isSessionStream, parseEventId } from './replay-buffer.js';
export { SessionStream, type StreamAdapter } from './session-stream.js';
export { StreamKeeper } from './stream-keeper.js';
