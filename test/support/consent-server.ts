// A real authorization server for a test, at which users consent: oidc-provider, with PKCE, dynamic client registration and
// single-use refresh tokens. The cookie `who` names the user, who consents to everything (`nobody` refuses). Access tokens are
// short-lived JWTs for the requested resource.
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';
import type { Test } from 'tap';

export interface ConsentServerSetup {
  readonly scope: string;
  readonly lifetimeSeconds: number;
  /** A pre-registered client. */
  readonly client: { readonly id: string; readonly secret: string };
  /** The redirect URI of that client. */
  readonly redirectUri: string;
}

export interface ConsentServer {
  readonly issuer: string;
  /** Requests by endpoint: `token`, `reg`, `auth`. */
  readonly requests: Readonly<Record<'token' | 'reg' | 'auth', number>>;
  /** Whether the revocation endpoint works, answers 503, or never answers. */
  revocation: 'served' | 'refused' | 'silent';
  /** While true, it closes every connection without a response. */
  isDown: boolean;
  /** Lifetime of the access tokens issued from now on. */
  lifetimeSeconds: number;
  /** Their audience, if it is not the requested resource. */
  audience: string | undefined;
  /** How many of a user's grants are left. */
  tokensOf(who: string): Promise<number>;
  /** Bodies of token requests and of their responses. */
  readonly said: readonly string[];
  /** Ends everything that the user has consented to. */
  revoke(who: string): Promise<void>;
}

export async function startConsentServer(
  t: Pick<Test, 'teardown'>,
  { scope, lifetimeSeconds, client, redirectUri }: ConsentServerSetup,
): Promise<ConsentServer> {
  const requests = { token: 0, reg: 0, auth: 0 };
  const said: string[] = [];
  const grants = new Map<string, Set<string>>();
  let listener: RequestListener = (_request, response) => response.destroy();
  const server = createServer((request, response) => {
    if (self.isDown) return void request.socket.destroy();
    const [path = ''] = (request.url ?? '').slice(1).split(/[/?]/);
    if (path === 'token' || path === 'reg' || path === 'auth') requests[path] += 1;
    if (path === 'token') overhear(request, response, said);
    if (request.url?.startsWith('/token/revocation') === true && self.revocation !== 'served') {
      if (self.revocation === 'refused') response.writeHead(503).end();
      return;
    }
    if (path === 'interaction') void interact(request, response);
    else listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(async () => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        ...{ client_id: client.id, client_secret: client.secret, redirect_uris: [redirectUri] },
        ...{ grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] },
      },
    ],
    cookies: { keys: [randomBytes(16).toString('hex')] },
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post'],
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: async () => true,
    findAccount: async (_context: unknown, id: string) => ({ accountId: id, claims: async () => ({ sub: id }) }),
    interactions: { url: (_context: unknown, { uid }: { readonly uid: string }) => `/interaction/${uid}` },
    ttl: {
      AccessToken: () => self.lifetimeSeconds,
      RefreshToken: 3_600,
      Session: 3_600,
      Interaction: 600,
      Grant: 3_600,
    },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context: unknown, resource: string) => ({
          ...{ scope, audience: self.audience ?? resource, accessTokenFormat: 'jwt' },
          accessTokenTTL: self.lifetimeSeconds,
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  });
  listener = provider.callback();

  async function interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
    const [, who = ''] = /(?:^|; )who=([\w-]+)/.exec(request.headers.cookie ?? '') ?? [];
    if (who === 'nobody') {
      const refusal = { error: 'access_denied' };
      return provider.interactionFinished(request, response, refusal, { mergeWithLastSubmission: false });
    }
    if (prompt.name === 'login') {
      const login = { login: { accountId: who } };
      return provider.interactionFinished(request, response, login, { mergeWithLastSubmission: false });
    }
    const accountId = session?.accountId ?? who;
    const known = grantId === undefined ? undefined : await provider.Grant.find(grantId);
    const grant = known ?? new provider.Grant({ accountId, clientId: params['client_id'] });
    if (prompt.details.missingOIDCScope !== undefined) grant.addOIDCScope(prompt.details.missingOIDCScope.join(' '));
    for (const [resource, scopes] of Object.entries(prompt.details.missingResourceScopes ?? {}))
      grant.addResourceScope(resource, scopes.join(' '));
    const id = await grant.save();
    grants.set(accountId, (grants.get(accountId) ?? new Set()).add(id));
    const consent = { consent: { grantId: id } };
    return provider.interactionFinished(request, response, consent, { mergeWithLastSubmission: true });
  }

  const revoke = async (who: string): Promise<void> => {
    for (const id of grants.get(who) ?? []) await (await provider.Grant.find(id))?.destroy();
  };
  const tokensOf = async (who: string): Promise<number> => {
    const found = await Promise.all([...(grants.get(who) ?? [])].map((id) => provider.Grant.find(id)));
    return found.filter((grant) => grant !== undefined).length;
  };
  const self: ConsentServer = {
    ...{ issuer, requests, said, revoke, tokensOf, revocation: 'served' },
    ...{ isDown: false, lifetimeSeconds, audience: undefined },
  };
  return self;
}

function overhear(request: IncomingMessage, response: ServerResponse, said: string[]): void {
  request.on('data', (chunk: Buffer) => said.push(chunk.toString()));
  const end = response.end.bind(response);
  response.end = ((chunk?: string | Buffer, ...rest: []) => {
    if (chunk !== undefined) said.push(chunk.toString());
    return end(chunk, ...rest);
  }) as typeof response.end;
}
