// What is checked before a request is anything: repeated headers, rates, tokens, roles, and what pages of other origins may read.
import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { TokenVerifier } from '../../../src/auth/token-verifier.js';
import { DEFAULT_ROLE_NAMES, parseClaimPath } from '../../../src/config/table/token-options.js';
import { RateLimiter, roleRefusal } from '../../../src/control-plane/http/control-plane-admission.js';
import { ProtectedResource } from '../../../src/edge/edge.js';
import { HostPolicy } from '../../../src/shared/host-policy.js';
import { tokenOptions } from '../../auth/token-options.js';
import { mint } from '../../support/tokens.js';
import { openApp, SECRET, NOTHING_KEPT } from './app.js';

const roleClaims = { role: parseClaimPath('role'), teams: undefined, roleNames: DEFAULT_ROLE_NAMES };
const tokens = new TokenVerifier({ ...tokenOptions({ secret: SECRET }), roleClaims });
const ORIGIN = 'https://page.example';
const hosts = new HostPolicy({ listenHost: '127.0.0.1', allowedHosts: [], allowedOrigins: [ORIGIN] });
const kept = { ...NOTHING_KEPT, records: { kind: 'embedded', ping: async () => true } } as typeof NOTHING_KEPT;
const token = async (sub: string, role?: string): Promise<string> =>
  `Bearer ${await mint({ sub, algorithm: 'HS256', key: SECRET, claims: { role } })}`;

t.test('a header that must not be repeated is not, in any spelling', async (t) => {
  const app = await openApp(t, kept);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const ask = async (...lines: string[]): Promise<string> => {
    const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write(`${['GET /health HTTP/1.1', 'host: localhost', 'connection: close', ...lines].join('\r\n')}\r\n\r\n`);
    return text(socket);
  };
  for (const name of ['Authorization', 'mcp-session-id'])
    t.match(
      await ask(`${name}: a`, `${name.toUpperCase()}: a`),
      new RegExp(`^HTTP/1.1 400 [^]*"Send ${name.toLowerCase()} once"`),
    );
  t.match(await ask('accept: a', 'accept: b', 'authorization: a', 'mcp-session-id: a'), /^HTTP\/1\.1 200 /);
});

t.test(
  'requests are counted by subject, or by address without a valid token, and not at all where they cost nothing',
  async (t) => {
    const app = await openApp(t, { ...kept, tokenVerifier: tokens, rateLimiter: new RateLimiter(2) });
    const ask = async (url: string, authorization?: string) => {
      const answer = await app.inject({ url, headers: { host: 'localhost', ...(authorization && { authorization }) } });
      return [answer.statusCode, answer.headers['retry-after']];
    };
    const [ann, bob] = [await token('ann', 'admin'), await token('bob', 'admin')];
    t.same(
      [await ask('/nowhere', ann), await ask('/nowhere', ann)],
      [
        [404, undefined],
        [404, undefined],
      ],
    );
    const [status, retry] = await ask('/nowhere', ann);
    t.equal(status, 429);
    t.ok(Number(retry) > 50 && Number(retry) <= 60);
    t.same(await ask('/nowhere', bob), [404, undefined], 'each has its own');
    t.same(
      [await ask('/servers'), await ask('/servers', 'Bearer x')],
      [
        [401, undefined],
        [401, undefined],
      ],
    );
    t.same((await ask('/servers', 'Bearer y'))[0], 429, 'before it is said that a token is wrong');
    t.same((await ask('/health'))[0], 200);
    const { payload } = await app.inject({ url: '/servers', headers: { host: 'localhost' } });
    t.match(payload, /Too many requests: try again in \d+ s/);
  },
);

t.test('a role that is too low is refused with the one that is needed', async (t) => {
  const app = await openApp(t, { ...kept, tokenVerifier: tokens });
  const ask = async (role?: string) =>
    app.inject({
      method: 'POST',
      url: '/servers',
      headers: { host: 'localhost', authorization: await token('ann', role), 'content-type': 'application/json' },
      payload: '{}',
    });
  const low = await ask('reader');
  t.same(
    [low.statusCode, low.json()],
    [403, { detail: 'This requires the role editor, but the token has the role reader' }],
  );
  t.equal(
    low.headers['www-authenticate'],
    'Bearer realm="switchyard", error="insufficient_scope", error_description="This requires the role editor"',
  );
  t.same((await ask()).json(), { detail: 'This requires the role editor, but the token has none' });
  t.equal((await ask('editor')).statusCode, 422);
  t.match(roleRefusal('admin', undefined), { code: 'role-missing', status: 403, contentType: 'application/json' });
  t.equal(roleRefusal('admin', undefined).body, '{"detail":"This requires the role admin, but the token has none"}');
});

t.test('pages of allowed origins may read answers, and every page the metadata', async (t) => {
  const resource = new ProtectedResource({ publicUrl: undefined, authorizationServers: ['https://idp.example'] });
  const app = await openApp(t, { ...kept, tokenVerifier: tokens, hosts, protectedResource: resource });
  const ask = async (url: string, origin?: string, method: 'GET' | 'OPTIONS' = 'GET') =>
    app.inject({ method, url, headers: { host: 'localhost', ...(origin && { origin }) } });
  t.equal((await ask('/health', ORIGIN)).headers['access-control-allow-origin'], ORIGIN);
  t.equal((await ask('/health')).headers['access-control-allow-origin'], undefined);
  t.equal((await ask('/health', ORIGIN)).headers['access-control-allow-methods'], undefined);
  t.equal((await ask('/health', 'https://other.example')).statusCode, 403);
  const preflight = await ask('/servers', ORIGIN, 'OPTIONS');
  t.equal(preflight.statusCode, 204);
  t.equal(preflight.headers['access-control-allow-methods'], 'GET, POST, PUT, PATCH, DELETE, OPTIONS');
  t.equal(
    (await ask('/servers', undefined, 'OPTIONS')).statusCode,
    401,
    'without an origin it is a request like any other',
  );
  const metadata = await ask('/.well-known/oauth-protected-resource/mcp', 'https://other.example');
  t.equal(metadata.statusCode, 200);
  t.equal(metadata.headers['access-control-allow-origin'], '*');
  t.match(metadata.json(), { resource: 'http://localhost/mcp', authorization_servers: ['https://idp.example'] });
  t.match((await ask('/.well-known/oauth-protected-resource/servers/x/mcp')).json(), {
    resource: 'http://localhost/servers/x/mcp',
  });
});

t.test('a refusal says where a token for this endpoint is given', async (t) => {
  const resource = new ProtectedResource({ publicUrl: undefined, authorizationServers: ['https://idp.example'] });
  const app = await openApp(t, { ...kept, tokenVerifier: tokens, hosts, protectedResource: resource });
  const challenge = async (url: string): Promise<unknown> =>
    (await app.inject({ method: 'POST', url, headers: { host: 'localhost' } })).headers['www-authenticate'];
  const at = 'http://localhost/.well-known/oauth-protected-resource';
  for (const [url, path] of [
    ['/mcp', '/mcp'],
    ['/mcp/?exposure=search', '/mcp'],
    ['/servers/a%20b/mcp', '/servers/a%20b/mcp'],
    ['/servers', ''],
    ['/servers/x/mcp/y', ''],
  ] as const)
    t.match(await challenge(url), `resource_metadata="${at}${path}"`, url);
});

t.test('a path is unknown, or its methods are named', async (t) => {
  const app = await openApp(t, { ...kept, tokenVerifier: tokens });
  const authorization = await token('ann', 'admin');
  const allowed = async (url: string): Promise<unknown[]> => {
    const { statusCode, headers } = await app.inject({
      method: 'TRACE' as 'GET',
      url,
      headers: { host: 'localhost', authorization },
    });
    return [statusCode, headers.allow];
  };
  t.same(await allowed('/servers/x?a=b'), [405, 'GET, HEAD, PUT, PATCH, DELETE']);
  t.same(await allowed('/servers/x/refresh'), [405, 'POST']);
  t.same(await allowed('/mcp'), [405, 'GET, POST, DELETE']);
  t.same(await allowed('/openapi.json'), [405, 'GET, HEAD']);
  t.same(await allowed('/openapi-json'), [404, undefined]);
  t.same(await allowed('/x/servers/x'), [404, undefined]);
  t.same(await allowed('/servers/x/nowhere'), [404, undefined]);
});
