export { Adoption } from './adoption.js';
export { allowListHash } from './subscriptions.js';
export { clientsNotification } from './backend-notifications.js';
export { ConfigRounds } from './config-rounds.js';
export { SessionDirectory } from './directory/session-directory.js';
export { type FarewellCount, Farewells } from './farewells.js';
export {
  mergeGreetings,
  openUpstreams,
  backendOfMethod,
  backendsWithUnknownMethods,
  type OpeningMeans,
  openSession,
} from './initialize.js';
export { lowerLogLevel, trySetLogLevel } from './log-level.js';
export { openStream } from './open-stream.js';
export { cancelRequest, tellPeersAnswered } from './peer-messages.js';
export type { PassOn, SessionMeans } from './session-plan.js';
export { LEASE_SHARE_OF_FREE, Session } from './session.js';
export { Sessions } from './sessions.js';
export { UnsolicitedMessages } from './unsolicited-messages.js';
