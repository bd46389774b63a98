export { ConnectLinks, type ConnectTicket, openTicket } from './connect-links.js';
export { Credentials } from './credentials.js';
export { correctedAnswer, errorCodeText } from './oauth-answer.js';
export { type OAuthSourceDependencies, createCredentials } from './oauth-source.js';
export { type Secrets, StoredSecrets } from './secrets.js';
export type { SecretOrigins } from './secrets/sealed-secret.js';
export { SecretKeys, openText, openValue, sealText, sealValue } from './secrets/secret-keys.js';
export { SecretRecords, resealGrants } from './secrets/secret-records.js';
export {
  CLIENT_PREFIX,
  type ClientAuthentication,
  GRANT_PREFIX,
  type GrantClient,
  type UserGrant,
  UserGrants,
  grantKeyPrefixOf,
  keyHashOf,
} from './secrets/user-grants.js';
export { clientAuth } from './token-endpoint.js';
export { authenticationOf, renewedGrant, secretOfClient, userGrantKey } from './user-tokens.js';
