// What operations ask of the registry and the compositions, and what they answer. Both are stand-ins.
import t, { type Test } from 'tap';
import { TokenVerifier } from '../../../src/auth/token-verifier.js';
import { DEFAULT_ROLE_NAMES, parseClaimPath } from '../../../src/config/table/token-options.js';
import type { Change } from '../../../src/control-plane/common/change.js';
import { Overload, overloadBounds } from '../../../src/fair/overload.js';
import { tokenOptions } from '../../auth/token-options.js';
import { logInto } from '../../support/log-lines.js';
import { mint } from '../../support/tokens.js';
import { openApp, SECRET, type Kept, type Sent } from './app.js';

const roleClaims = { role: parseClaimPath('role'), teams: parseClaimPath('teams'), roleNames: DEFAULT_ROLE_NAMES };

interface Scene {
  /** What was asked, in order. */
  readonly asked: unknown[][];
  readonly state: { isReachable: boolean; unpublished: number; cursor: string | undefined };
  readonly overload: Overload;
  readonly ask: (
    method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'HEAD',
    url: string,
    sent?: Sent & { readonly claims?: Readonly<Record<string, unknown>> },
  ) => Promise<{ status: number; body: unknown; headers: Readonly<Record<string, unknown>> }>;
}

async function scene(t: Test, hasRoles = false): Promise<Scene> {
  const asked: unknown[][] = [];
  const state: Scene['state'] = { isReachable: true, unpublished: 0, cursor: undefined };
  const said = <Value>(value: Value, ...words: unknown[]): Value => (asked.push(words), value);
  const changed = (name: string, change: Change): object => {
    change.outcome!.unpublished = state.unpublished;
    return { id: 'i', name, servers: [], subjects: [], tags: [] };
  };
  const kept = {
    registry: {
      list: async (query: unknown) => said({ items: [{ name: 'a' }], cursor: state.cursor }, 'list', query),
      count: async () => ({ active: 1, inactive: 2 }),
      find: async (reference: string) =>
        said(reference === 'none' ? undefined : { id: 'i', name: 'n' }, 'find', reference),
      preview: async (input: unknown) =>
        said({ server: { name: 'n' }, toolsJson: Buffer.from('[1.0]') }, 'preview', input),
      listJson: async (...words: unknown[]) => said(Buffer.from('[{"n":1.0}]'), 'listJson', ...words),
      health: async (reference: string) => said([{ reachable: true }], 'health', reference),
      refresh: async (reference: string, change: Change) =>
        said(changed('r', change), 'refresh', reference, change.caller, change.ifMatch),
      remove: async (reference: string, change: Change) =>
        said(void changed('r', change), 'remove', reference, change.ifMatch),
      register: async (input: unknown, change: Change) => said(changed('n', change), 'register', input),
    },
    compositions: {
      list: async (query: unknown) => said({ items: [], cursor: undefined }, 'compositions', query),
      countUnpublished: async () => 4,
      create: async (input: unknown, maker: string, change: Change) =>
        said(changed('c', change), 'create', input, maker),
      replace: async (reference: string, input: unknown, maker: string, change: Change) =>
        said(changed('c', change), 'replace', reference, input, maker),
      remove: async (reference: string) => said(undefined, 'removeComposition', reference),
    },
    records: { kind: 'redis', ping: async () => state.isReachable },
  } as unknown as Kept;
  const overload = new Overload(logInto([]));
  const tokenVerifier = new TokenVerifier({ ...tokenOptions({ secret: SECRET }), ...(hasRoles && { roleClaims }) });
  const app = await openApp(t, { ...kept, overload, tokenVerifier });
  const ask: Scene['ask'] = async (method, url, { payload, claims = {}, headers = {} } = {}) => {
    const authorization = `Bearer ${await mint({ sub: 'ann', algorithm: 'HS256', key: SECRET, claims })}`;
    const type = payload === undefined ? {} : { 'content-type': 'application/json' };
    const answer = await app.inject({
      method,
      url,
      headers: { host: 'localhost', authorization, ...type, ...headers },
      ...(payload !== undefined && { payload }),
    });
    return {
      status: answer.statusCode,
      headers: answer.headers,
      body: answer.payload === '' ? undefined : (JSON.parse(answer.payload) as unknown),
    };
  };
  return { asked, state, overload, ask };
}

t.test('lists are asked for with what the query names, and say where the next page is', async (t) => {
  const { asked, state, ask } = await scene(t);
  t.match(await ask('GET', '/servers'), { status: 200, body: [{ name: 'a' }] });
  state.cursor = 'abc';
  const { headers } = await ask('GET', '/servers?tags=x,%20y&status=active&limit=2&cursor=old');
  t.equal(headers['link'], '</servers?tags=x%2C+y&status=active&limit=2&cursor=abc>; rel="next"');
  t.equal((await ask('GET', '/servers')).headers['link'], '</servers?cursor=abc>; rel="next"');
  await ask('GET', '/compositions?limit=3');
  t.same(asked, [
    ['list', {}],
    ['list', { tags: ['x', 'y'], status: 'active', limit: 2, cursor: 'old' }],
    ['list', {}],
    ['compositions', { limit: 3 }],
  ]);
  for (const query of ['limit=0', 'limit=1001', 'limit=a', 'status=odd', 'cursor=!'])
    t.match(await ask('GET', `/servers?${query}`), { status: 422 }, query);
});

t.test('lists of servers are sent as they were kept', async (t) => {
  const { asked, ask } = await scene(t);
  for (const list of ['tools', 'prompts', 'resources', 'templates'])
    t.match(await ask('GET', `/servers/a%20b/${list}`), {
      status: 200,
      body: [{ n: 1 }],
      headers: { 'content-type': 'application/json' },
    });
  t.match(await ask('GET', '/servers/x/health'), { status: 200, body: [{ reachable: true }] });
  t.match(await ask('POST', '/probes', { payload: '{"name":"n","url":"u"}' }), {
    status: 200,
    body: { server: { name: 'n' }, tools: [1] },
  });
  t.same(asked, [
    ...['tools', 'prompts', 'resources', 'templates'].map((list) => ['listJson', 'a b', list]),
    ...[
      ['health', 'x'],
      ['preview', { name: 'n', url: 'u' }],
    ],
  ]);
});

t.test('a change is answered when it is published, or says how many configs still lack it', async (t) => {
  const { asked, state, ask } = await scene(t);
  const payload = '{"name":"c","servers":[]}';
  const made = await ask('POST', '/compositions', { payload });
  t.match(made, { status: 201, body: { id: 'i' }, headers: { location: '/compositions/i', etag: /^"[\w-]{22}"$/ } });
  t.notOk('switchyard-unpublished' in made.headers);
  state.unpublished = 3;
  for (const answer of [
    await ask('POST', '/compositions?force=true', { payload }),
    await ask('PUT', '/compositions/c', { payload }),
    await ask('POST', '/servers/x/refresh', { headers: { 'if-match': '"t"' } }),
  ])
    t.match(answer, { status: 202, headers: { 'switchyard-unpublished': '3' } });
  t.match(await ask('DELETE', '/servers/x', { headers: { 'if-match': '"t"' } }), { status: 202, body: undefined });
  state.unpublished = 0;
  t.match(await ask('DELETE', '/servers/x'), { status: 204, body: undefined });
  t.match(await ask('DELETE', '/compositions/c'), { status: 204 });
  t.same(asked, [
    ['create', { name: 'c', servers: [], isForced: false }, 'ann'],
    ['create', { name: 'c', servers: [], isForced: true }, 'ann'],
    ['replace', 'c', { name: 'c', servers: [], isForced: false }, 'ann'],
    ['refresh', 'x', undefined, '"t"'],
    ['remove', 'x', '"t"'],
    ['remove', 'x', undefined],
    ['removeComposition', 'c'],
  ]);
});

t.test('what is not there is not found, by its kind', async (t) => {
  const { ask } = await scene(t);
  t.match(await ask('GET', '/servers/none'), { status: 404, body: { detail: 'Server not found: none' } });
  t.match(await ask('GET', '/servers/a'), { status: 200, headers: { etag: String } });
  t.match(await ask('HEAD', '/servers/a'), { status: 200, body: undefined });
});

t.test('the control plane tells how it is', async (t) => {
  const { ask, state, overload } = await scene(t);
  t.same((await ask('GET', '/live')).body, { status: 'live' });
  t.match(await ask('GET', '/health'), { status: 200, body: { status: 'healthy' } });
  const app = { name: 'switchyard', mcpProtocolVersion: /^\d{4}-\d\d-\d\d$/, version: String };
  t.match((await ask('GET', '/version')).body, {
    ...{ app, status: 'healthy', store: { kind: 'redis', reachable: true }, servers: { active: 1, inactive: 2 } },
    ...{ unpublishedChanges: 4, uptimeSeconds: Number, timestamp: /^\d{4}-/ },
  });
  state.isReachable = false;
  t.match(await ask('GET', '/health'), { status: 503, body: { status: 'unhealthy' } });
  t.match((await ask('GET', '/version')).body, {
    status: 'unhealthy',
    store: { reachable: false },
    servers: null,
    unpublishedChanges: null,
  });
  state.isReachable = true;
  overload.observe({ residentPercent: overloadBounds.residentPercentHardPressed, heapPercent: 0, loopDelayMs: 0 });
  t.match(await ask('GET', '/health'), { status: 503 });
});

t.test('a caller is told who it is', async (t) => {
  t.same((await (await scene(t)).ask('GET', '/whoami')).body, { subject: 'ann', role: 'admin', teams: [] });
  const { ask } = await scene(t, true);
  const who = async (claims: object): Promise<unknown> => (await ask('GET', '/whoami', { claims: { ...claims } })).body;
  t.same(await who({ role: 'editor', teams: ['ops'] }), { subject: 'ann', role: 'editor', teams: ['ops'] });
  t.same(await who({}), { subject: 'ann', role: null, teams: [] });
});

t.test('members may be in snake_case, but in one spelling alone', async (t) => {
  const { ask } = await scene(t);
  const twice = await ask('POST', '/compositions', { payload: '{"name":"c","servers":[],"is_a":1,"isA":2}' });
  t.match(twice, { status: 422, body: { detail: 'isA is given twice, also as isA: send only one of them' } });
});
