export { Dispatcher, isClientMethod } from './dispatch/dispatcher.js';
export { tryPassOn } from './dispatch/passing-on.js';
export { answerToolError } from './find-tools.js';
export { whenOpened } from './opening-request.js';
export type { Incoming, RelayedRequestPlan } from './relayed-request-plan.js';
export {
  type AskedAside,
  type FormedAnswer,
  type HoldableRequest,
  NO_EDITS,
  type RequestForm,
} from './request-form.js';
export { isForSearchTool } from './search-tools.js';
export { isModernTarget, isTaskMethod, mayAskForInput, nameInHead, nameKindOf, targetMethods } from './targets.js';
