// Revokes at the authorization server what a user has disconnected here (RFC 7009): the refresh token, with which most servers
// revoke everything from the same consent. Bounded in time; the outcome is reported, and there is no retry. Cold path.
import type { UserGrant } from '../../secrets/user-grants.js';
import { clientAuth } from '../../upstream/credentials/user-refresh.js';
import { ConnectFetch, type ConnectFetchMeans } from './connect-fetch.js';

/**
 * Time to revoke a disconnected grant at its authorization server, all requests included. After it, the answer says that this failed; the
 * gateway's own copy is removed anyway.
 */
const REVOCATION_MS_MAX = 5_000;

/** `unoffered`: the server has no revocation endpoint. */
export type Revocation = 'revoked' | 'unoffered' | 'failed';

/** Never rejects. @param secret of the client; resolves with `undefined` where it has none. */
export async function revokeGrant(
  means: ConnectFetchMeans,
  { subject, issuer, revocationEndpoint, client, refreshToken, accessToken }: UserGrant,
  secret: () => Promise<string | undefined>,
): Promise<Revocation> {
  if (revocationEndpoint === undefined) return 'unoffered';
  const { fetch } = new ConnectFetch(means, subject, REVOCATION_MS_MAX);
  try {
    const oauth = await import('oauth4webapi');
    const hint = refreshToken === undefined ? 'access_token' : 'refresh_token';
    const answer = await oauth.revocationRequest(
      { issuer, revocation_endpoint: revocationEndpoint },
      { client_id: client.id },
      await clientAuth(client.authentication, await secret()),
      refreshToken ?? accessToken,
      {
        additionalParameters: { token_type_hint: hint },
        [oauth.customFetch]: fetch,
        [oauth.allowInsecureRequests]: true,
      },
    );
    await oauth.processRevocationResponse(answer);
    return 'revoked';
  } catch {
    return 'failed';
  }
}
