// Requests the next token of a user's grant from an authorization server (RFC 6749, section 6). Returns the token, or a fault whose words
// contain no URL and no secret. Cold path.
import { type ClientAuthentication, type GrantClient, type UserGrant, grantKeyOf } from './secrets/user-grants.js';
import type { Secrets } from './secrets.js';
import { limits } from '../shared/index.js';
import { isSecretValue } from '../config/index.js';
import type { SecretReference, UserAuth, UpstreamTarget } from '../user-config/index.js';
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

/**
 * The secret of a client; `''` for none, or the fault when it cannot be obtained.
 * @param reference where it is; `undefined` for a client that the gateway registered itself.
 * @param endpoint that it is sent to. @param origin of the backend, to which the token obtained with it goes.
 */
export async function secretOfClient(
  secrets: Secrets,
  { secret = '' }: GrantClient,
  reference: SecretReference | undefined,
  endpoint: string,
  origin: string,
): Promise<string | UpstreamFault> {
  return reference === undefined ? secret : secrets.textOf(reference, new URL(endpoint).origin, origin);
}

/** Never rejects. @param secret the client's; `''` where it has none. */
export async function refreshGrant(
  means: OAuthMeans,
  { subject, issuer, tokenEndpoint: endpoint, client, resource, refreshToken = '' }: UserGrant,
  secret: string,
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
  if (refreshToken !== undefined && (!isSecretValue(refreshToken) || refreshToken.length > limits.tokenBytesMax))
    return tokenUnavailable('(its refresh token cannot be kept)');
  return { accessToken, refreshToken, expiresAtMs: nowMs + issued.lifetimeMs };
}
