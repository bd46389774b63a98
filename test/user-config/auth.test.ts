import t from 'tap';
import { limits } from '../../src/shared/limits.js';
import { authFault, type BackendAuth } from '../../src/user-config/auth.js';
import { compileUserConfig } from '../../src/user-config/compile-config.js';
import { ConfigReader, encodeConfig } from '../../src/user-config/config-rows.js';
import { decodeUserConfig } from '../../src/user-config/user-config-schema.js';

function configWith(auth: unknown, more: Readonly<Record<string, unknown>> = {}): Buffer {
  const backend = { url: 'https://b.example/mcp', auth, ...more };
  return Buffer.from(JSON.stringify({ virtual_hosts: { v: { backends: { b: backend } } } }));
}

function issuesOf(auth: unknown): string {
  const decoding = decodeUserConfig(configWith(auth));
  return decoding.ok ? '' : decoding.issues;
}

function headers(names: Readonly<Record<string, string>>): BackendAuth {
  return {
    type: 'headers',
    headers: Object.fromEntries(Object.entries(names).map(([name, file]) => [name, { file }])),
  };
}

t.test('files of secrets are named by their bare names', async (t) => {
  for (const file of ['github', 'a.b_c-D', '0', 'x'.repeat(128)])
    t.equal(authFault(headers({ authorization: file })), undefined);
  for (const file of [
    '',
    '.',
    '..',
    '.hidden',
    'a/b',
    '../a',
    'a\\b',
    'a b',
    'a\0',
    'x'.repeat(129),
    'github.hosts',
    'ä',
  ]) {
    t.match(authFault(headers({ authorization: file })), /^\.headers: a file must be/, JSON.stringify(file));
  }
});

t.test('any headers are allowed but the gateway’s own, each once', async (t) => {
  for (const name of ['Authorization', 'x-api-key', 'Cookie']) t.equal(authFault(headers({ [name]: 'a' })), undefined);
  for (const name of [
    'Host',
    'content-length',
    'Transfer-Encoding',
    'mcp-session-id',
    'accept',
    'a b',
    'a:',
    '',
    '__proto__',
    'proxy-authorization',
  ]) {
    t.match(
      authFault({ type: 'headers', headers: Object.fromEntries([[name, { file: 'a' }]]) }),
      /must be valid header names/,
      JSON.stringify(name),
    );
  }
  t.match(authFault(headers({ 'x-a': 'a', 'X-A': 'b' })), /each header only once/);
  t.match(authFault(headers({})), /1 to 8 headers/);
  t.match(authFault(headers(Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`x-${i}`, 'a'])))), /1 to 8/);
});

t.test('a config with an invalid auth is refused, and the member is named', async (t) => {
  t.equal(issuesOf(headers({ authorization: 'a' })), '');
  t.match(issuesOf('x'), /^virtual_hosts\.v\.backends\.b\.auth: must be an object$/);
  t.match(issuesOf({ type: 'oauth', headers: {} }), /auth\.type: must be headers/);
  t.match(issuesOf({ headers: {} }), /auth\.type: is missing \(must be headers, /);
  t.match(issuesOf({ type: 'headers' }), /auth\.headers: is missing \(must be an object\)/);
  t.match(issuesOf({ type: 'headers', headers: { authorization: 'Bearer in clear' } }), /auth\.headers\.authorization/);
  t.notMatch(issuesOf({ type: 'headers', headers: { authorization: 'Bearer in clear' } }), /clear/);
  t.match(issuesOf({ ...headers({ authorization: 'a' }), more: 1 }), /auth\.more: is not known/);
  t.match(issuesOf(headers({ authorization: '../a' })), /auth\.headers: a file must be/);
});

t.test('a header that auth sets is not copied from the caller, even after passing through the thread', async (t) => {
  const auth = headers({ Authorization: 'a' });
  const decoding = decodeUserConfig(configWith(auth, { passthrough_headers: ['authorization', 'x-tenant'] }));
  if (!decoding.ok) throw new Error(decoding.issues);
  const config = compileUserConfig(decoding.config, 'tls-only');
  const backend = config.virtualHosts.get('v')?.backends.get('b');
  t.same(backend?.auth, auth);
  t.same([...(backend?.passthroughHeaders ?? [])], ['x-tenant']);
  const reader = new ConfigReader(encodeConfig(config));
  while (reader.readRow());
  t.same(reader.config.virtualHosts.get('v')?.backends.get('b'), backend);
});

t.test('what auth sends, the caller can neither replace nor add to, however it is spelled', async (t) => {
  const auths = [
    [headers({ 'X-Api-Key': 'a', 'x-account': 'b' }), ['authorization', 'x-tenant']],
    [{ type: 'oauth2-user' }, ['x-account', 'x-api-key', 'x-tenant']],
  ] as const;
  for (const [auth, copied] of auths) {
    const listed = ['x-API-key', 'X-Account', 'Authorization', 'X-Tenant'];
    const decoding = decodeUserConfig(configWith(auth, { passthrough_headers: listed }));
    if (!decoding.ok) throw new Error(decoding.issues);
    const virtualHost = compileUserConfig(decoding.config, 'tls-only').virtualHosts.get('v');
    t.same([...(virtualHost?.backends.get('b')?.passthroughHeaders ?? [])].toSorted(), copied, auth.type);
    t.same([...(virtualHost?.passthroughHeaders ?? [])].toSorted(), copied, 'nor is it read from the request');
  }
});

const CLIENT = {
  token_endpoint: 'https://login.example/token',
  client_id: 'c',
  client_secret: { file: 's' },
} as const;
const NO_ENDPOINTS = [
  ...['', 'login.example', 'ftp://login.example/', 'https://user@login.example/', 'https://:p@login.example/'],
  ...['https://login.example/#a', `https://login.example/${'x'.repeat(limits.oauthMemberCharsMax)}`],
];

t.test(
  'a caller’s token that is exchanged for a backend is read from the request, and copied to no backend',
  async (t) => {
    const decoding = decodeUserConfig(configWith({ type: 'token-exchange', ...CLIENT }));
    if (!decoding.ok) throw new Error(decoding.issues);
    const config = compileUserConfig(decoding.config, 'tls-only');
    const reader = new ConfigReader(encodeConfig(config));
    while (reader.readRow());
    for (const { virtualHosts } of [config, reader.config]) {
      const host = virtualHosts.get('v');
      t.same([...(host?.passthroughHeaders ?? [])], ['authorization']);
      t.same([...(host?.backends.get('b')?.passthroughHeaders ?? [])], []);
    }
  },
);

t.test('a client’s id, secret and endpoint are checked, for each way of getting a token', async (t) => {
  for (const type of ['oauth2-client-credentials', 'token-exchange'] as const) {
    const faultOf = (changes: object): string | undefined => authFault({ type, ...CLIENT, ...changes });
    t.equal(faultOf({}), undefined);
    t.equal(faultOf({ token_endpoint: 'http://127.0.0.1:1/token?a=b' }), undefined);
    for (const endpoint of NO_ENDPOINTS)
      t.match(faultOf({ token_endpoint: endpoint }), /^\.token_endpoint must be/, endpoint.slice(0, 40));
    const longest = 'x'.repeat(limits.oauthMemberCharsMax);
    for (const member of ['client_id', 'scope', 'resource', 'audience']) {
      t.equal(faultOf({ [member]: longest }), undefined, member);
      for (const value of ['', `${longest}x`])
        t.match(faultOf({ [member]: value }), new RegExp(`^\\.${member} must be 1 to 2048`), member);
    }
    t.equal(faultOf({ client_secret: { secret: 'in-the-store' } }), undefined);
    t.match(faultOf({ client_secret: { file: '../s' } }), /^\.client_secret: a file must be/);
    t.match(faultOf({ client_secret: { secret: '' } }), /^\.client_secret: a secret must be/);
  }
});

t.test(
  'a client of users’ grants has its issuer beside it: the backend must not choose who gets its secret',
  async (t) => {
    const faultOf = (changes: object): string | undefined => authFault({ type: 'oauth2-user', ...changes });
    const issuer = 'https://login.example/realms/a';
    t.equal(faultOf({}), undefined);
    t.equal(faultOf({ issuer }), undefined);
    t.equal(
      faultOf({ issuer, client_id: 'c', client_secret: { file: 's' }, scope: 'a b', resource: 'urn:x' }),
      undefined,
    );
    for (const wrong of [...NO_ENDPOINTS.slice(1, -1), `${issuer}?a=b`])
      t.match(faultOf({ issuer: wrong }), /^\.issuer must be an http or https URL/, wrong);
    t.match(faultOf({ client_id: 'c' }), /^\.client_id must have an issuer/);
    t.match(faultOf({ issuer, client_secret: { file: 's' } }), /^\.client_secret must have a client_id/);
    t.match(faultOf({ issuer, client_id: 'c', client_secret: { file: '..' } }), /^\.client_secret: a file must be/);
    const longest = 'x'.repeat(limits.userAuthMemberCharsMax);
    for (const member of ['issuer', 'client_id', 'scope', 'resource'])
      for (const value of ['', `${longest}x`])
        t.match(faultOf({ issuer, [member]: value }), new RegExp(`^\\.${member} must be 1 to `), member);
    for (const member of ['scope', 'resource']) t.equal(faultOf({ issuer, [member]: longest }), undefined, member);
  },
);
