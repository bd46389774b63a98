// Decisions section 3: the compositions' endpoints, and that the dataplane obeys a change from the next request on.
import t, { type Test } from 'tap';
import { writeConfig } from '../../support/config-writer.js';
import {
  detailOf,
  forEachStore,
  newName,
  startControlPlane,
  type ApiCaller,
  type ControlPlane,
} from '../../support/control-plane.js';
import { listingBackend } from './listing-backend.js';
import { backendFor } from '../../support/deployment.js';
import { startGateway, verifyWith, type Gateway } from '../../support/gateway.js';
import { McpCaller, rpc, type RpcMessage } from '../../support/mcp-caller.js';
import type { HttpAnswer } from '../../support/raw-http.js';
import { until } from '../../support/until.js';

const UNREACHABLE_URL = 'http://127.0.0.1:1/mcp';
const MEMBERS = ['createdAt', 'description', 'id', 'missingTools', 'name', 'servers', 'subjects', 'updatedAt'];

type Json = Record<string, unknown>;

async function registerBackend(t: Test, caller: ApiCaller, tools: readonly string[]): Promise<string> {
  const backend = await backendFor(t, { tools });
  const name = newName('server');
  const answer = await caller.post('/servers', { name, url: backend.url });
  t.equal(answer.status, 201);
  return name;
}

async function compose(caller: ApiCaller, input: Json, query = ''): Promise<Json> {
  const answer = await caller.post(`/compositions${query}`, input);
  if (answer.status !== 201) throw new Error(`not composed: ${answer.status} ${answer.text}`);
  return answer.json() as Json;
}

/** The tool names that a subject sees on the dataplane, or the status if it is refused. */
async function toolsOnDataplane(
  dataplane: Gateway,
  controlPlane: ControlPlane,
  subject: string,
  compositionId: unknown,
): Promise<string[] | number> {
  const caller = new McpCaller(
    dataplane.origin,
    dataplane.path(String(compositionId)),
    await controlPlane.token(subject),
  );
  const opening = await caller.initialize({ accept: 'application/json' });
  if (opening.status !== 200) return opening.status;
  const session = await caller.openSession();
  const answer = await session.list({ accept: 'application/json' });
  const { result } = answer.json() as { result: { tools: { name: string }[] } };
  return result.tools.map(({ name }) => name);
}

await forEachStore(t, {}, async (t, controlPlane) => {
  const dataplane = await startGateway(t, {
    storeOptions: controlPlane.storeOptions,
    keyOptions: verifyWith(controlPlane.key),
    upstreamConnectionMode: 'plain-text-or-tls',
  });

  await t.test('POST /compositions: 201, Location, for the caller unless subjects are named', async (t) => {
    const caller = await controlPlane.caller(t);
    const server = await registerBackend(t, caller, ['one', 'two']);
    const input = { name: newName('Mine'), description: 'One of two.', servers: [{ name: server, tools: ['one'] }] };
    const answer = await caller.post('/compositions', input);
    t.equal(answer.status, 201);
    const composition = answer.json() as Json;
    t.same(Object.keys(composition).sort(), MEMBERS);
    t.match(composition, { ...input, id: /^[0-9a-f]{32}$/, subjects: [caller.subject], missingTools: { length: 0 } });
    t.equal(answer.header('location'), `/compositions/${String(composition['id'])}`);
    t.same((await caller.get(answer.header('location') ?? '')).json(), composition);
    const { id } = composition;
    t.same(await toolsOnDataplane(dataplane, controlPlane, caller.subject, id), [`${server}-one`]);
  });

  await t.test('exposure search: tools are searched for, on the dataplane and here, until it is changed', async (t) => {
    const caller = await controlPlane.caller(t);
    const server = await registerBackend(t, caller, ['one', 'two']);
    const said = { name: newName('many'), servers: [{ name: server, tools: ['one'] }] };
    const composition = await compose(caller, { ...said, exposure: 'search' });
    const { id } = composition;
    t.equal(composition['exposure'], 'search');
    const listed = (): Promise<string[] | number> => toolsOnDataplane(dataplane, controlPlane, caller.subject, id);
    t.same(await listed(), ['call_tool', 'find_tools']);
    const path = `/compositions/${String(id)}`;
    t.match((await caller.put(path, said)).json(), { exposure: 'search' }, 'what is not said stays');
    const call = async (name: string, args: Json): Promise<Json> => {
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
      const headers = [['accept', 'application/json']] as const;
      const answer = await caller.send('POST', `/servers/${String(id)}/mcp`, { body, headers });
      return (answer.json() as { result: Json }).result;
    };
    t.match(await call('find_tools', { query: 'one or two' }), {
      structuredContent: { tools: [{ name: `${server}-one` }] },
    });
    const found = (await call('find_tools', { query: 'one or two' }))['structuredContent'] as { tools: unknown[] };
    t.equal(found.tools.length, 1, 'nothing that is not of the composition');
    t.match(await call('call_tool', { name: `${server}-one`, arguments: { v: 7 } }), { structuredContent: { v: 7 } });
    t.match(await call('call_tool', { name: `${server}-two` }), { isError: true });
    const patch = async (exposure: unknown): Promise<HttpAnswer> =>
      caller.send('PATCH', path, { body: { exposure }, headers: [['content-type', 'application/merge-patch+json']] });
    t.notOk('exposure' in ((await patch(null)).json() as Json));
    t.same(await listed(), [`${server}-one`]);
    t.equal((await patch('some')).status, 422);
    t.match((await patch('search')).json(), { exposure: 'search' });
    t.same(await listed(), ['call_tool', 'find_tools']);
  });

  await t.test('subjects: each of them and nobody else may use it', async (t) => {
    const caller = await controlPlane.caller(t);
    const server = await registerBackend(t, caller, ['one', 'two']);
    const subjects = [newName('s'), newName('s')];
    const servers = [{ name: server, tools: ['two'] }];
    const { id } = await compose(caller, { name: newName('theirs'), servers, subjects });
    for (const subject of subjects) {
      t.same(await toolsOnDataplane(dataplane, controlPlane, subject, id), [`${server}-two`]);
    }
    t.equal(
      await toolsOnDataplane(dataplane, controlPlane, caller.subject, id),
      400,
      'the caller has no config at all',
    );
  });

  await t.test('prompts and resources: the dataplane has those that a composition names, and no others', async (t) => {
    const caller = await controlPlane.caller(t);
    const backend = await listingBackend(t);
    const name = newName('server');
    t.equal((await caller.post('/servers', { name, url: backend.url })).status, 201);
    const composition = newName('given');
    const servers = [{ name, tools: [], prompts: ['b'], resources: ['y', 'test://of/{id}'] }];
    const { id } = await compose(caller, { name: composition, servers });
    const path = dataplane.path(String(id));
    const session = await new McpCaller(dataplane.origin, path, caller.token ?? '').openSession();
    const ask = async (method: string, params: Json = {}): Promise<RpcMessage> =>
      rpc(await session.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })));
    const check = async (
      prompts: readonly string[],
      uris: readonly string[],
      templates: readonly string[],
    ): Promise<void> => {
      const listed = async (method: string, member: string, key: string): Promise<unknown[]> =>
        ((await ask(method)).result as Record<string, Json[]>)[member]!.map((item) => item[key]);
      t.same(await listed('prompts/list', 'prompts', 'name'), prompts);
      t.same(await listed('resources/list', 'resources', 'uri'), uris);
      t.same(await listed('resources/templates/list', 'resourceTemplates', 'uriTemplate'), templates);
      for (const prompt of ['a', 'b'].map((each) => `${name}-${each}`)) {
        const error = { code: -32602, message: `Unknown prompt: ${prompt}` };
        const answer = await ask('prompts/get', { name: prompt });
        t.match(answer, prompts.includes(prompt) ? { result: { messages: [] } } : { error }, prompt);
      }
      for (const bare of ['test://x', 'test://y', 'test://of/1', 'test://other/1']) {
        const uri = `${name}+${bare}`;
        const isGiven = uris.includes(uri) || (bare === 'test://of/1' && templates.length > 0);
        const result = { contents: [{ uri }] };
        const answer = await ask('resources/read', { uri });
        t.match(answer, isGiven ? { result } : { error: { code: -32002, data: { uri } } }, uri);
      }
    };
    await check([`${name}-b`], [`${name}+test://y`], [`${name}+test://of/{id}`]);
    t.same(await session.toolNames(), [], 'an empty list is none');
    t.match(await ask('tools/call', { name: `${name}-echo` }), { error: { message: `Unknown tool: ${name}-echo` } });

    const changed = await caller.put(`/compositions/${composition}`, {
      ...{ name: composition, servers: [{ name, tools: ['echo'] }] },
    });
    t.equal(changed.status, 200);
    await check([], [], []);
    t.same(await session.toolNames(), [`${name}-echo`]);
    t.same(backend.requestsOf('tools/call'), []);
  });

  await t.test('POST /compositions: 409 for a name that is taken, in any case', async (t) => {
    const caller = await controlPlane.caller(t);
    const servers = [{ name: await registerBackend(t, caller, ['one']), tools: ['one'] }];
    const name = newName('Taken');
    await compose(caller, { name, servers });
    const answer = await caller.post('/compositions', { name: name.toUpperCase(), servers });
    t.equal(answer.status, 409);
    t.type(detailOf(answer), 'string');
  });

  await t.test('POST /compositions: 422 names the member', async (t) => {
    const caller = await controlPlane.caller(t);
    const server = await registerBackend(t, caller, ['one']);
    const good = { name: newName('good'), servers: [{ name: server, tools: ['one'] }] };
    const bad: readonly (readonly [input: unknown, member: RegExp])[] = [
      [[], /^the body must be an object/],
      [{}, /^name is missing/],
      [{ name: good.name }, /^servers is missing/],
      [{ ...good, name: '' }, /^name must be/],
      [{ ...good, name: 'a/b' }, /^name must be/],
      [{ ...good, servers: {} }, /^servers must be an array/],
      [{ ...good, servers: [7] }, /^servers\.0 must be an object/],
      [{ ...good, servers: [{ name: server }] }, /^servers\.0\.tools is missing/],
      [{ ...good, servers: [{ name: server, tools: 'one' }] }, /^servers\.0\.tools must be a list of names/],
      [{ ...good, servers: [{ name: server, tools: [7] }] }, /^servers\.0\.tools\.0 must be a string/],
      [{ ...good, servers: [{ name: server, tools: [] }] }, /^servers\.0\.tools must name at least one/],
      [
        { ...good, servers: [{ name: server, tool: ['one'], tools: ['one'] }] },
        /^servers\.0\.tool is not a known member/,
      ],
      [{ ...good, servers: [{ name: newName('nobody'), tools: ['one'] }] }, /^servers\.0\.name must be the name of a/],
      [{ ...good, subjects: 'x' }, /^subjects must be an array/],
      [{ ...good, subjects: [''] }, /^subjects\.0 /],
      [{ ...good, subject: ['x'] }, /^subject is not a known member/],
    ];
    for (const [input, member] of bad) {
      const answer = await caller.post('/compositions', input);
      t.equal(answer.status, 422, JSON.stringify(input));
      t.match(detailOf(answer), member);
    }
    t.equal((await caller.get(`/compositions/${good.name}`)).status, 404, 'and nothing was composed');
  });

  await t.test('GET /compositions and /compositions/{id}: by id or name; pages; 404', async (t) => {
    const caller = await controlPlane.caller(t);
    const servers = [{ name: await registerBackend(t, caller, ['one']), tools: ['one'] }];
    const names = [newName('!').slice(1), newName('!').slice(1)].map((name) => `-${name}`).sort();
    for (const name of [...names].reverse()) await compose(caller, { name, servers });
    const listed = (await caller.get('/compositions')).json() as Json[];
    t.same(
      listed.map(({ name }) => name).filter((name) => names.includes(String(name))),
      names,
      'sorted by name',
    );
    const page = await caller.get('/compositions?limit=1');
    t.equal((page.json() as Json[]).length, 1);
    t.match(page.header('link'), /^<\/compositions\?limit=1&cursor=[\w-]+>; rel="next"$/);
    const [name = ''] = names;
    const byName = (await caller.get(`/compositions/${name.toUpperCase()}`)).json() as Json;
    t.equal(byName['name'], name);
    t.same((await caller.get(`/compositions/${String(byName['id'])}`)).json(), byName);
    const unknown = await caller.get('/compositions/nobody');
    t.equal(unknown.status, 404);
    t.equal(detailOf(unknown), 'Composition not found: nobody');
  });

  await t.test('PUT /compositions/{id}: 200, obeyed by the next request on the dataplane; 404, 409, 422', async (t) => {
    const caller = await controlPlane.caller(t);
    const server = await registerBackend(t, caller, ['one', 'two', 'three']);
    const name = newName('changing');
    const { id } = await compose(caller, { name, servers: [{ name: server, tools: ['one', 'two'] }] });
    const other = newName('other');
    await compose(caller, { name: other, servers: [{ name: server, tools: ['one'] }] });
    t.same(await toolsOnDataplane(dataplane, controlPlane, caller.subject, id), [`${server}-one`, `${server}-two`]);

    const servers = [{ name: server, tools: ['three'] }];
    const answer = await caller.put(`/compositions/${String(id)}`, { name: `${name}2`, servers });
    t.equal(answer.status, 200);
    t.match(answer.json(), { id, name: `${name}2`, servers, subjects: [caller.subject] });
    t.same(await toolsOnDataplane(dataplane, controlPlane, caller.subject, id), [`${server}-three`]);

    const subjects = [newName('new')];
    t.equal((await caller.put(`/compositions/${name}2`, { name, servers, subjects })).status, 200);
    t.equal(await toolsOnDataplane(dataplane, controlPlane, caller.subject, id), 404, 'no longer one of its subjects');
    t.same(await toolsOnDataplane(dataplane, controlPlane, subjects[0] ?? '', id), [`${server}-three`]);

    t.equal((await caller.put('/compositions/nobody', { name, servers })).status, 404);
    t.equal((await caller.put(`/compositions/${name}`, { name: other, servers })).status, 409);
    t.equal((await caller.put(`/compositions/${name}`, { name, servers: [], subjects: [7] })).status, 422);
  });

  await t.test('DELETE /compositions/{id}: 204, gone from the dataplane with the next request', async (t) => {
    const caller = await controlPlane.caller(t);
    const server = await registerBackend(t, caller, ['one']);
    const servers = [{ name: server, tools: ['one'] }];
    const [kept, { id, name }] = [
      await compose(caller, { name: newName('kept'), servers }),
      await compose(caller, { name: newName('gone'), servers }),
    ];
    t.equal((await caller.delete(`/compositions/${String(name)}`)).status, 204);
    t.equal(await toolsOnDataplane(dataplane, controlPlane, caller.subject, id), 404);
    t.same(await toolsOnDataplane(dataplane, controlPlane, caller.subject, kept['id']), [`${server}-one`]);
    t.equal((await caller.delete(`/compositions/${String(name)}`)).status, 404);
    t.equal((await caller.get(`/compositions/${String(id)}`)).status, 404);
  });

  await t.test('publishing leaves the virtual hosts of others alone', async (t) => {
    const caller = await controlPlane.caller(t);
    await writeConfig(controlPlane.storeOptions, caller.subject, {
      virtual_hosts: { foreign: { backends: {} } },
      unknown_member: [1.0],
    });
    const servers = [{ name: await registerBackend(t, caller, ['one']), tools: ['one'] }];
    const { id } = await compose(caller, { name: newName('beside'), servers });
    t.same(await toolsOnDataplane(dataplane, controlPlane, caller.subject, 'foreign'), []);
    t.equal((await caller.delete(`/compositions/${String(id)}`)).status, 204);
    t.same(await toolsOnDataplane(dataplane, controlPlane, caller.subject, 'foreign'), []);
  });

  await t.test('a tool that does not exist is listed in missingTools', async (t) => {
    const caller = await controlPlane.caller(t);
    const server = await registerBackend(t, caller, ['one']);
    const away = newName('away');
    await caller.post('/servers', { name: away, url: UNREACHABLE_URL });
    const servers = [
      { name: server, tools: ['one', 'none'] },
      { name: away, tools: ['far'] },
    ];
    const composition = await compose(caller, { name: newName('partly'), servers }, '?force=true');
    t.match(composition, {
      servers,
      missingTools: [
        { server, tool: 'none' },
        { server: away, tool: 'far' },
      ],
    });
    t.equal((await caller.delete(`/servers/${server}`)).status, 204);
    const after = (await caller.get(`/compositions/${String(composition['id'])}`)).json() as Json;
    t.match(after, { servers, missingTools: [{ server, tool: 'one' }, {}, {}] });
  });
});

await t.test('a change is answered when the wait is over, even if it is not yet published', async (t) => {
  const setup = { options: ['--publication-wait', '1ms'] };
  await forEachStore(t, setup, async (t, controlPlane) => {
    const caller = await controlPlane.caller(t);
    const subjects = Array.from({ length: 300 }, (_, n) => `subject-${n}`);
    const published = async (): Promise<boolean> => {
      const { unpublishedChanges } = (await caller.get('/version')).json() as { unpublishedChanges: number };
      return unpublishedChanges === 0;
    };
    const checkUnfinished = (answer: HttpAnswer): void => {
      t.equal(answer.status, 202);
      const left = Number(answer.header('switchyard-unpublished'));
      t.ok(left > 0 && left <= subjects.length, `${left} are left`);
    };
    const backend = await backendFor(t, { tools: ['one', 'two'] });
    // With so short a wait, it may end before it is known that no subject has a composition with a new server: 202 or 201.
    t.ok((await caller.post('/servers', { name: 'tools', url: backend.url })).status < 300);
    const dataplane = await startGateway(t, {
      storeOptions: controlPlane.storeOptions,
      keyOptions: verifyWith(controlPlane.key),
      upstreamConnectionMode: 'plain-text-or-tls',
    });
    const input = { name: 'Desk', servers: [{ name: 'tools', tools: ['one'] }], subjects };
    const created = await caller.post('/compositions', input);
    checkUnfinished(created);
    const location = created.header('location') ?? '';
    const { id } = created.json() as Json;
    t.same((await caller.get(location)).json(), created.json(), 'the composition is there at once');
    await until(published, 'the composition to be published');
    for (const subject of [subjects[0], subjects[299]]) {
      t.same(await toolsOnDataplane(dataplane, controlPlane, subject ?? '', id), ['tools-one']);
    }
    checkUnfinished(await caller.put(location, { ...input, servers: [{ name: 'tools', tools: ['two'] }] }));
    await until(published, 'the change to be published');
    t.same(await toolsOnDataplane(dataplane, controlPlane, 'subject-150', id), ['tools-two']);
    checkUnfinished(await caller.put('/servers/tools', { name: 'renamed', url: backend.url }));
    await until(published, 'the new name to be published');
    t.same(await toolsOnDataplane(dataplane, controlPlane, 'subject-151', id), ['renamed-two']);
    const removed = await caller.delete(location);
    checkUnfinished(removed);
    t.equal(removed.text, '');
    await until(published, 'the removal to be published');
    t.equal(await toolsOnDataplane(dataplane, controlPlane, 'subject-152', id), 400);
  });
});

await t.test('options set the shares of makers', async (t) => {
  const options = ['--max-servers', '2', '--max-compositions', '3', '--max-compositions-per-maker', '2'];
  const bytes = ['--max-published-bytes-per-maker', '2KiB', '--max-config-bytes-per-maker', '1KiB'];
  const controlPlane = await startControlPlane(t, {
    options: [...options, ...bytes, '--max-composed-bytes-per-maker', '64KiB'],
  });
  const [one, other] = [await controlPlane.caller(t), await controlPlane.caller(t)];
  const servers = [{ name: await registerBackend(t, one, ['a']), tools: ['a'] }];
  await registerBackend(t, one, ['a']);
  const refused = async (
    caller: ApiCaller,
    path: string,
    input: Json,
    status: number,
    words: RegExp,
  ): Promise<void> => {
    const answer = await caller.post(path, input);
    t.equal(answer.status, status);
    t.match(detailOf(answer), words);
  };
  await refused(one, '/servers', { name: 'third', url: UNREACHABLE_URL }, 409, /No more than 2 servers/);
  const tools = Array.from({ length: 50 }, (_, n) => `a-tool-with-a-name-${n}`);
  const large = { servers: [{ ...servers[0], tools }] };
  await refused(
    one,
    '/compositions?force=true',
    { name: 'c', ...large },
    422,
    /at most 1024 are allowed for one maker/,
  );
  const subjects = Array.from({ length: 20 }, (_, n) => `subject-${n}`);
  await refused(
    one,
    '/compositions',
    { name: 'c', servers, subjects },
    409,
    /at most 2048 are allowed: name fewer subjects/,
  );
  const description = 'x'.repeat(4_000);
  const many = Array.from({ length: 1_000 }, (_, n) => `${String(n).padStart(100, '0')}`);
  await refused(
    one,
    '/compositions',
    { name: 'c', servers: [], description, subjects: many },
    409,
    /at most 65536 are allowed$/,
  );
  for (const name of ['first', 'second']) await compose(one, { name, servers });
  await refused(one, '/compositions', { name: 'third', servers }, 409, /You have 2 compositions, which is the maximum/);
  await compose(other, { name: 'third', servers });
  await refused(other, '/compositions', { name: 'fourth', servers }, 409, /no more than 3 compositions/);
});
