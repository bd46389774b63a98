export {
  type BackendAuth,
  type HeadersAuth,
  type OAuthAuth,
  type SecretReference,
  type UserAuth,
  authFault,
  headersSetBy,
} from './auth.js';
export { type UserConfigCheck, checkUserConfig } from './check-user-config.js';
export { compileUserConfig } from './compile-config.js';
export type {
  CompiledBackend,
  CompiledVirtualHost,
  Exposure,
  UpstreamTarget,
  UserConfigRead,
} from './compiled-config.js';
export {
  EMPTY_CONFIG,
  type EditableConfig,
  type PublicationRecord,
  editConfig,
  keepPublished,
  publicationKey,
  readEditableConfig,
  readPublication,
} from './config-editing.js';
export {
  type BackendCuration,
  type ItemsByBareName,
  duplicateIssuesOf,
  curatedEntries,
  curationSchema,
  namePrefix,
  itemsWithTakenNames,
} from './curation-schema.js';
export { type CuratedItem, NO_CURATION, bareNameOf, callersNameOf, caseFolded } from './curation.js';
export { userConfigJsonSchema } from './json-schema.js';
export { describeIssue, describeIssues, mapsAsObjects } from './known-members.js';
export {
  type NameRoute,
  isAllowed,
  isReachable,
  isTaskReachable,
  rivalsOf,
  routeBareTool,
  routeName,
  routeTask,
  type ListRules,
  type RuledBackend,
  decodeRules,
  encodeRules,
  isRestricted,
  mayHaveTasks,
} from './routing.js';
export { TaskThread } from './task-thread.js';
export { type BackendConfig, decodeUserConfig, readableIssues } from './user-config-schema.js';
export {
  type CurrentHost,
  type ReadHost,
  UserConfigs,
  hostReader,
  isOlderConfig,
  nextConfigNumber,
  numberConfig,
  CONFIG_INLINE_BYTES_MAX,
} from './user-configs.js';
