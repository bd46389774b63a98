// Where a backend's users give their consent, and to what: which documents are asked for in which order, what of them is believed, and what
// is refused.
import t from 'tap';
import { ControlPlaneFault } from '../../../src/control-plane/common/control-plane-fault.js';
import { discoverAuthorization, type DiscoveredAuthorization } from '../../../src/control-plane/connect/discovery.js';
import { limits } from '../../../src/shared/limits.js';
import type { UserAuth } from '../../../src/user-config/auth.js';
import { fetchVia, scriptedHttp, type ScriptedHttp } from './scripted-http.js';

const BACKEND = 'https://b.example';
const IDP = 'https://idp.example';
const RESOURCE_AT = '/.well-known/oauth-protected-resource';
const OAUTH_AT = '/.well-known/oauth-authorization-server';
const OPENID_AT = '/.well-known/openid-configuration';

const serverSaid = (issuer: string, changes: object = {}): object => ({
  ...{ issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` },
  ...{ code_challenge_methods_supported: ['plain', 'S256'], ...changes },
});

interface World {
  /** The backend's 401; `undefined`: it answers 200. */
  readonly challenge?: string;
  readonly documents?: Readonly<Record<string, object>>;
  readonly path?: string;
  readonly auth?: Partial<UserAuth>;
}

function worldOf({ challenge, documents = {} }: World): ScriptedHttp {
  return scriptedHttp(({ method, url }) => {
    if (method === 'POST')
      return challenge === undefined ? { body: 'x', isEndless: true } : { status: 401, header: challenge };
    const body = documents[url];
    return body && { body };
  });
}

async function discover(world: World, http = worldOf(world)): Promise<DiscoveredAuthorization> {
  const { path = '/mcp', auth = {} } = world;
  return discoverAuthorization(fetchVia(http), { origin: BACKEND, path }, { type: 'oauth2-user', ...auth });
}

async function faultOf(world: World): Promise<string> {
  try {
    await discover(world);
    return 'none';
  } catch (error) {
    if (error instanceof ControlPlaneFault) return error.message;
    throw error;
  }
}

const OWN = { [BACKEND + OAUTH_AT]: serverSaid(BACKEND) };

t.test(
  'the backend is asked like a client asks, and one that says nothing is its own authorization server, which is told no resource',
  async (t) => {
    const http = worldOf({ documents: OWN });
    const { server, resource, scope } = await discover({}, http);
    t.same(server, {
      ...{ issuer: BACKEND, authorization_endpoint: `${BACKEND}/authorize`, token_endpoint: `${BACKEND}/token` },
    });
    t.same([resource, scope], ['', '']);
    const configured = await discover({ documents: OWN, auth: { issuer: BACKEND } });
    t.equal(configured.resource, `${BACKEND}/mcp`, 'unless the config names the server');
    const urls = [`${BACKEND}/mcp`, `${BACKEND}${RESOURCE_AT}/mcp`, BACKEND + RESOURCE_AT, BACKEND + OAUTH_AT];
    t.same(
      http.asked.map(({ url }) => url),
      urls,
    );
    const [{ method, headers, text } = { method: '', headers: [], text: '{}' }] = http.asked;
    t.equal(method, 'POST');
    t.same(headers, ['content-type', 'application/json', 'accept', 'application/json, text/event-stream']);
    t.match(JSON.parse(text), {
      ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'switchyard', version: /^\d/ } },
    });
    t.equal(http.aborted, 1, 'its answer may never end, and is given up');
  },
);

t.test('a resource’s metadata is looked for where the challenge says, at its path, and at its origin', async (t) => {
  const named = `${BACKEND}/meta`;
  const rows: readonly (readonly [challenge: string, path: string, asked: string[]])[] = [
    [`Bearer resource_metadata="${named}"`, '/mcp', [named, `${BACKEND}${RESOURCE_AT}/mcp`, BACKEND + RESOURCE_AT]],
    [`Bearer a=b,resource_metadata=${named}`, '/', [named, BACKEND + RESOURCE_AT]],
    ['Bearer', '/mcp/', [`${BACKEND}${RESOURCE_AT}/mcp/`, `${BACKEND}${RESOURCE_AT}/mcp`, BACKEND + RESOURCE_AT]],
    ['Bearer resource_metadata="https://other.example/meta"', '/', [BACKEND + RESOURCE_AT]],
    ['Bearer resource_metadata="no URL"', '/', [BACKEND + RESOURCE_AT]],
    [`Bearer xresource_metadata="${named}"`, '/', [BACKEND + RESOURCE_AT]],
  ];
  for (const [challenge, path, expected] of rows) {
    const http = worldOf({ challenge, documents: OWN });
    await discover({ path }, http);
    t.same(
      http.asked.slice(1, -1).map(({ url }) => url),
      expected,
      challenge,
    );
  }
  const documents = {
    ...OWN,
    [`${BACKEND}${RESOURCE_AT}/mcp`]: { scopes_supported: ['no'] },
    [BACKEND + RESOURCE_AT]: { resource: BACKEND, scopes_supported: ['yes'] },
  };
  const { scope, resource } = await discover({ documents });
  t.same([scope, resource], ['yes', BACKEND], 'what names no resource is no such document');
});

t.test('an authorization server that publishes nothing has the endpoints of 2025-03-26', async (t) => {
  const defaultsOf = (issuer: string, origin = issuer): object => ({
    ...{ issuer, authorization_endpoint: `${origin}/authorize`, token_endpoint: `${origin}/token` },
    registration_endpoint: `${origin}/register`,
  });
  const { server } = await discover({ challenge: 'Bearer', path: '/a/mcp' });
  t.same(server, defaultsOf(BACKEND));
  const documents = { [BACKEND + RESOURCE_AT]: { resource: BACKEND, authorization_servers: [`${IDP}/tenant`] } };
  const other = await discover({ challenge: 'Bearer', documents });
  t.same(other.server, defaultsOf(`${IDP}/tenant`, IDP), 'also another one that the backend names');
  const none = 'The backend’s authorization server publishes no metadata.';
  t.equal(await faultOf({}), none, 'it asks for no token');
  t.equal(await faultOf({ challenge: 'Bearer', auth: { issuer: BACKEND } }), none, 'the config names the server');
});

t.test('a resource is the backend or what contains it, and nothing else', async (t) => {
  const wordsFor = async (resource: string, path = '/a/b'): Promise<string> =>
    faultOf({ path, documents: { ...OWN, [BACKEND + RESOURCE_AT]: { resource } } });
  for (const good of [BACKEND, `${BACKEND}/`, `${BACKEND}/a`, `${BACKEND}/a/`, `${BACKEND}/a/b`])
    t.equal(await wordsFor(good), 'none', good);
  for (const bad of [
    `${BACKEND}/a/b/c`,
    `${BACKEND}/a/bc`,
    `${BACKEND}/c`,
    'https://x.example/a/b',
    `${BACKEND}:8443`,
    'a',
    '',
  ])
    t.match(await wordsFor(bad), /not its own/, bad);
  t.match(await wordsFor(`${BACKEND}/a/`, '/ab'), /not its own/, 'a path ends at a slash');
});

t.test('the config goes before the challenge, and that before the metadata', async (t) => {
  const documents = {
    ...OWN,
    [BACKEND + RESOURCE_AT]: {
      resource: `${BACKEND}/mcp`,
      authorization_servers: [IDP, 'https://second.example'],
      scopes_supported: ['m1', 'm2', 7],
    },
    [IDP + OAUTH_AT]: serverSaid(IDP),
    [`https://mine.example${OAUTH_AT}`]: serverSaid('https://mine.example'),
  };
  const rows: readonly (readonly [World, issuer: string, resource: string, scope: string])[] = [
    [{}, IDP, `${BACKEND}/mcp`, 'm1 m2'],
    [{ challenge: 'Bearer scope="c1 c2"' }, IDP, `${BACKEND}/mcp`, 'c1 c2'],
    [{ challenge: 'Bearer scope=c1,x=y' }, IDP, `${BACKEND}/mcp`, 'c1'],
    [{ challenge: 'Bearer scope=""' }, IDP, `${BACKEND}/mcp`, 'm1 m2'],
    [
      { challenge: 'Bearer scope="c1"', auth: { scope: 's', issuer: 'https://mine.example', resource: 'urn:r' } },
      'https://mine.example',
      'urn:r',
      's',
    ],
    [{ auth: { scope: '', resource: false } }, IDP, '', ''],
    [{ challenge: `${'x'.repeat(limits.upstreamRefusalBytesMax)} scope=c` }, IDP, `${BACKEND}/mcp`, 'm1 m2'],
  ];
  for (const [world, issuer, resource, scope] of rows) {
    const found = await discover({ ...world, documents });
    t.same(
      [found.server.issuer, found.resource, found.scope],
      [issuer, resource, scope],
      JSON.stringify(world).slice(0, 100),
    );
  }
  const http = scriptedHttp(({ method, url }) =>
    method === 'POST'
      ? { status: 403, header: 'Bearer scope=c' }
      : {
          ...((documents as Record<string, object>)[url]
            ? { body: (documents as Record<string, object>)[url]! }
            : { status: 404 }),
        },
  );
  t.equal((await discover({}, http)).scope, 'm1 m2', 'only a 401 is a challenge');
});

t.test('what renews tokens is asked for where it is offered and anything is', async (t) => {
  const scopeOf = async (challenge: string, offered: unknown, auth = {}): Promise<string> => {
    const documents = { [BACKEND + OAUTH_AT]: serverSaid(BACKEND, { scopes_supported: offered }) };
    return (await discover({ challenge: `Bearer scope="${challenge}"`, documents, auth })).scope;
  };
  t.equal(await scopeOf('a', ['offline_access']), 'a offline_access');
  t.equal(await scopeOf('a offline_access b', ['offline_access']), 'a offline_access b');
  t.equal(await scopeOf('', ['offline_access']), '');
  t.equal(await scopeOf('a', ['a']), 'a');
  t.equal(await scopeOf('a', 'offline_access'), 'a');
  t.equal(await scopeOf('a', ['offline_access'], { scope: 'mine' }), 'mine');
});

t.test('an authorization server’s metadata is at one of three places', async (t) => {
  const issuer = `${IDP}/tenant`;
  const places = [`${IDP}${OAUTH_AT}/tenant`, `${IDP}${OPENID_AT}/tenant`, `${issuer}${OPENID_AT}`];
  const noMethods = { code_challenge_methods_supported: undefined };
  for (const [at, place] of places.entries()) {
    for (const named of [issuer, `${issuer}/`]) {
      const http = worldOf({ documents: { [place]: serverSaid(named) } });
      const { server } = await discover({ auth: { issuer } }, http);
      t.equal(server.issuer, named);
      t.same(
        http.asked.slice(3).map(({ url }) => url),
        places.slice(0, at + 1),
      );
      t.equal(
        (await discover({ auth: { issuer: `${issuer}/` } }, http)).server.issuer,
        named,
        'with or without a slash',
      );
    }
    const words = await faultOf({
      auth: { issuer },
      documents: { [place]: JSON.parse(JSON.stringify(serverSaid(issuer, noMethods))) as object },
    });
    t.equal(
      words,
      at === 0 ? 'The authorization server does not support PKCE with S256.' : 'none',
      'PKCE goes without saying in OpenID Connect',
    );
  }
  t.equal(await faultOf({ auth: { issuer } }), 'The backend’s authorization server publishes no metadata.');
  for (const bad of ['no URL', `${IDP}/${'x'.repeat(limits.oauthMemberCharsMax)}`])
    t.equal(await faultOf({ auth: { issuer: bad } }), 'The backend names no authorization server.');
  t.equal(
    await faultOf({ auth: { issuer: 'ftp://idp.example' } }),
    'A server names an address that is not http or https.',
  );
});

t.test('of a server’s metadata, what is needed must be fit, and what is not may be missing', async (t) => {
  const found = async (changes: object): Promise<object> =>
    (await discover({ documents: { [BACKEND + OAUTH_AT]: serverSaid(BACKEND, changes) } })).server;
  const needed = {
    issuer: BACKEND,
    authorization_endpoint: `${BACKEND}/authorize`,
    token_endpoint: `${BACKEND}/token`,
  };
  const more = {
    ...{ registration_endpoint: `${BACKEND}/register`, revocation_endpoint: `${BACKEND}/revoke` },
    ...{ token_endpoint_auth_methods_supported: ['none'], authorization_response_iss_parameter_supported: true },
  };
  t.same(await found({ ...more, other: 1 }), { ...needed, ...more });
  const odd = {
    revocation_endpoint: 'ftp://x',
    token_endpoint_auth_methods_supported: [1],
    registration_endpoint: 7,
    authorization_response_iss_parameter_supported: 'true',
  };
  t.same(await found(odd), needed);
  const wordsFor = async (changes: object): Promise<string> =>
    faultOf({ documents: { [BACKEND + OAUTH_AT]: serverSaid(BACKEND, changes) } });
  const long = `${BACKEND}/${'x'.repeat(limits.oauthMemberCharsMax)}`;
  for (const name of ['authorization_endpoint', 'token_endpoint', 'registration_endpoint']) {
    for (const bad of ['no URL', long]) t.match(await wordsFor({ [name]: bad }), /lacks a required endpoint/, name);
    t.match(await wordsFor({ [name]: 'ftp://x' }), /not http or https/);
    t.equal(await wordsFor({ [name]: long.slice(0, limits.oauthMemberCharsMax) }), 'none');
  }
  for (const issuer of ['https://other.example', undefined, 7])
    t.match(await wordsFor({ issuer }), /names another issuer/);
});

t.test('a scope or resource has a bounded length', async (t) => {
  const long = 'x'.repeat(limits.oauthMemberCharsMax);
  const TOO_LONG = 'The scope or resource that the backend asks for is too long.';
  t.equal(await faultOf({ documents: OWN, auth: { scope: long, resource: long } }), 'none');
  t.equal(await faultOf({ documents: OWN, auth: { scope: `${long}x` } }), TOO_LONG);
  t.equal(await faultOf({ documents: OWN, auth: { resource: `${long}x` } }), TOO_LONG);
});
