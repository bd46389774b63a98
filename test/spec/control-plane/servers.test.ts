// Decisions section 3: the registry's endpoints, the record, names, URLs and status.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { detailOf, forEachStore, newName, type ApiCaller } from '../../support/control-plane.js';
import { backendFor } from '../../support/deployment.js';
import { until } from '../../support/until.js';

const UNREACHABLE_URL = 'http://127.0.0.1:1/mcp';
const RECORD_MEMBERS = [
  ...[
    'capabilities',
    'createdAt',
    'description',
    'enabled',
    'era',
    'eras',
    'id',
    'lastError',
    'lastRefreshAt',
    'lastSeen',
    'name',
    'promptCount',
  ],
  ...[
    'reachable',
    'resourceCount',
    'serverInfo',
    'slug',
    'status',
    'tags',
    'templateCount',
    'toolCount',
    'transport',
    'updatedAt',
    'url',
  ],
];

type Json = Record<string, unknown>;

/** Registers a server. Returns its record. */
async function register(caller: ApiCaller, input: Json): Promise<Json> {
  const answer = await caller.post('/servers', input);
  if (answer.status !== 201) throw new Error(`not registered: ${answer.status} ${answer.text}`);
  return answer.json() as Json;
}

async function statusOf(caller: ApiCaller, name: string): Promise<unknown> {
  return ((await caller.get(`/servers/${name}`)).json() as Json)['status'];
}

await forEachStore(t, { options: ['--health-check-interval', '250ms'] }, async (t, controlPlane) => {
  await t.test('POST /servers: 201, the whole record, Location', async (t) => {
    const caller = await controlPlane.caller(t);
    const backend = await backendFor(t, {
      name: 'echoes',
      tools: ['one', 'two'],
      capabilities: { tools: {}, prompts: {}, resources: {} },
      methods: {
        'prompts/list': (params) =>
          params?.includes('cursor') === true
            ? { prompts: [{ name: 'c' }] }
            : { prompts: [{ name: 'a' }, { name: 'b' }, {}], nextCursor: 'x' },
      },
    });
    const name = newName('Up');
    const input = { name, url: backend.url, description: 'Says it again.', tags: ['x', 'y'] };
    const answer = await caller.post('/servers', input);
    t.equal(answer.status, 201);
    const record = answer.json() as Json;
    t.same(Object.keys(record).sort(), RECORD_MEMBERS);
    t.match(record, {
      ...input,
      id: /^[0-9a-f]{32}$/,
      slug: name.toLowerCase(),
      transport: 'STREAMABLEHTTP',
      status: 'active',
      enabled: true,
      reachable: true,
      toolCount: 2,
      promptCount: 3,
      // The server refuses to list resources, and serves its tools all the same.
      resourceCount: 0,
      capabilities: { tools: {} },
      serverInfo: { name: 'echoes' },
      era: 'legacy',
      lastError: null,
    });
    t.equal(answer.header('location'), `/servers/${String(record['id'])}`);
    t.same((await caller.get(answer.header('location') ?? '')).json(), record);
  });

  await t.test('POST /servers: a server that cannot be reached is stored as inactive', async (t) => {
    const caller = await controlPlane.caller(t);
    const record = await register(caller, { name: newName('down'), url: UNREACHABLE_URL });
    t.match(record, { status: 'inactive', reachable: false, toolCount: 0, serverInfo: null, lastSeen: null });
    t.type(record['lastError'], 'string');
    t.notOk(String(record['lastError']).includes('127.0.0.1'), 'the reason names no address');
    t.match(record, { description: '', tags: { length: 0 } });
  });

  await t.test(
    'GET /servers/{server}/health: every change of its health, for as long as the server is registered',
    async (t) => {
      const caller = await controlPlane.caller(t);
      const backend = await backendFor(t, {});
      const name = newName('moody');
      const healthOf = async (reference: string): Promise<Json[]> =>
        (await caller.get(`/servers/${reference}/health`)).json() as Json[];
      const { id } = await register(caller, { name, url: backend.url });
      const begun = { status: 'active', reachable: true, error: null, at: /^\d{4}-.*Z$/ };
      const refresh = async (): Promise<unknown> => caller.post(`/servers/${String(id)}/refresh`);
      await refresh();
      const [first, ...none] = await healthOf(name);
      t.match(first, begun);
      t.same(none, [], 'nothing new, no entry');
      await backend.close();
      await refresh();
      await backend.raw.listenAgain();
      await refresh();
      const renamed = newName('calm');
      t.equal((await caller.put(`/servers/${name}`, { name: renamed, url: backend.url })).status, 200);
      const history = await healthOf(renamed);
      // A health check in between may have found another reason.
      const [latest, ...failed] = history.slice(0, -1);
      t.match([latest, history.at(-1)], [begun, first], 'the latest first');
      t.ok(failed.length > 0 && failed.every(({ reachable }) => reachable === false));
      t.match(failed[0], { status: 'inactive', error: String });
      t.notMatch(JSON.stringify(failed), '127.0.0.1', 'the reason names no address');
      t.equal((await caller.delete(`/servers/${renamed}`)).status, 204);
      t.equal((await caller.get(`/servers/${String(id)}/health`)).status, 404);
    },
  );

  await t.test('POST /servers: 409 for a name that is taken, in any case', async (t) => {
    const caller = await controlPlane.caller(t);
    const name = newName('Taken');
    await register(caller, { name, url: UNREACHABLE_URL });
    for (const same of [name, name.toUpperCase()]) {
      const answer = await caller.post('/servers', { name: same, url: UNREACHABLE_URL });
      t.equal(answer.status, 409);
      t.match(detailOf(answer), /already registered/);
    }
  });

  await t.test('POST /servers: exactly one of many at once gets a name', async (t) => {
    const caller = await controlPlane.caller(t);
    const input = { name: newName('race'), url: UNREACHABLE_URL };
    const answers = await Promise.all(Array.from({ length: 8 }, async () => caller.post('/servers', input)));
    t.same(answers.map(({ status }) => status).sort(), [201, 409, 409, 409, 409, 409, 409, 409]);
  });

  await t.test('POST /servers: 422 names the member', async (t) => {
    const caller = await controlPlane.caller(t);
    const good = { name: newName('good'), url: UNREACHABLE_URL };
    const bad: readonly (readonly [input: unknown, member: RegExp])[] = [
      [[], /^the body must be an object/],
      ['text', /^the body must be an object/],
      [null, /^the body must be an object/],
      [{}, /^name is missing/],
      [{ name: good.name }, /^url is missing/],
      [{ ...good, name: 7 }, /^name must be a string/],
      [{ ...good, name: '' }, /^name must be/],
      [{ ...good, name: 'a'.repeat(65) }, /^name must be/],
      [{ ...good, name: 'naïve' }, /^name must be/],
      [{ ...good, name: 'a/b' }, /^name must be/],
      [{ ...good, url: 'nowhere' }, /^url must be/],
      [{ ...good, url: 'ftp://a.example/mcp' }, /^url must be an http or https URL/],
      [{ ...good, url: 'http://user:secret@a.example/mcp' }, /^url must not have credentials/],
      [{ ...good, url: 'http://169.254.169.254/mcp' }, /^url must not be a link-local/],
      [{ ...good, url: 'http://[fe80::1]/mcp' }, /^url must not be a link-local/],
      [{ ...good, url: ['http://a.example'] }, /^url must be a string/],
      [{ ...good, tags: 'x' }, /^tags must be an array/],
      [{ ...good, tags: ['x', 7] }, /^tags\.1 must be a string/],
      [{ ...good, tags: ['x', 'a,b'] }, /^tags\.1 must be/],
      [{ ...good, description: 7 }, /^description must be a string/],
      [{ ...good, enabled: 'yes' }, /^enabled must be true or false/],
      [{ ...good, transport: 'STDIO' }, /^transport must be one of STREAMABLEHTTP/],
      [{ ...good, descripton: 'x' }, /^descripton is not a known member/],
    ];
    for (const [input, member] of bad) {
      const answer = await caller.post('/servers', input);
      t.equal(answer.status, 422, JSON.stringify(input));
      t.match(detailOf(answer), member);
      t.notMatch(answer.text, /secret/, 'a URL may hold a secret');
    }
    t.equal((await caller.get(`/servers/${good.name}`)).status, 404, 'and nothing was registered');
  });

  await t.test('POST /servers: 422 for a request without a body', async (t) => {
    const caller = await controlPlane.caller(t);
    const answer = await caller.send('POST', '/servers', { text: '', headers: [['content-type', 'application/json']] });
    t.equal(answer.status, 422);
    t.match(detailOf(answer), /^the body must be an object/);
  });

  await t.test('a record may be sent back as it was read: members that callers may not set are ignored', async (t) => {
    const caller = await controlPlane.caller(t);
    const record = await register(caller, { name: newName('round'), url: UNREACHABLE_URL });
    const answer = await caller.put(`/servers/${String(record['id'])}`, {
      ...record,
      description: 'changed',
      status: 'active',
      toolCount: 99,
    });
    t.equal(answer.status, 200);
    t.match(answer.json(), { description: 'changed', status: 'inactive', toolCount: 0, id: record['id'] });
  });

  await t.test('members may be sent in snake_case, but not in both forms', async (t) => {
    const caller = await controlPlane.caller(t);
    const good = { name: newName('snake'), url: UNREACHABLE_URL };
    const twice = await caller.post('/servers', { ...good, tool_count: 1, toolCount: 1 });
    t.equal(twice.status, 422);
    t.match(detailOf(twice), /^toolCount is given twice/);
    t.equal((await caller.post('/servers', { ...good, tool_count: 1, last_seen: null })).status, 201);
  });

  await t.test('GET /servers/{id}: by name in any case, id and slug; 404 names it', async (t) => {
    const caller = await controlPlane.caller(t);
    const name = `${newName('My')} Server`;
    const record = await register(caller, { name, url: UNREACHABLE_URL });
    for (const reference of [name, name.toUpperCase(), String(record['id']), String(record['slug'])]) {
      const answer = await caller.get(`/servers/${encodeURIComponent(reference)}`);
      t.equal(answer.status, 200, reference);
      t.equal((answer.json() as Json)['id'], record['id']);
    }
    for (const unknown of ['nobody', 'no body', '%F0%9F%9A%80', 'a'.repeat(200)]) {
      const answer = await caller.get(`/servers/${encodeURI(unknown).replaceAll('%25', '%')}`);
      t.equal(answer.status, 404);
      t.equal(detailOf(answer), `Server not found: ${decodeURI(unknown)}`);
    }
    t.same((await caller.send('HEAD', `/servers/${String(record['id'])}`)).body.length, 0);
  });

  await t.test('GET /servers: an array sorted by name, filtered by tags and status', async (t) => {
    const caller = await controlPlane.caller(t);
    const backend = await backendFor(t);
    const [common, b, c] = [newName('common'), newName('b'), newName('c')];
    const names = ['zeta', 'Alpha', 'middle'].map(newName);
    const [zeta = '', alpha = '', middle = ''] = names;
    await register(caller, { name: zeta, url: UNREACHABLE_URL, tags: [common, b] });
    await register(caller, { name: alpha, url: backend.url, tags: [common, c] });
    await register(caller, { name: middle, url: UNREACHABLE_URL, tags: [common] });
    const listed = async (query: string): Promise<unknown[]> => {
      const answer = await caller.get(`/servers?${query}`);
      t.equal(answer.status, 200);
      t.equal(answer.header('link'), undefined);
      return (answer.json() as Json[]).map((record) => record['name']);
    };
    t.same(await listed(`tags=${common}`), [alpha, middle, zeta]);
    t.same(await listed(`tags=${b},${c}`), [alpha, zeta]);
    t.same(await listed(`tags=${b},%20${c}`), [alpha, zeta]);
    t.same(await listed(`tags=${newName('none')}`), []);
    t.same(await listed(`tags=${common}&status=active`), [alpha]);
    t.same(await listed(`tags=${common}&status=inactive`), [middle, zeta]);
    t.ok((await listed('')).length >= 3);
  });

  await t.test('GET /servers: pages, the cursor in a Link header', async (t) => {
    const caller = await controlPlane.caller(t);
    const tag = newName('paged');
    const names = Array.from({ length: 5 }, (_, index) => `${newName('p')}-${index}`).sort();
    for (const name of names) await register(caller, { name, url: UNREACHABLE_URL, tags: [tag] });
    const pages: unknown[][] = [];
    let path: string | undefined = `/servers?tags=${tag}&limit=2`;
    while (path !== undefined) {
      const answer = await caller.get(path);
      pages.push((answer.json() as Json[]).map((record) => record['name']));
      path = /^<(\/servers\?[^>]+)>; rel="next"$/.exec(answer.header('link') ?? '')?.[1];
      // The last name of a page may be removed before the next page is requested.
      if (pages.length === 1) t.equal((await caller.delete(`/servers/${String(names[1])}`)).status, 204);
    }
    t.same(pages, [names.slice(0, 2), names.slice(2, 4), names.slice(4)]);
  });

  await t.test('GET /servers: 422 for a bad query', async (t) => {
    const caller = await controlPlane.caller(t);
    for (const [query, member] of [
      ['limit=0', /^limit /],
      ['limit=x', /^limit must be a whole number/],
      ['limit=1001', /^limit /],
      ['status=gone', /^status must be one of active, inactive/],
      ['cursor=%2A', /^cursor /],
      ['tags=a&tags=b', /^tags must be a string/],
    ] as const) {
      const answer = await caller.get(`/servers?${query}`);
      t.equal(answer.status, 422, query);
      t.match(detailOf(answer), member);
    }
  });

  await t.test('PUT /servers/{id}: 200 record; another URL is probed; 404, 409, 422', async (t) => {
    const caller = await controlPlane.caller(t);
    const backend = await backendFor(t, { tools: ['a', 'b', 'c'] });
    const [name, other] = [newName('put'), newName('other')];
    const { id } = await register(caller, { name, url: UNREACHABLE_URL, description: 'x', tags: ['t'] });
    await register(caller, { name: other, url: UNREACHABLE_URL });
    const answer = await caller.put(`/servers/${name}`, { name: `${name}2`, url: backend.url });
    t.equal(answer.status, 200);
    t.match(answer.json(), { id, name: `${name}2`, status: 'active', toolCount: 3 });
    t.match(answer.json(), { description: 'x', tags: ['t'] }, 'what is left out stays');
    t.equal((await caller.get(`/servers/${name}`)).status, 404, 'the old name is free');
    const disabled = await caller.put(`/servers/${String(id)}`, { name, url: backend.url, enabled: false });
    t.match(disabled.json(), { enabled: false });
    t.equal((await caller.put(`/servers/${newName('x')}`, { name, url: backend.url })).status, 404);
    t.equal((await caller.put(`/servers/${name}`, { name: other, url: backend.url })).status, 409);
    t.equal((await caller.put(`/servers/${name}`, { name, url: 'x' })).status, 422);
  });

  await t.test('DELETE /servers/{id}: 204, and it is gone', async (t) => {
    const caller = await controlPlane.caller(t);
    const name = newName('gone');
    await register(caller, { name, url: UNREACHABLE_URL });
    const answer = await caller.send('DELETE', `/servers/${name}`, { headers: [['content-type', 'application/json']] });
    t.equal(answer.status, 204);
    for (const after of [await caller.delete(`/servers/${name}`), await caller.get(`/servers/${name}/tools`)]) {
      t.equal(after.status, 404);
      t.equal(detailOf(after), `Server not found: ${name}`);
    }
    await register(caller, { name, url: UNREACHABLE_URL });
  });

  await t.test('GET /servers/{id}/tools: the tools last read, with every member', async (t) => {
    const caller = await controlPlane.caller(t);
    const tool = { name: 'special', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } };
    const backend = await backendFor(t, { tools: ['plain', tool], pageSize: 1 });
    const name = newName('tools');
    await register(caller, { name, url: backend.url });
    await backend.close();
    const answer = await caller.get(`/servers/${name}/tools`);
    t.equal(answer.status, 200);
    const tools = answer.json() as Json[];
    t.same(tools.map((each) => each['name']).sort(), ['plain', 'special']);
    t.match(
      tools.find((each) => each['name'] === 'special'),
      tool,
    );
  });

  await t.test('POST /servers/{id}/refresh: reports what has changed, and updates the status either way', async (t) => {
    const caller = await controlPlane.caller(t);
    const tools: (string | Json)[] = ['stays', 'goes', { name: 'changes', inputSchema: { type: 'object' } }];
    const backend = await backendFor(t, { tools });
    const name = newName('refresh');
    await register(caller, { name, url: backend.url });
    tools.splice(1, 2, 'new', 'newer', { name: 'changes', description: 'now', inputSchema: { type: 'object' } });
    const refreshed = await caller.post(`/servers/${name}/refresh`);
    t.equal(refreshed.status, 200);
    const report = refreshed.json() as Json;
    // A health check may have read the new tools before the refresh did.
    t.match(report, { status: 'active', durationMs: Number, refreshedAt: /^\d{4}-/ });
    t.notOk('error' in report);
    t.equal(((await caller.get(`/servers/${name}`)).json() as Json)['toolCount'], 4);

    await backend.raw.close();
    await until(async () => (await caller.post(`/servers/${name}/refresh`)).text.includes('error'), 'the end of it');
    t.equal(await statusOf(caller, name), 'inactive', 'at once');
    await backend.raw.listenAgain();
    t.match((await caller.post(`/servers/${name}/refresh`)).json(), { status: 'active' });
    t.equal(await statusOf(caller, name), 'active', 'at once');
    t.equal((await caller.post(`/servers/${newName('x')}/refresh`)).status, 404);
  });

  await t.test('prompts, resources and templates are counted, and a refresh reports changes of them', async (t) => {
    const caller = await controlPlane.caller(t);
    let round = 0;
    const backend = await backendFor(t, {
      capabilities: { tools: {}, prompts: {}, resources: {} },
      methods: {
        'prompts/list': () => ({ prompts: [{ name: 'stays', title: `${round}` }, { name: `new-${round}` }] }),
        'resources/list': () => ({
          resources: [
            { uri: 'x://stays', name: `${round}` },
            { uri: `x://new-${round}`, name: 'n' },
            { uri: 'x://same', name: 'n' },
          ],
        }),
        'resources/templates/list': () => ({
          resourceTemplates: [
            { uriTemplate: 'x://stays/{id}', name: `${round}` },
            { uriTemplate: `x://new-${round}/{id}`, name: 'n' },
          ],
        }),
      },
    });
    const name = newName('lists');
    const record = await register(caller, { name, url: backend.url });
    t.match(record, { promptCount: 2, resourceCount: 3, templateCount: 2 });
    const changes = ['prompts', 'resources', 'templates'].flatMap((list) =>
      ['Added', 'Updated', 'Removed'].map((change) => `${list}${change}`),
    );
    await until(async () => {
      round += 1;
      const report = (await caller.post(`/servers/${name}/refresh`)).json() as Json;
      // Health checks may run in between, and read some of the changes first.
      return changes.every((change) => report[change] === 1);
    }, 'a refresh that tells one of each');
    t.match((await caller.get(`/servers/${name}`)).json(), { promptCount: 2, resourceCount: 3, templateCount: 2 });
  });

  await t.test('POST /servers/{id}/refresh: 409 while one runs', async (t) => {
    const caller = await controlPlane.caller(t);
    let isHeld = false;
    const held: (() => void)[] = [];
    const backend = await backendFor(t, {
      onRequest: async () => {
        if (isHeld) await new Promise<void>((resolve) => held.push(resolve));
        return false;
      },
    });
    const name = newName('busy');
    await register(caller, { name, url: backend.url });
    isHeld = true;
    const first = caller.post(`/servers/${name}/refresh`);
    await until(async () => (await caller.post(`/servers/${name}/refresh`)).status === 409, 'a second one refused');
    isHeld = false;
    for (const letGo of held) letGo();
    t.equal((await first).status, 200);
    t.equal((await caller.post(`/servers/${name}/refresh`)).status, 200);
  });

  await t.test(
    'health checks: inactive after three failures, active after one success, tools read again',
    async (t) => {
      const caller = await controlPlane.caller(t);
      const tools = ['one'];
      const backend = await backendFor(t, { tools });
      const name = newName('health');
      await register(caller, { name, url: backend.url });
      await backend.raw.close();
      await until(async () => (await statusOf(caller, name)) === 'inactive', 'it to be inactive');
      tools.push('two');
      await backend.raw.listenAgain();
      await until(async () => (await statusOf(caller, name)) === 'active', 'it to be active again');
      await until(
        async () => ((await caller.get(`/servers/${name}`)).json() as Json)['toolCount'] === 2,
        'its tools to be read again',
      );
    },
  );

  await t.test('a server that redirects or answers nonsense affects only itself', async (t) => {
    const caller = await controlPlane.caller(t);
    const redirecting = await startHttp(t, 307, { location: 'http://127.0.0.1:1/' });
    const moved = await startHttp(t, 308, { location: '/mcp/?key=s3cret' });
    const { lastError } = await register(caller, { name: newName('odd'), url: moved });
    t.match(lastError, /^it redirects, .*\(the path \/mcp\/\)$/, 'it says what to register instead');
    const babbling = await startHttp(t, 200, { 'content-type': 'application/json' });
    for (const url of [redirecting, babbling]) {
      t.match(await register(caller, { name: newName('odd'), url }), { status: 'inactive', lastError: String });
    }
  });
});

/** A server that answers every request with one status and nonsense. */
async function startHttp(t: Test, status: number, headers: Record<string, string>): Promise<string> {
  const server = createServer((_request, response) => response.writeHead(status, headers).end('{"nonsense":true}'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}
