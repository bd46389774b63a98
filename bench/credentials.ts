// The credentials that a bench's backends require, where an access token comes from, and where spans go: known to backends and gateways.

/** In the secrets directory. */
export const SECRET_FILE = 'bench-secret';
export const SECRET = 'a secret of forty characters for a bench';
export const SECRET_HEADER = 'x-api-key';
export const ACCESS_TOKEN = 'an-access-token-of-a-bench';
export const TOKEN_PATH = '/token';
/** Spans are accepted here, and discarded. */
export const COLLECTOR_PATH = '/v1/traces';

/** An authorization server's response, with a token that is valid for longer than a bench takes. */
export const TOKEN_ANSWER = JSON.stringify({ access_token: ACCESS_TOKEN, token_type: 'Bearer', expires_in: 86_400 });

/** By a backend's offer: the header line without which it refuses requests. */
export const WANTED_LINES: Readonly<Record<string, string>> = {
  headers: `\r\n${SECRET_HEADER}: ${SECRET}\r\n`,
  tokens: `\r\nauthorization: Bearer ${ACCESS_TOKEN}\r\n`,
};

/** The `auth` of such a backend in a user config. @param origin of the server that issues the token. */
export function authOf(offer: string, origin: string): object {
  if (offer === 'headers') return { auth: { type: 'headers', headers: { [SECRET_HEADER]: { file: SECRET_FILE } } } };
  if (offer !== 'tokens') return {};
  const client = { client_id: 'bench', client_secret: { file: SECRET_FILE } };
  return { auth: { type: 'oauth2-client-credentials', token_endpoint: `${origin}${TOKEN_PATH}`, ...client } };
}
