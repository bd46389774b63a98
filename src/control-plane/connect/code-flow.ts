// The authorization-code flow with PKCE (RFC 6749, 7636, 8707, 9207), for users who connect a backend and for people who
// sign in to the console: makes the URL at the authorization server, and exchanges the code for tokens. Cold path.
import type { AuthorizationServer, TokenEndpointResponse } from 'oauth4webapi';
import { type ClientAuthentication, correctedAnswer, errorCodeText, clientAuth } from '../../credentials/index.js';
import type { ConnectFetch } from './connect-fetch.js';

/** Seconds by which an issuer's clock may differ from this one when an ID token is checked. */
const SIGN_IN_CLOCK_TOLERANCE_S = 30;

interface CodeRequest {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly state: string;
  readonly verifier: string;
  /** A nonce that the ID token must repeat; absent if no ID token is wanted. */
  readonly nonce?: string;
  /** Resource indicator (RFC 8707); `''` for none. */
  readonly resource: string;
}

export async function createVerifier(): Promise<string> {
  return (await import('oauth4webapi')).generateRandomCodeVerifier();
}

/** The URL at which the browser continues. @param scope `''` for none. */
export async function authorizationUrl(endpoint: string, scope: string, request: CodeRequest): Promise<string> {
  const oauth = await import('oauth4webapi');
  const { clientId, redirectUri, state, verifier, nonce = '', resource } = request;
  const url = new URL(endpoint);
  const parameters = {
    ...{ response_type: 'code', client_id: clientId, redirect_uri: redirectUri, scope, state, nonce, resource },
    ...{ code_challenge: await oauth.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' },
    // Without `prompt=consent`, OpenID Connect lets a server leave out the refresh token. A sign-in needs no refresh token.
    prompt: nonce === '' && scope.split(' ').includes('offline_access') ? 'consent' : '',
  };
  for (const [name, value] of Object.entries(parameters)) if (value !== '') url.searchParams.set(name, value);
  return url.href;
}

/**
 * Exchanges the code for tokens. If a nonce was sent, the ID token is checked too: issuer, audience, times and nonce. Its signature is
 * not checked, because the token comes directly from the issuer. Rejects with errors for `describeError`.
 * @param query of the URL to which the authorization server sent the browser back.
 */
export async function exchangeCode(
  query: URLSearchParams,
  { fetch }: ConnectFetch,
  server: AuthorizationServer,
  client: { readonly authentication: ClientAuthentication; readonly secret?: string | undefined },
  { clientId, redirectUri, state, verifier, nonce, resource }: CodeRequest,
): Promise<TokenEndpointResponse> {
  const oauth = await import('oauth4webapi');
  const oauthClient = { client_id: clientId, [oauth.clockTolerance]: SIGN_IN_CLOCK_TOLERANCE_S };
  const parameters = oauth.validateAuthResponse(server, oauthClient, query, state);
  const authentication = await clientAuth(client.authentication, client.secret);
  const answer = await oauth.authorizationCodeGrantRequest(
    ...([server, oauthClient, authentication, parameters, redirectUri, verifier] as const),
    {
      ...(resource !== '' && { additionalParameters: { resource } }),
      [oauth.customFetch]: fetch,
      [oauth.allowInsecureRequests]: true,
    },
  );
  const corrected = await correctedAnswer(answer, nonce === undefined ? 'token' : 'sign-in');
  const idToken = nonce === undefined ? {} : { expectedNonce: nonce, requireIdToken: true };
  return oauth.processAuthorizationCodeResponse(server, oauthClient, corrected, idToken);
}

/** What an error of `exchangeCode` means. `codeText` is what `errorCodeText` returns. */
export function describeError(error: unknown) {
  const { error: code } = error as { readonly error?: unknown };
  return {
    isDenied: code === 'access_denied',
    isClientUnknown: code === 'invalid_client',
    codeText: errorCodeText(error),
  };
}
