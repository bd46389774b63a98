// The authorization-code flow with PKCE (RFC 6749, 7636, 8707, 9207), for those who want tokens for different things: users who connect a
// backend, and people who sign in to the console. Here are the URL at which the browser goes on, and what its return is exchanged for.
// Who may begin, what is kept meanwhile and what is done with the tokens is theirs. Cold path.
import type { AuthorizationServer, TokenEndpointResponse } from 'oauth4webapi';
import { type ClientAuthentication, oauthAnswer, errorCodeText, clientAuth } from '../../credentials/index.js';
import type { ConnectFetch } from './connect-fetch.js';

/** Seconds by which the issuer's clock may differ from this one when a sign-in's id token is checked. Beyond that, the sign-in fails. */
const SIGN_IN_CLOCK_TOLERANCE_S = 30;

interface Asking {
  readonly clientId: string;
  readonly redirectUri: string;
  /** Sent back with the code. */
  readonly state: string;
  /** PKCE's code verifier. */
  readonly verifier: string;
  /** Of the ID token, where one is wanted. */
  readonly nonce?: string;
  /** `''` where none is asked for, as of the scope. */
  readonly resource: string;
}

export async function createVerifier(): Promise<string> {
  return (await import('oauth4webapi')).generateRandomCodeVerifier();
}

/** Where the browser goes on. */
export async function authorizationUrl(endpoint: string, scope: string, asking: Asking): Promise<string> {
  const oauth = await import('oauth4webapi');
  const { clientId, redirectUri, state, verifier, nonce = '', resource } = asking;
  const url = new URL(endpoint);
  const parameters = {
    ...{ response_type: 'code', client_id: clientId, redirect_uri: redirectUri, scope, state, nonce, resource },
    ...{ code_challenge: await oauth.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' },
    // Without the question, OpenID Connect lets a server leave the refresh token out, which a sign-in does not need.
    prompt: nonce === '' && scope.split(' ').includes('offline_access') ? 'consent' : '',
  };
  for (const [name, value] of Object.entries(parameters)) if (value !== '') url.searchParams.set(name, value);
  return url.href;
}

/**
 * Exchanges the code. Where a nonce was sent, the ID token is checked, too: issuer, audience, times and nonce. Its signature is not needed,
 * as it comes from the issuer over TLS. Rejects with what `explained` explains.
 * @param query with which the browser came back.
 */
export async function tokensFor(
  query: URLSearchParams,
  { fetch }: ConnectFetch,
  server: AuthorizationServer,
  client: { readonly authentication: ClientAuthentication; readonly secret?: string | undefined },
  { clientId, redirectUri, state, verifier, nonce, resource }: Asking,
): Promise<TokenEndpointResponse> {
  const oauth = await import('oauth4webapi');
  const named = { client_id: clientId, [oauth.clockTolerance]: SIGN_IN_CLOCK_TOLERANCE_S };
  const parameters = oauth.validateAuthResponse(server, named, query, state);
  const authentication = await clientAuth(client.authentication, client.secret);
  const answer = await oauth.authorizationCodeGrantRequest(
    ...([server, named, authentication, parameters, redirectUri, verifier] as const),
    {
      ...(resource !== '' && { additionalParameters: { resource } }),
      [oauth.customFetch]: fetch,
      [oauth.allowInsecureRequests]: true,
    },
  );
  const read = await oauthAnswer(answer, nonce === undefined ? 'token' : 'sign-in');
  const idToken = nonce === undefined ? {} : { expectedNonce: nonce, requireIdToken: true };
  return oauth.processAuthorizationCodeResponse(server, named, read, idToken);
}

/** What the authorization server said went wrong: of its response, only the error code is repeated. */
interface OAuthErrorReport {
  readonly isDenied: boolean;
  readonly isClientUnknown: boolean;
  /** As ` (code)`; `undefined` where the error is not about what it said. */
  readonly words: string | undefined;
}

export function describeError(error: unknown): OAuthErrorReport {
  const { error: code } = error as { readonly error?: unknown };
  return {
    isDenied: code === 'access_denied',
    isClientUnknown: code === 'invalid_client',
    words: errorCodeText(error),
  };
}
