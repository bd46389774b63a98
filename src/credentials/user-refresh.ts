// Requests the next token of a user's grant from an authorization server (RFC 6749, section 6). Returns the token, or a fault whose words
// contain no URL and no secret. Cold path.
import { type ClientAuthentication, type UserGrant, grantKeyOf } from './secrets/user-grants.js';
import { limits, isSecretValue } from '../shared/index.js';
import type { UserAuth, UpstreamTarget } from '../user-config/index.js';
import type { UpstreamFault } from '../http-client/index.js';
import {
  askForToken,
  issuedToken,
  tokenFaultOf,
  tokenUnavailable,
  type OAuthMeans,
  type TokenAnswer,
} from './token-endpoint.js';

/** The parts of a grant that a renewal changes. */
export interface RenewedGrant {
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  readonly expiresAtMs: number;
}

/** The key of a user's grant in the store. Other members of the backend's `auth` do not change it. */
export function userGrantKey(auth: UserAuth, { origin, path }: UpstreamTarget, subject: string): string {
  return grantKeyOf({ subject, origin, path, asked: [auth.issuer, auth.client_id, auth.scope, auth.resource] });
}

/** How a configured client authenticates with its secret. */
export function authenticationOf(auth: UserAuth): ClientAuthentication {
  return auth.client_secret === undefined ? 'none' : (auth.client_authentication ?? 'basic');
}

/** Never rejects. @param secret the client's; `undefined` where it has none. */
export async function refreshGrant(
  means: OAuthMeans,
  { subject, issuer, tokenEndpoint: endpoint, client, resource, refreshToken = '' }: UserGrant,
  secret: string | undefined,
  nowMs: number,
): Promise<RenewedGrant | UpstreamFault> {
  const parameters = { refresh_token: refreshToken, ...resourceParameter(resource) };
  const named = { ...client, secret };
  try {
    const answer = await askForToken(means, subject, { issuer, endpoint }, named, 'refresh_token', parameters);
    return renewedGrant(answer, nowMs);
  } catch (error) {
    return tokenFaultOf(error);
  }
}

/** @param resource `''` where none is asked for. */
export function resourceParameter(resource: string): Record<string, string> {
  return resource === '' ? {} : { resource };
}

/** @param nowMs wall-clock time of the request. */
export function renewedGrant(answer: TokenAnswer, nowMs: number): RenewedGrant | UpstreamFault {
  const issued = issuedToken(answer);
  if ('kind' in issued) return issued;
  const { access_token: accessToken, refresh_token: refreshToken } = answer;
  if (refreshToken !== undefined && (!isSecretValue(refreshToken) || refreshToken.length > limits.refreshTokenBytesMax))
    return tokenUnavailable('(its refresh token cannot be kept)');
  return { accessToken, refreshToken, expiresAtMs: nowMs + issued.lifetimeMs };
}
