// A real authorization server for a test: oidc-provider, with the grants that the gateway asks for. Its access tokens are
// short-lived JWTs for the requested resource.
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { errors } from 'oidc-provider';
import type { Test } from 'tap';

const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const EXCHANGE_PARAMETERS = ['subject_token', 'subject_token_type', 'requested_token_type', 'audience', 'resource'];

export interface AuthorizationServerSetup {
  /** Client ids and their secrets: `basic` sends them in a header, `post` in the body. */
  readonly basic: readonly [id: string, secret: string];
  readonly post: readonly [id: string, secret: string];
  readonly scope: string;
  readonly lifetimeSeconds: number;
  /** The subject of a token that is to be exchanged; throws when the token is not valid. */
  subjectOf(token: string): Promise<string>;
}

export interface AuthorizationServer {
  readonly issuer: string;
  readonly tokenEndpoint: string;
  /** Token requests, including refused ones. */
  readonly requests: { count: number };
  /** Makes the server unreachable. */
  close(): Promise<void>;
}

export async function startAuthorizationServer(
  t: Pick<Test, 'teardown'>,
  setup: AuthorizationServerSetup,
): Promise<AuthorizationServer> {
  let listener: RequestListener = (_request, response) => response.destroy();
  const requests = { count: 0 };
  const server = createServer((request, response) => {
    if (request.url === '/token') requests.count += 1;
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  t.teardown(close);
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { scope, lifetimeSeconds } = setup;
  const resourceServer = (audience: string): object => ({
    ...{ scope, audience, accessTokenTTL: lifetimeSeconds, accessTokenFormat: 'jwt' },
    jwt: { sign: { alg: 'RS256' } },
  });
  const clientOf = ([id, secret]: readonly [string, string], method: string): object => ({
    ...{ client_id: id, client_secret: secret, token_endpoint_auth_method: method },
    ...{ grant_types: ['client_credentials', TOKEN_EXCHANGE], redirect_uris: [], response_types: [] },
  });
  const provider = new Provider(issuer, {
    clients: [clientOf(setup.basic, 'client_secret_basic'), clientOf(setup.post, 'client_secret_post')],
    scopes: scope.split(' '),
    ttl: { AccessToken: () => lifetimeSeconds, ClientCredentials: () => lifetimeSeconds },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context: unknown, resource: string) => resourceServer(resource),
      },
    },
  });
  provider.registerGrantType(
    TOKEN_EXCHANGE,
    async (context) => {
      const { client, params } = context.oidc;
      const { subject_token: subjectToken = '', resource = '' } = params;
      const accountId = await setup.subjectOf(subjectToken).catch(() => {
        throw new errors.InvalidGrant('nobody’s token');
      });
      const token = new provider.AccessToken({ accountId, client, gty: 'token-exchange', scope: params['scope'] });
      token.resourceServer = new provider.ResourceServer(resource, resourceServer(resource));
      context.body = {
        access_token: await token.save(),
        issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        token_type: 'Bearer',
        expires_in: token.expiration,
      };
    },
    [...EXCHANGE_PARAMETERS, 'scope'],
    [],
  );
  listener = provider.callback();
  return { issuer, tokenEndpoint: `${issuer}/token`, requests, close };
}
