export { ConnectLinks } from './connect-links.js';
export { Credentials } from './credentials.js';
export { oauthAnswer, toldBy } from './oauth-answer.js';
export type { OAuthSourceMeans } from './oauth-source.js';
export { Secrets } from './secrets.js';
export { type ConnectTicket, openTicket } from './secrets/connect-ticket.js';
export type { SecretsAction } from './secrets/run-secrets.js';
export { SecretKeys, openText, sealText } from './secrets/secret-keys.js';
export { StoredSecrets } from './secrets/stored-secrets.js';
export {
  CLIENT_PREFIX,
  type ClientAuthentication,
  GRANT_PREFIX,
  type GrantClient,
  type UserGrant,
  UserGrants,
  grantsOf,
  keyHashOf,
} from './secrets/user-grants.js';
export { Tokens } from './tokens.js';
export { authenticationOf, clientAuth, renewedGrant, resourceParameter, userGrantKey } from './user-refresh.js';
export { UserTokens } from './user-tokens.js';
