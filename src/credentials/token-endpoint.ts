// Requests access tokens from authorization servers: with the client's own credentials (RFC 6749, section 4.4), in exchange
// for the caller's token (RFC 8693), or with a refresh token. Faults contain no URL and no secret. Cold path.
import type { ClientAuth } from 'oauth4webapi';
import type { ClientAuthentication } from './secrets/user-grants.js';
import { limits } from '../shared/index.js';
import { isSecretValue } from '../config/index.js';
import type { OAuthAuth } from '../user-config/index.js';
import {
  type HttpUpstream,
  type FetchedRequest,
  upstreamFetch,
  isShareFault,
  upstreamFault,
  type UpstreamFault,
} from '../http-client/index.js';
import { correctedAnswer } from './oauth-answer.js';

/** The lifetime assumed of an access token that states none. */
const TOKEN_LIFETIME_MS_ASSUMED = 300_000;
/** After this time, another token is requested, whatever lifetime the token states. */
const TOKEN_KEPT_MS_MAX = 86_400_000;
/** The lifetime of a token that is used until the backend rejects it: a thousand years. */
const FOREVER_MS = 1_000 * 365 * 86_400_000;

export interface OAuthDependencies {
  readonly http: HttpUpstream;
}

class OAuthFetchError extends Error {
  override readonly name = 'OAuthFetchError';
  readonly fault: UpstreamFault;

  constructor(fault: UpstreamFault) {
    super(fault.kind);
    this.fault = fault;
  }
}

export interface OAuthTokenRequest {
  readonly auth: OAuthAuth;
  readonly clientSecret: string;
  /** The caller's token to exchange; `''` if none is exchanged. */
  readonly callerToken: string;
}

export interface IssuedToken {
  /** The header that carries the token: name and value. */
  readonly headers: readonly string[];
  readonly lifetimeMs: number;
}

const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';

/** Requests a token. Never rejects. @param subject the one in whose share of connections the request counts. */
export async function requestToken(
  dependencies: OAuthDependencies,
  subject: string,
  { auth, clientSecret: secret, callerToken }: OAuthTokenRequest,
): Promise<IssuedToken | UpstreamFault> {
  const client = { id: auth.client_id, authentication: auth.client_authentication ?? 'basic', secret };
  const grantType = auth.type === 'token-exchange' ? TOKEN_EXCHANGE : 'client_credentials';
  const server = { endpoint: auth.token_endpoint };
  try {
    return issuedToken(
      await fetchToken(dependencies, subject, server, client, grantType, parametersOf(auth, callerToken)),
    );
  } catch (error) {
    return tokenFaultOf(error);
  }
}

export interface TokenAnswer {
  readonly access_token: string;
  readonly token_type: string;
  readonly expires_in?: number | undefined;
  readonly refresh_token?: string | undefined;
}

interface TokenServer {
  readonly issuer?: string;
  readonly endpoint: string;
}

interface TokenClient {
  readonly id: string;
  readonly authentication: ClientAuthentication;
  readonly secret?: string | undefined;
}

/** Requests a token. Rejects with an error for `tokenFaultOf`. The caller has checked whether plain HTTP is allowed. */
export async function fetchToken(
  { http }: OAuthDependencies,
  subject: string,
  { endpoint, issuer = new URL(endpoint).origin }: TokenServer,
  client: TokenClient,
  grantType: string,
  parameters: Readonly<Record<string, string>>,
): Promise<TokenAnswer> {
  // Imported lazily, because the library is large and few backends need it.
  const oauth = await import('oauth4webapi');
  const [server, named] = [{ issuer, token_endpoint: endpoint }, { client_id: client.id }];
  const authentication = await clientAuth(client.authentication, client.secret);
  const answer = await oauth.genericTokenEndpointRequest(server, named, authentication, grantType, parameters, {
    [oauth.customFetch]: tokenFetch(http, subject),
    [oauth.allowInsecureRequests]: true,
  });
  return oauth.processGenericTokenEndpointResponse(server, named, await correctedAnswer(answer, 'token'));
}

function tokenFetch(http: HttpUpstream, subject: string) {
  return async (url: string, request: FetchedRequest): Promise<Response> => {
    const signal = AbortSignal.timeout(limits.tokenFetchMsMax);
    let bytes = 0;
    const acceptsPiece = ({ length }: Buffer): boolean => (bytes += length) <= limits.authorizationAnswerBytesMax;
    const errorOf = (fault: UpstreamFault): Error => new OAuthFetchError(fault);
    return upstreamFetch({ http, subject, signal, acceptsPiece, errorOf }, new URL(url), request);
  };
}

/** The client's authentication in the library's form. */
export async function clientAuth(authentication: ClientAuthentication, secret = '') {
  const oauth = await import('oauth4webapi');
  switch (authentication) {
    case 'none':
      return oauth.None();
    case 'post':
      return oauth.ClientSecretPost(secret);
    case 'basic':
      return basicAuth(secret);
  }
}

/**
 * HTTP Basic authentication of the client (RFC 6749, section 2.3.1). The library would also encode `-`, `_` and `.`; many servers decode
 * nothing, and would not recognize a UUID. So only what servers would otherwise misread is encoded.
 */
function basicAuth(secret: string): ClientAuth {
  const encode = (text: string): string => text.replaceAll(/[%+:]|[^!-~]/gu, encodeURIComponent);
  return (_server, { client_id: id }, _body, headers) =>
    headers.set('authorization', `Basic ${btoa(`${encode(id)}:${encode(secret)}`)}`);
}

function parametersOf(auth: OAuthAuth, callerToken: string): Record<string, string> {
  const { scope, resource, audience } = auth;
  return {
    ...(scope !== undefined && { scope }),
    ...(typeof resource === 'string' && { resource }),
    ...(audience !== undefined && { audience }),
    ...(auth.type === 'token-exchange' && {
      subject_token: callerToken,
      subject_token_type: ACCESS_TOKEN,
      requested_token_type: ACCESS_TOKEN,
    }),
  };
}

/** @param isRenewable whether another token can be obtained without a person; if not, the token is kept for as long as it may be valid. */
export function issuedToken(
  { access_token: token, token_type: type, expires_in: seconds }: TokenAnswer,
  isRenewable = true,
): IssuedToken | UpstreamFault {
  // The library also accepts tokens that the gateway cannot use, such as those bound to a key.
  if (type !== 'bearer' || !isSecretValue(token) || token.length > limits.tokenBytesMax)
    return tokenUnavailable('(its token is not a valid bearer token)');
  const [assumedMs, keptMsMax] = isRenewable
    ? [TOKEN_LIFETIME_MS_ASSUMED, TOKEN_KEPT_MS_MAX]
    : [FOREVER_MS, FOREVER_MS];
  const lifetimeMs = Math.min(seconds === undefined ? assumedMs : seconds * 1_000, keptMsMax);
  return { headers: ['authorization', `Bearer ${token}`], lifetimeMs };
}

/** The fault for an error of the request. Of the library's errors only the code is used: their causes contain the server's answer. */
export function tokenFaultOf(error: unknown): UpstreamFault {
  if (error instanceof OAuthFetchError) {
    const { fault } = error;
    // The other fault of this kind, `backend-share-used`, would wrongly blame the backend.
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
