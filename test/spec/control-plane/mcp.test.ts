// Decisions section 3: the aggregate MCP endpoint, with sessions and without, and a composition as one MCP server.
import t, { type Test } from 'tap';
import {
  forEachStore,
  newName,
  startControlPlane,
  type ApiCaller,
  type ApiRequest,
} from '../../support/control-plane.js';
import { listingBackend } from './listing-backend.js';
import { createCertificates } from '../../support/certificates.js';
import { backendFor } from '../../support/deployment.js';
import { startMcpBackend } from '../../support/mcp-backend.js';
import type { HeaderList, HttpAnswer } from '../../support/raw-http.js';
import { connectSdkClient } from '../../support/sdk-client.js';
import { until } from '../../support/until.js';

type Json = Record<string, unknown>;

const jsonHeaders: HeaderList = [
  ['accept', 'application/json'],
  ['content-type', 'application/json'],
];

async function rpc(caller: ApiCaller, path: string, method: string, params?: unknown): Promise<HttpAnswer> {
  return caller.send('POST', path, { body: { jsonrpc: '2.0', id: 1, method, params }, headers: jsonHeaders });
}

async function toolNames(caller: ApiCaller, path: string): Promise<string[]> {
  const answer = await rpc(caller, path, 'tools/list');
  const { result } = answer.json() as { result: { tools: { name: string }[] } };
  return result.tools.map(({ name }) => name);
}

async function register(
  t: Test,
  caller: ApiCaller,
  tools: readonly (string | Readonly<Record<string, unknown>>)[],
): Promise<string> {
  const backend = await backendFor(t, { tools, withSessions: true });
  const name = newName('server');
  t.equal((await caller.post('/servers', { name, url: backend.url })).status, 201);
  return name;
}

await forEachStore(t, {}, async (t, controlPlane) => {
  await t.test('POST /mcp: a bare tools/list and tools/call, without a session', async (t) => {
    const caller = await controlPlane.caller(t);
    const name = await register(t, caller, ['echo', 'other']);
    const names = await toolNames(caller, '/mcp');
    t.same(
      names.filter((tool) => tool.startsWith(name)),
      [`${name}-echo`, `${name}-other`],
    );
    const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
    const headers = { authorization: `Bearer ${caller.token}`, ...Object.fromEntries(jsonHeaders) };
    const withSlash = await fetch(`${controlPlane.origin}/mcp/`, { method: 'POST', headers, body });
    t.equal(
      await withSlash.text(),
      (await rpc(caller, '/mcp', 'tools/list')).text,
      'a slash at the end changes nothing',
    );
    const noParams = await rpc(caller, '/mcp', 'tools/list', null);
    t.equal(noParams.status, 200, 'and `null` params are none');
    const called = await rpc(caller, '/mcp', 'tools/call', { name: `${name}-echo`, arguments: { a: [1] } });
    t.equal(called.status, 200);
    t.match(called.json(), { id: 1, result: { structuredContent: { a: [1] } } });
    const unknown = await rpc(caller, '/mcp', 'tools/call', { name: 'nobody-echo' });
    t.match(unknown.json(), { id: 1, error: { code: -32602, message: 'Unknown tool: nobody-echo' } });
  });

  await t.test('POST and DELETE /mcp: with a session, of its subject alone', async (t) => {
    const caller = await controlPlane.caller(t);
    await register(t, caller, ['echo']);
    const opening = await rpc(caller, '/mcp', 'initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'spec', version: '1' },
    });
    t.equal(opening.status, 200);
    t.match(opening.json(), { result: { protocolVersion: '2025-11-25', serverInfo: { name: 'switchyard' } } });
    const session: [string, string] = ['mcp-session-id', opening.header('mcp-session-id') ?? ''];
    const ping = { body: { jsonrpc: '2.0', id: 2, method: 'ping' }, headers: [session] };
    t.equal((await caller.send('POST', '/mcp', ping)).status, 200);
    const note = { body: { jsonrpc: '2.0', method: 'notifications/initialized' }, headers: [session] };
    t.equal((await caller.send('POST', '/mcp', note)).status, 202);
    t.equal((await (await controlPlane.caller(t)).send('POST', '/mcp', ping)).status, 404);
    t.equal((await caller.send('DELETE', '/mcp', { headers: [session] })).status, 200);
    t.equal((await caller.send('POST', '/mcp', ping)).status, 404);
  });

  await t.test('the real client of the SDK lists and calls', async (t) => {
    const caller = await controlPlane.caller(t);
    const name = await register(t, caller, ['echo']);
    const { client } = await connectSdkClient(t, `${controlPlane.origin}/mcp`, caller.token);
    const { tools } = await client.listTools();
    t.ok(tools.some((tool) => tool.name === `${name}-echo`));
    t.match(await client.callTool({ name: `${name}-echo`, arguments: { x: 1 } }), { structuredContent: { x: 1 } });
  });

  await t.test('/mcp?exposure=search: two tools, which find and call the tools of all servers', async (t) => {
    const caller = await controlPlane.caller(t);
    const page = { name: 'page', inputSchema: { type: 'object' }, _meta: { ui: { resourceUri: 'ui://page' } } };
    const name = await register(t, caller, ['zebra', 'other', page]);
    const path = '/mcp?exposure=search';
    const listed = await toolNames(caller, path);
    t.same(listed.slice(0, 2), ['call_tool', 'find_tools']);
    t.same(
      listed.filter((tool) => tool.startsWith(name)),
      [`${name}-page`],
      'hosts show only the pages of listed tools',
    );
    t.ok((await toolNames(caller, '/mcp?exposure=all')).includes(`${name}-zebra`));
    const call = async (at: string, tool: string, args: unknown, headers: HeaderList = []): Promise<Json> => {
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: args } };
      return (await caller.send('POST', at, { body, headers: [...jsonHeaders, ...headers] })).json() as Json;
    };
    const found = await call(path, 'find_tools', { query: `${name} zebra`, limit: 1 });
    t.match(found, { result: { structuredContent: { tools: [{ name: `${name}-zebra` }] } } });
    const wrapped = { name: `${name}-zebra`, arguments: { a: [1] } };
    t.match(await call(path, 'call_tool', wrapped), { result: { structuredContent: { a: [1] } } });
    t.match(await call('/mcp', 'call_tool', wrapped), { error: { message: 'Unknown tool: call_tool' } });
    const opening = await rpc(caller, path, 'initialize', {
      ...{ protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'spec', version: '1' } },
    });
    const session: [string, string] = ['mcp-session-id', opening.header('mcp-session-id') ?? ''];
    t.match(await call(path, 'call_tool', wrapped, [session]), { result: { structuredContent: { a: [1] } } });
    const ping = { body: { jsonrpc: '2.0', id: 2, method: 'ping' }, headers: [session] };
    t.equal((await caller.send('POST', '/mcp', ping)).status, 404, 'a session is of the form in which it was opened');
    t.equal((await caller.send('DELETE', path, { headers: [session] })).status, 200);
    const unknown = await rpc(caller, '/mcp?exposure=some', 'tools/list');
    t.equal(unknown.status, 422);
    t.match(unknown.text, /exposure must be one of all, search/);
  });

  await t.test('tasks pass through /mcp and compositions, with the ids of their servers', async (t) => {
    const caller = await controlPlane.caller(t);
    const task = { taskId: 't', status: 'working' };
    const backend = await backendFor(t, {
      tools: ['a', 'b'],
      capabilities: { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
      onCall: () => ({ task }),
      methods: {
        'tasks/get': () => task,
        'tasks/list': () => ({ tasks: [task] }),
      },
    });
    const name = newName('server');
    t.equal((await caller.post('/servers', { name, url: backend.url })).status, 201);
    const compose = async (tools: readonly string[]): Promise<string> => {
      const body = { name: newName('composed'), servers: [{ name, tools }], subjects: [caller.subject] };
      const answer = await caller.post('/compositions', body);
      t.ok(answer.status < 300, answer.text);
      return `/servers/${String((answer.json() as Json).name)}/mcp`;
    };
    const told = { ...task, taskId: `${name}-t` };
    for (const path of ['/mcp', await compose(['b'])]) {
      const called = await rpc(caller, path, 'tools/call', { name: `${name}-b`, task: {} });
      t.match(called.json(), { result: { task: told } }, path);
      t.match((await rpc(caller, path, 'tasks/get', { taskId: `${name}-t` })).json(), { result: told }, path);
      const { result } = (await rpc(caller, path, 'tasks/list')).json() as { result: { tasks: unknown[] } };
      t.same(
        result.tasks.filter((listed) => (listed as Json).taskId === `${name}-t`),
        [told],
      );
    }
  });

  await t.test('GET /mcp: 400 without a session, 406 without the event stream', async (t) => {
    const caller = await controlPlane.caller(t);
    const statusFor = async (accept: string): Promise<number> =>
      (await caller.send('GET', '/mcp', { headers: [['accept', accept]] })).status;
    t.equal(await statusFor('text/event-stream'), 400);
    t.equal(await statusFor('application/json'), 406);
  });

  await t.test('/mcp: 400, 406 and 415 as on the dataplane', async (t) => {
    const caller = await controlPlane.caller(t);
    const send = async (request: ApiRequest): Promise<number> => (await caller.send('POST', '/mcp', request)).status;
    const type: [string, string] = ['content-type', 'application/json'];
    t.equal(await send({ text: '{"jsonrpc"', headers: [type] }), 400);
    t.equal(await send({ text: '[]', headers: [type] }), 400);
    t.equal(await send({ text: '{}', headers: [type] }), 400);
    t.equal(await send({ text: '{}', headers: [['content-type', 'text/plain']] }), 415);
    t.equal(await send({ text: '{}', headers: [type, ['accept', 'image/png']] }), 406);
  });

  await t.test('what a client of a later or an older MCP begins with: as on the dataplane', async (t) => {
    const caller = await controlPlane.caller(t);
    const name = await register(t, caller, ['echo']);
    const post = async (body: unknown, headers: HeaderList = []): Promise<HttpAnswer> =>
      caller.send('POST', '/mcp', { body, headers: [...jsonHeaders, ...headers] });
    for (const version of ['2026-01-01', '2025-11-25']) {
      const discover = { jsonrpc: '2.0', id: 'a', method: 'server/discover', params: {} };
      const answer = await post(discover, [['mcp-protocol-version', version]]);
      t.equal(answer.status, 400, version);
      t.match(answer.json(), { id: 'a', error: { code: -32601, message: /initialize/ } }, version);
    }
    const known = { jsonrpc: '2.0', id: 'b', method: 'tools/list' };
    const unclaimed = await post(known, [['mcp-protocol-version', '2026-07-28']]);
    t.match(unclaimed.json(), { id: 'b', error: { code: -32602, message: /_meta/ } });
    const foreign = await post(known, [['mcp-protocol-version', '2026-01-01']]);
    t.match(foreign.json(), { id: 'b', error: { code: -32000, message: /mcp-protocol-version/ } });
    const clientInfo = { name: 'old', version: '1' };
    const params = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo };
    const opening = await post({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
    t.match(opening.json(), { result: { protocolVersion: '2025-03-26' } });
    const session = [['mcp-session-id', opening.header('mcp-session-id') ?? '']] as const;
    const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: `${name}-echo`, arguments: { n: 1 } } };
    const batch = await post([call, { jsonrpc: '2.0', id: 3, method: 'ping' }], session);
    t.match(batch.json(), [
      { id: 2, result: { structuredContent: { n: 1 } } },
      { id: 3, result: {} },
    ]);
    t.match((await post([call])).json(), { error: { code: -32600 } }, 'without a session there are no batches');
  });

  await t.test('POST /servers/{compositionId}/mcp: exactly its tools, for its subjects', async (t) => {
    const caller = await controlPlane.caller(t);
    const [first, second] = [await register(t, caller, ['a', 'b']), await register(t, caller, ['c', 'd'])];
    const answer = await caller.post('/compositions', {
      name: newName('composed'),
      servers: [
        { name: first, tools: ['b'] },
        { name: second, tools: ['c', 'd'] },
      ],
    });
    const { id, name } = answer.json() as { id: string; name: string };
    for (const reference of [id, name]) {
      const path = `/servers/${reference}/mcp`;
      t.same(await toolNames(caller, path), [`${first}-b`, `${second}-c`, `${second}-d`].sort());
      const called = await rpc(caller, path, 'tools/call', { name: `${second}-c`, arguments: { x: 1 } });
      t.match(called.json(), { result: { structuredContent: { x: 1 } } });
      const refused = await rpc(caller, path, 'tools/call', { name: `${first}-a`, arguments: {} });
      t.match(refused.json(), { error: { code: -32602, message: `Unknown tool: ${first}-a` } });
    }
    const stranger = await controlPlane.caller(t);
    t.equal((await rpc(stranger, `/servers/${id}/mcp`, 'tools/list')).status, 404);
    t.equal((await rpc(caller, `/servers/${first}/mcp`, 'tools/list')).status, 404, 'a server is no composition');
    t.equal((await rpc(caller, '/servers/nobody/mcp', 'tools/list')).status, 404);
  });

  await t.test('an inactive or disabled server has no tools on /mcp', async (t) => {
    const caller = await controlPlane.caller(t);
    const backend = await startMcpBackend({ tools: ['echo'] });
    t.teardown(() => backend.close());
    const name = newName('server');
    const isListed = async (): Promise<boolean> => (await toolNames(caller, '/mcp')).includes(`${name}-echo`);
    await caller.post('/servers', { name, url: backend.url });
    t.ok(await isListed());
    await caller.put(`/servers/${name}`, { name, url: backend.url, enabled: false });
    t.notOk(await isListed());
    await caller.put(`/servers/${name}`, { name, url: backend.url, enabled: true });
    t.ok(await isListed());
    await backend.close();
    await until(
      async () => ((await caller.post(`/servers/${name}/refresh`)).json() as Json)['status'] === 'inactive',
      'the refresh to see it',
    );
    t.notOk(await isListed());
  });

  await t.test('prompts and resources: /mcp has those of all servers, a composition those that it names', async (t) => {
    const caller = await controlPlane.caller(t);
    const backend = await listingBackend(t);
    const name = newName('server');
    t.equal((await caller.post('/servers', { name, url: backend.url })).status, 201);
    const listed = async (path: string, method: string, member: string, key: string): Promise<unknown> => {
      const { result } = (await rpc(caller, path, method)).json() as {
        result: Record<string, Record<string, string>[]>;
      };
      return result[member]
        ?.map((item) => item[key])
        .filter((each) => each?.startsWith(`${name.replaceAll('_', '.5f')}`));
    };
    const uris = [`${name}+test://x`, `${name}+test://y`];
    t.same(await listed('/mcp', 'prompts/list', 'prompts', 'name'), [`${name}-a`, `${name}-b`]);
    t.same(await listed('/mcp', 'resources/list', 'resources', 'uri'), uris);
    t.match((await rpc(caller, '/mcp', 'resources/read', { uri: uris[0] })).json(), {
      result: { contents: [{ uri: uris[0] }] },
    });

    const composed = newName('composed');
    const tools = { name: composed, servers: [{ name, tools: ['echo'] }] };
    t.equal((await caller.post('/compositions', tools)).status, 201);
    const path = `/servers/${composed}/mcp`;
    t.same(await listed(path, 'prompts/list', 'prompts', 'name'), []);
    t.same(await listed(path, 'resources/list', 'resources', 'uri'), []);
    t.match((await rpc(caller, path, 'prompts/get', { name: `${name}-a` })).json(), { error: { code: -32602 } });
    t.match((await rpc(caller, path, 'resources/read', { uri: uris[0] })).json(), { error: { code: -32002 } });

    const servers = [{ name, tools: [], prompts: ['b'], resources: ['y', 'test://of/{id}'] }];
    const changed = await caller.put(`/compositions/${composed}`, { name: composed, servers });
    t.equal(changed.status, 200);
    t.match(changed.json(), { servers });
    t.same(await toolNames(caller, path), []);
    t.match((await rpc(caller, path, 'tools/call', { name: `${name}-echo` })).json(), { error: { code: -32602 } });
    t.same(await listed(path, 'prompts/list', 'prompts', 'name'), [`${name}-b`]);
    t.same(await listed(path, 'resources/list', 'resources', 'uri'), [uris[1]]);
    t.match((await rpc(caller, path, 'prompts/get', { name: `${name}-b` })).json(), { result: {} });
    t.match((await rpc(caller, path, 'resources/read', { uri: uris[1] })).json(), { result: {} });
    t.match((await rpc(caller, path, 'resources/read', { uri: `${name}+test://of/1` })).json(), { result: {} });
    t.match((await rpc(caller, path, 'resources/read', { uri: uris[0] })).json(), { error: { code: -32002 } });
  });
});

await t.test(
  '--upstream-ca: servers with certificates of the operator’s own authority are active, and can be called',
  async (t) => {
    const { authority, server } = createCertificates(t);
    const controlPlane = await startControlPlane(t, { options: ['--upstream-ca', authority.certificatePath] });
    const caller = await controlPlane.caller(t);
    const tls = { cert: server.certificate, key: server.privateKey };
    const answer = await caller.post('/servers', { name: 'inner', url: (await backendFor(t, { tls })).url });
    t.match(answer.json(), { status: 'active' });
    const [name] = await toolNames(caller, '/mcp');
    t.match((await rpc(caller, '/mcp', 'tools/call', { name, arguments: {} })).json(), { result: {} });
  },
);

await t.test('--upstream-connection-mode tls-only: servers over plain http are inactive, with a reason', async (t) => {
  const controlPlane = await startControlPlane(t, { options: ['--upstream-connection-mode', 'tls-only'] });
  const caller = await controlPlane.caller(t);
  const backend = await backendFor(t);
  const answer = await caller.post('/servers', { name: 'plain', url: backend.url });
  t.equal(answer.status, 201);
  t.match(answer.json(), { status: 'inactive', lastError: /--upstream-connection-mode plain-text-or-tls/ });
  t.same(await toolNames(caller, '/mcp'), []);
});
