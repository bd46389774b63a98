// Finds out where a backend's users give their consent, and to what: from the backend's challenge, its protected-resource
// metadata (RFC 9728) and its authorization server's metadata (RFC 8414, OpenID Connect Discovery). Rejects metadata with
// which this backend could get a token for another resource. Cold path.
import type * as oauth from 'oauth4webapi';
import { challengeParameter, PROGRAM_VERSION, limits } from '../../shared/index.js';
import type { UserAuth, UpstreamTarget } from '../../user-config/index.js';
import { type ConnectFetch, unusableResponse } from './connect-fetch.js';

export type AuthorizationServer = oauth.AuthorizationServer & {
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
};

export interface DiscoveredAuthorization {
  readonly server: AuthorizationServer;
  /** The resource to request tokens for; `''` if none is named. */
  readonly resource: string;
  /** The scope to request; `''` for the authorization server's default. */
  readonly scope: string;
}

type Metadata = Readonly<Record<string, unknown>>;

/**
 * Rejects with a `ControlPlaneFault`. @param auth from the backend's config; its members take precedence over discovered ones.
 * @param moreScopes what is asked for in addition.
 */
export async function discoverAuthorization(
  fetch: ConnectFetch,
  target: UpstreamTarget,
  auth: UserAuth,
  moreScopes: readonly string[] = [],
): Promise<DiscoveredAuthorization> {
  const backend = new URL(target.origin + target.path);
  const answered = await requestChallenge(fetch, backend);
  const challenge = answered ?? '';
  const metadata = await getResourceMetadata(fetch, backend, challenge);
  // Like official clients, the gateway names no resource to an authorization server that predates RFC 9728: some refuse any.
  const unnamed = auth.issuer === undefined ? '' : backend.href;
  const resource = auth.resource === false ? '' : (auth.resource ?? textIn(metadata, 'resource') ?? unnamed);
  const [named] = textsIn(metadata, 'authorization_servers');
  // Servers that predate RFC 9728 are their own authorization server.
  const issuer = auth.issuer ?? named ?? backend.origin;
  // Without metadata, an authorization server has the default endpoints of 2025-03-26, as official clients take it.
  const hasDefaults = answered !== undefined && auth.issuer === undefined;
  const { server, offersOffline } = await getServerMetadata(fetch, issuer, hasDefaults);
  const wanted = challengeParameter(challenge, 'scope') ?? textsIn(metadata, 'scopes_supported').join(' ');
  const asked = auth.scope ?? (offersOffline ? withOfflineScope(wanted) : wanted);
  const scope = [...new Set([asked, ...moreScopes].join(' ').trim().split(' '))].join(' ');
  if (scope.length > limits.oauthMemberCharsMax || resource.length > limits.oauthMemberCharsMax)
    throw unusableResponse('The scope or resource that the backend asks for is too long.');
  return { server, resource, scope };
}

/** Adds `offline_access`: without it, many authorization servers issue no refresh token, and backends rarely name it. */
function withOfflineScope(scope: string): string {
  return scope === '' || scope.split(' ').includes(OFFLINE_SCOPE) ? scope : `${scope} ${OFFLINE_SCOPE}`;
}

/** @returns the challenge of the backend's 401; `undefined` if it answers otherwise. */
async function requestChallenge(fetch: ConnectFetch, backend: URL): Promise<string | undefined> {
  const clientInfo = { name: 'switchyard', version: PROGRAM_VERSION };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  const response = await fetch.fetchReadable(backend, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  });
  // The body is discarded, because it may never end.
  await response?.body?.cancel();
  return response?.status === 401
    ? (response.headers.get('www-authenticate') ?? '').slice(0, limits.upstreamRefusalBytesMax)
    : undefined;
}

async function getResourceMetadata(
  fetch: ConnectFetch,
  backend: URL,
  challenge: string,
): Promise<Metadata | undefined> {
  const named = challengeParameter(challenge, 'resource_metadata');
  // A slash at the end of the path may be there or not: some servers, and clients, leave it out.
  const paths = [backend.pathname, backend.pathname.replace(/\/$/, ''), ''].filter((path) => path !== '/');
  const urls = paths.map((path) => backend.origin + WELL_KNOWN_RESOURCE + path);
  // A resource publishes its metadata at its own origin (RFC 9728, section 3.3).
  if (named !== undefined && URL.canParse(named) && new URL(named).origin === backend.origin) urls.unshift(named);
  for (const address of new Set(urls)) {
    const metadata = await fetch.fetchObject(new URL(address));
    const resource = textIn(metadata, 'resource');
    // Without `resource`, the document is not a resource's metadata. Official clients try the next URL, too.
    if (resource === undefined) continue;
    checkResource(resource, backend);
    return metadata;
  }
  return undefined;
}

/** Throws if the resource is not the backend's own: the backend would get tokens that are valid elsewhere. */
function checkResource(resource: string, backend: URL): void {
  const url = URL.canParse(resource) ? new URL(resource) : undefined;
  const path = url?.pathname.replace(/\/$/, '') ?? '';
  const isWithin = backend.pathname === path || backend.pathname.startsWith(`${path}/`);
  if (url?.origin !== backend.origin || !isWithin)
    throw unusableResponse('The backend names a resource that is not its own: no consent can be given to it.');
}

async function getServerMetadata(
  fetch: ConnectFetch,
  issuer: string,
  hasDefaults: boolean,
): Promise<{ server: AuthorizationServer; offersOffline: boolean }> {
  if (!URL.canParse(issuer) || issuer.length > limits.oauthMemberCharsMax)
    throw unusableResponse('The backend names no authorization server.');
  fetch.checkUrl(new URL(issuer));
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const oauthUrl = `${origin}/.well-known/oauth-authorization-server${path}`;
  const urls = [
    oauthUrl,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
  for (const address of new Set(urls)) {
    const metadata = await fetch.fetchObject(new URL(address));
    if (metadata === undefined) continue;
    // OpenID Connect's metadata has no member for PKCE: Entra ID and Cognito support PKCE without saying so.
    const defaultMethods = address === oauthUrl ? [] : ['S256'];
    const server = checkedServer(fetch, { code_challenge_methods_supported: defaultMethods, ...metadata }, issuer);
    return { server, offersOffline: textsIn(metadata, 'scopes_supported').includes(OFFLINE_SCOPE) };
  }
  if (!hasDefaults) throw unusableResponse('The backend’s authorization server publishes no metadata.');
  const endpoints = { authorization_endpoint: `${origin}/authorize`, token_endpoint: `${origin}/token` };
  return { server: { issuer, ...endpoints, registration_endpoint: `${origin}/register` }, offersOffline: false };
}

function checkedServer(fetch: ConnectFetch, metadata: Metadata, issuer: string): AuthorizationServer {
  const named = textIn(metadata, 'issuer') ?? '';
  if (named.replace(/\/$/, '') !== issuer.replace(/\/$/, ''))
    throw unusableResponse('The authorization server’s metadata names another issuer.');
  // Without PKCE, an attacker who intercepts a code could use it.
  if (!textsIn(metadata, 'code_challenge_methods_supported').includes('S256'))
    throw unusableResponse('The authorization server does not support PKCE with S256.');
  const registration = textIn(metadata, 'registration_endpoint');
  const methods = textsIn(metadata, 'token_endpoint_auth_methods_supported');
  const revocation = revocationEndpointIn(fetch, metadata);
  return {
    issuer: named,
    authorization_endpoint: endpointIn(fetch, metadata, 'authorization_endpoint'),
    token_endpoint: endpointIn(fetch, metadata, 'token_endpoint'),
    ...(registration !== undefined && { registration_endpoint: endpointIn(fetch, metadata, 'registration_endpoint') }),
    ...(revocation !== undefined && { revocation_endpoint: revocation }),
    ...(methods.length > 0 && { token_endpoint_auth_methods_supported: methods }),
    ...(metadata['authorization_response_iss_parameter_supported'] === true && {
      authorization_response_iss_parameter_supported: true,
    }),
  };
}

function endpointIn(fetch: ConnectFetch, metadata: Metadata, name: string): string {
  const text = textIn(metadata, name) ?? '';
  if (!URL.canParse(text) || text.length > limits.oauthMemberCharsMax)
    throw unusableResponse('The metadata of the authorization server lacks a required endpoint.');
  fetch.checkUrl(new URL(text));
  return text;
}

/** The revocation endpoint; `undefined` if it is missing or invalid, which must not fail the consent. */
function revocationEndpointIn(fetch: ConnectFetch, metadata: Metadata): string | undefined {
  try {
    return endpointIn(fetch, metadata, 'revocation_endpoint');
  } catch {
    return undefined;
  }
}

function textIn(metadata: Metadata | undefined, name: string): string | undefined {
  const value = metadata?.[name];
  return typeof value === 'string' ? value : undefined;
}

function textsIn(metadata: Metadata | undefined, name: string): string[] {
  const value = metadata?.[name];
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}

const OFFLINE_SCOPE = 'offline_access';
const WELL_KNOWN_RESOURCE = '/.well-known/oauth-protected-resource';
