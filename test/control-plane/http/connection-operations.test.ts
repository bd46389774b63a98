// What the operations of users' consents ask of the flow, and what they refuse. The flow itself is a stand-in.
import t, { type Test } from 'tap';
import { TokenVerifier } from '../../../src/auth/token-verifier.js';
import { DEFAULT_ROLE_NAMES, parseClaimPath } from '../../../src/config/table/token-options.js';
import { AuditTrail } from '../../../src/control-plane/common/audit.js';
import type { ConsentFlow } from '../../../src/control-plane/connect/consent-flow.js';
import { CONNECT_OFF } from '../../../src/control-plane/http/connection-operations.js';
import { tokenOptions } from '../../auth/token-options.js';
import { logInto } from '../../support/log-lines.js';
import { mint } from '../../support/tokens.js';
import { setStage, stores, type Stage } from '../stage.js';
import { openApp, SECRET } from './app.js';

const AUTH = { type: 'oauth2-user', scope: 'files' } as const;
const LINK = 'https://cp.example/connect/files?ticket=t';
const CONNECTION = { backend: 'files', origin: 'https://b.example', connectedAt: '2026-01-01T00:00:00.000Z' };

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

interface Scene {
  readonly registry: Stage['registry'];
  /** What the flow was asked, in order. */
  readonly asked: readonly unknown[];
  readonly audited: readonly string[];
  readonly ask: (
    method: 'GET' | 'POST' | 'DELETE',
    url: string,
    who?: { sub?: string; role?: string; body?: object },
  ) => Promise<Answer>;
}

async function scene(t: Test, hasFlow = true): Promise<Scene> {
  const stage = await setStage(t, await stores['embedded']!(t));
  const asked: unknown[] = [];
  const audited: string[] = [];
  const connect = {
    links: { linkTo: (...words: unknown[]) => (asked.push(words), LINK) },
    list: async (subject: string) => (asked.push(subject), [CONNECTION]),
    disconnect: async (...words: string[]) => (asked.push(words), words[1] === 'files' ? 'revoked' : 'missing'),
  } as unknown as ConsentFlow;
  const roleClaims = { role: parseClaimPath('role'), teams: parseClaimPath('teams'), roleNames: DEFAULT_ROLE_NAMES };
  const app = await openApp(t, {
    ...{ registry: stage.registry, compositions: stage.compositions, records: stage.records },
    ...(hasFlow && { consentFlow: connect }),
    tokenVerifier: new TokenVerifier({ ...tokenOptions({ secret: SECRET }), roleClaims }),
    audit: new AuditTrail(logInto(audited), 'hash'),
  });
  const ask: Scene['ask'] = async (
    method,
    url,
    { sub = 'alice', role = 'reader', body = method === 'POST' ? {} : undefined } = {},
  ) => {
    const token = await mint({ sub, algorithm: 'HS256', key: SECRET, claims: { role } });
    const headers = { host: 'localhost', authorization: `Bearer ${token}` };
    const answer = await app.inject({ method, url, headers, ...(body !== undefined && { payload: body }) });
    return { status: answer.statusCode, body: answer.json() };
  };
  const { registry } = stage;
  await registry.register(
    { name: 'files', url: 'http://127.0.0.1:1/mcp?a=b', auth: AUTH },
    { caller: { subject: 'bob', role: 'editor', teams: [] } },
  );
  await registry.register({ name: 'open', url: 'http://127.0.0.1:1/mcp' });
  return { registry, asked, audited, ask };
}

t.test('a link is for the server at its address, and for the caller', async (t) => {
  const { ask, asked } = await scene(t);
  const backend = { name: 'files', target: { origin: 'http://127.0.0.1:1', path: '/mcp?a=b' } };
  t.same(await ask('POST', '/servers/files/connect'), { status: 200, body: { url: LINK } });
  t.same(asked, [[backend, AUTH, 'alice']]);
  t.match(await ask('POST', '/servers/nowhere/connect'), { status: 404 });
  t.match(await ask('POST', '/servers/open/connect'), { status: 422, body: { detail: /not of the type oauth2-user/ } });
  t.equal(asked.length, 1);
});

t.test('a link for probes is for nobody, and for those alone who may change the server', async (t) => {
  const { ask, asked } = await scene(t);
  const body = { probes: true };
  const link = async (sub: string, role: string): Promise<Answer> =>
    ask('POST', '/servers/files/connect', { sub, role, body });
  t.match(await link('bob', 'reader'), { status: 403, body: { detail: /requires the role editor/ } });
  t.match(await link('alice', 'editor'), {
    status: 403,
    body: { detail: /^The server files belongs to its maker, bob/ },
  });
  t.same(asked, []);
  t.match(await link('bob', 'editor'), { status: 200 });
  t.match(asked, [[{ name: 'files' }, AUTH, '']]);
});

t.test('the caller gets the list of its own connections, and ends one by its name', async (t) => {
  const { ask, asked, audited } = await scene(t);
  t.same(await ask('GET', '/connect'), { status: 200, body: [CONNECTION] });
  t.same(await ask('DELETE', '/connect/files'), { status: 200, body: { revocation: 'revoked' } });
  t.match(await ask('DELETE', '/connect/other'), { status: 404, body: { detail: /no server of this name/ } });
  t.same(asked, ['alice', ['alice', 'files'], ['alice', 'other']]);
  t.match(
    audited.map((line) => JSON.parse(line) as unknown),
    [{ audit: 'disconnect', name: 'files' }],
  );
});

t.test('where nobody can connect anything, each operation says what it takes', async (t) => {
  const { ask } = await scene(t, false);
  for (const [method, url] of [
    ['POST', '/servers/files/connect'],
    ['GET', '/connect'],
    ['DELETE', '/connect/files'],
  ] as const)
    t.same(await ask(method, url), { status: 503, body: { detail: CONNECT_OFF } }, `${method} ${url}`);
});
