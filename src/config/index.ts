export { readCommandLine } from './command-line.js';
export {
  type NamedTools,
  type ServerProperties,
  controlPlaneClientOptions,
  checkSecretName,
  checkTools,
  compositionChange,
  compositionProperties,
  isForced,
  isJson,
  sealingOptions,
  secretsOptions,
  serverChange,
  serverProperties,
  subject,
  toolsByServer,
  userConfigChange,
  adminClientOptions,
} from './command-options.js';
export {
  type CommandDeclaration,
  type CommandDeclarations,
  type CommandWords,
  DEFAULT_COMMAND,
  type Request,
  groups,
} from './command.js';
export {
  type AnswerOptions,
  type ComposerShares,
  type ConnectionOptions,
  type ControlPlaneOptions,
  type DataplaneOptions,
  type EraOptions,
  type KeyPaths,
  type ShareOptions,
  type SignInOptions,
  type RoleClaims,
  type TokenOptions,
  type TraceOptions,
  type UpstreamOptions,
  controlPlaneOptions,
  dataplaneOptions,
} from './dataplane-options.js';
export { childEnvironment, operatorName, serviceManager, workerEnvironment } from './environment.js';
export { InvalidValue, OptionFaults } from './faults.js';
export { UnreadableFile, readTokenJwks, readTokenPublicKey, readTokenSecret } from './files.js';
export { type IssuerKeySource, isKeyUrl } from './issuer-key-sources.js';
export { closestName } from './closest-name.js';
export { type Schema, type ValuesOf, isValueOptional, option, optionsOf, required } from './option.js';
export { readRequest } from './read-request.js';
export {
  HOSTS_FILE_SUFFIX,
  SECRET_NAME_RULE,
  type SecretLocation,
  isSecretName,
  isSecretValue,
  readSecretLocation,
} from './secret-name.js';
export { describeStart } from './start-check.js';
export { type RedisLocation, type StoreOptions, storeOptions, storePath } from './table/store-options.js';
export { type Role, hasKeys, isRoleEnough, mintingOptions, roles } from './table/token-options.js';
export {
  type ListenAddress,
  PORT_MAX,
  choicesOf,
  duration,
  formatAddress,
  oneOf,
  parseSecretOrigins,
  parseSwitch,
  parseText,
  parseTexts,
  wholeNumber,
} from './values.js';
export {
  ALGORITHMS,
  type VerificationKey,
  checkedKeys,
  keyKind,
  keysOfJwks,
  keysOfPem,
  keysOfSecret,
} from './verification-keys.js';
