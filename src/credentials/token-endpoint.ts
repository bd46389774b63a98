// Requests an access token from an authorization server: with the client's own credentials (RFC 6749, section 4.4), or in exchange for the
// caller's token (RFC 8693). Returns a token, or a fault whose words contain no URL and no secret. Cold path.
import { limits, isSecretValue } from '../shared/index.js';
import type { OAuthAuth } from '../user-config/index.js';
import { isShareFault, upstreamFault, type UpstreamFault } from '../http-client/index.js';
import { oauthAnswer } from './oauth-answer.js';
import { OAuthFetchError, oauthFetch, type OAuthMeans } from './oauth-fetch.js';

/** Lifetime assumed for an access token that states none. */
const TOKEN_LIFETIME_MS_ASSUMED = 300_000;
/** Longest time that an access token is used, whatever lifetime it states. After it, another one is requested. */
const TOKEN_KEPT_MS_MAX = 86_400_000;

export interface OAuthTokenRequest {
  readonly auth: OAuthAuth;
  readonly clientSecret: string;
  /** The caller's token that is to be exchanged; `''` where none is exchanged. */
  readonly callerToken: string;
}

export interface IssuedToken {
  /** The header: name and value. */
  readonly headers: readonly string[];
  readonly lifetimeMs: number;
}

const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';

/** Never rejects. @param subject whose share of connections the request counts against. */
export async function requestToken(
  means: OAuthMeans,
  subject: string,
  request: OAuthTokenRequest,
): Promise<IssuedToken | UpstreamFault> {
  try {
    return issuedToken(await ask(means, subject, request));
  } catch (error) {
    return tokenFaultOf(error);
  }
}

export interface TokenAnswer {
  readonly access_token: string;
  readonly token_type: string;
  readonly expires_in?: number | undefined;
}

async function ask(
  means: OAuthMeans,
  subject: string,
  { auth, clientSecret, callerToken }: OAuthTokenRequest,
): Promise<TokenAnswer> {
  // Imported lazily: the library is large, and few backends need it.
  const oauth = await import('oauth4webapi');
  const server = { issuer: new URL(auth.token_endpoint).origin, token_endpoint: auth.token_endpoint };
  const client = { client_id: auth.client_id };
  const isPost = auth.client_authentication === 'post';
  const authentication = isPost ? oauth.ClientSecretPost(clientSecret) : oauth.ClientSecretBasic(clientSecret);
  // Whether plain HTTP is allowed was decided before: see `OAuthSource`.
  const options = { [oauth.customFetch]: oauthFetch(means, subject), [oauth.allowInsecureRequests]: true };
  const parameters = parametersOf(auth, callerToken);
  if (auth.type === 'token-exchange') {
    const answer = await oauth.genericTokenEndpointRequest(
      server,
      client,
      authentication,
      TOKEN_EXCHANGE,
      parameters,
      options,
    );
    return oauth.processGenericTokenEndpointResponse(server, client, await oauthAnswer(answer, 'token'));
  }
  const answer = await oauth.clientCredentialsGrantRequest(server, client, authentication, parameters, options);
  return oauth.processClientCredentialsResponse(server, client, await oauthAnswer(answer, 'token'));
}

function parametersOf(auth: OAuthAuth, callerToken: string): URLSearchParams {
  const parameters = new URLSearchParams();
  if (auth.scope !== undefined) parameters.set('scope', auth.scope);
  if (typeof auth.resource === 'string') parameters.set('resource', auth.resource);
  if (auth.audience !== undefined) parameters.set('audience', auth.audience);
  if (auth.type !== 'token-exchange') return parameters;
  parameters.set('subject_token', callerToken);
  parameters.set('subject_token_type', ACCESS_TOKEN);
  parameters.set('requested_token_type', ACCESS_TOKEN);
  return parameters;
}

export function issuedToken({
  access_token: token,
  token_type: type,
  expires_in: seconds,
}: TokenAnswer): IssuedToken | UpstreamFault {
  // The library also accepts tokens that the gateway cannot use, such as tokens bound to a key.
  if (type !== 'bearer' || !isSecretValue(token) || token.length > limits.tokenBytesMax)
    return tokenUnavailable('(its token is not a valid bearer token)');
  const lifetimeMs = seconds === undefined ? TOKEN_LIFETIME_MS_ASSUMED : seconds * 1_000;
  if (!(lifetimeMs > 0)) return tokenUnavailable('(its token has expired already)');
  return {
    headers: ['authorization', `Bearer ${token}`],
    lifetimeMs: Math.min(lifetimeMs, TOKEN_KEPT_MS_MAX),
  };
}

/** Of the library's errors only the code is used: their causes contain what the server said. */
export function tokenFaultOf(error: unknown): UpstreamFault {
  if (error instanceof OAuthFetchError) {
    const { fault } = error;
    // Of the two share faults, `backend-share-used` would wrongly blame the backend.
    if (isShareFault(fault)) return upstreamFault('connections-share-used', true);
    return fault.kind === 'address-refused' || fault.kind === 'address-not-allowed'
      ? fault
      : tokenUnavailable(`(${fault.kind})`);
  }
  const { error: code, status } = error as { readonly error?: unknown; readonly status?: unknown };
  if (typeof code === 'string' && Number(status) < 500) {
    const isPlain = /^[a-z_]{1,40}$/.test(code);
    return { kind: 'token-refused', isUnsent: true, ...(isPlain && { detail: `(${code})` }) };
  }
  return tokenUnavailable('(its response is not that of a token endpoint)');
}

export function tokenUnavailable(logDetail: string): UpstreamFault {
  return { ...upstreamFault('token-unavailable', true), logDetail };
}
