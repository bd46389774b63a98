export { Dispatcher, tryForward } from './dispatch/dispatcher.js';
export { answerToolError } from './find-tools.js';
export {
  type AnswerChanges,
  type SuspendableRequest,
  type ServedRequest,
  NO_EDITS,
  type RelayedRequestPlan,
  type EraRules,
} from './era-rules.js';
export { isForSearchTool } from './search-tools.js';
export { isMethodOf, isTargetMethodOf, isTaskMethod, mayAskForInput, nameInHead, nameKindOf } from './targets.js';
