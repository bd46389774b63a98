// Servers that require a credential: registered with one, composed, called on both planes, and their secret changed and removed.
// The secret itself appears in no response, log or store.
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { startControlPlane } from '../support/control-plane.js';
import { childEnvironment, programPath, startGateway, storeOptionWords, verifyWith } from '../support/gateway.js';
import { McpCaller, rpc } from '../support/mcp-caller.js';
import { startMcpBackend } from '../support/mcp-backend.js';
import { startSseServer } from '../support/sse-server.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { until } from '../support/until.js';

const FIRST = 'Bearer first-0f8e3c';
const SECOND = 'Bearer second-77aa1b';
const STORED = 'sealed-3b1d9e';
const CHANGED = 'changed-c20f77';
const AUTH = { type: 'headers', headers: { authorization: { file: 'vault' } } };

const secrets = createScratchDirectory(t);
const write = (value: string): void => writeFileSync(join(secrets, 'vault'), `${value}\n`);
write(FIRST);

let accepted = FIRST;
const seen = new Set<string>();
const backend = await startMcpBackend({
  tools: ['open'],
  withSessions: true,
  onRequest: (request) => {
    const shown = request.headers['authorization'] ?? '';
    seen.add(shown);
    if (shown === accepted) return false;
    request.empty(401);
    return true;
  },
});
t.teardown(() => backend.close());

const keys = join(createScratchDirectory(t), 'keys');
writeFileSync(keys, `${randomBytes(32).toString('base64')}\n`);
const options = ['--secrets-directory', secrets, '--secrets-key-file', keys];
const controlPlane = await startControlPlane(t, {
  options: [...options, '--health-check-interval', '1h', '--list-cache', '1h'],
});
const { storeOptions, key } = controlPlane;
const gateway = await startGateway(t, {
  ...{ storeOptions, workerCount: 2, upstreamConnectionMode: 'plain-text-or-tls' as const },
  keyOptions: verifyWith(key),
  options,
});

t.test('a server that wants a header is registered, composed and called with it', async (t) => {
  const api = await controlPlane.caller(t);
  const without = await api.post('/servers', { name: 'closed', url: backend.url });
  t.match(without.json(), { status: 'inactive', lastError: /401/ });
  const { id } = without.json() as { id: string };
  const registered = await api.put(`/servers/${id}`, { name: 'closed', url: backend.url, auth: AUTH });
  t.match(
    registered.json(),
    { id, status: 'active', toolCount: 1, auth: AUTH },
    'its auth is new, so it is probed anew',
  );
  t.match((await api.put(`/servers/${id}`, { name: 'closed', url: backend.url, description: 'd' })).json(), {
    description: 'd',
    auth: AUTH,
  });
  t.match((await api.post(`/servers/${id}/refresh`)).json(), { status: 'active' });

  const composed = await api.post('/compositions', { name: 'c', servers: [{ name: 'closed', tools: ['open'] }] });
  const { id: compositionId } = composed.json() as { id: string };
  const path = `/gw-rs/servers/${compositionId}/mcp`;
  const caller = new McpCaller(gateway.origin, path, await controlPlane.token(api.subject));
  const session = await caller.openSession();
  t.match(rpc(await session.call('closed-open')).result, { content: [{ type: 'text' }] });
  const aggregate = await api.post('/mcp', {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'closed-open' },
  });
  t.match(rpc(aggregate).result, { content: [{ type: 'text' }] });
  const searched = { name: 'searched', exposure: 'search', servers: [{ name: 'closed', tools: ['open'] }] };
  const { id: searchedId } = (await api.post('/compositions', searched)).json() as { id: string };
  const searching = new McpCaller(gateway.origin, `/gw-rs/servers/${searchedId}/mcp`, caller.token);
  const through = await (await searching.openSession()).call('call_tool', '{"name":"closed-open"}');
  t.match(rpc(through).result, { content: [{ type: 'text' }] }, 'and through call_tool');

  await t.test('a new secret is obeyed in the session that is open', async (t) => {
    accepted = SECOND;
    write(SECOND);
    await until(async () => rpc(await session.call('closed-open')).result !== undefined, 'the new secret to be sent');
    t.match(rpc(await session.call('closed-open')).result, { content: [{ type: 'text' }] });
  });

  await t.test('a secret that was removed makes the backend unavailable, and the error says so', async (t) => {
    rmSync(join(secrets, 'vault'));
    await until(async () => rpc(await session.call('closed-open')).result === undefined, 'the secret to be missed');
    t.match(rpc(await session.call('closed-open')).error?.message, /a secret of its auth cannot be read/);
    t.match((await api.post(`/servers/${id}/refresh`)).json(), { status: 'inactive', error: /vault: is not there/ });
    write(SECOND);
    await until(async () => rpc(await session.call('closed-open')).result !== undefined, 'the secret to be back');
  });

  t.equal((await session.delete()).status, 200);
  t.same([...seen].sort(), ['', FIRST, SECOND].sort(), 'nothing else was ever shown, least of all the token');

  const stored = filesBelow(storeOptions.kind === 'embedded' ? storeOptions.path : '');
  t.ok(stored.length > 0);
  for (const secret of [FIRST, SECOND]) {
    const words = secret.slice('Bearer '.length);
    t.notOk(
      stored.some((file) => readFileSync(file).includes(words)),
      'no secret is in the store',
    );
    t.notOk(JSON.stringify([gateway.logs, controlPlane.program.logs]).includes(words), 'or in a log');
  }
});

t.test('a secret of the store is set with the command, obeyed at once and sent to its origins alone', async (t) => {
  const api = await controlPlane.caller(t);
  const set = (value: string, origins: string): void => {
    const words = ['secrets', 'set', 'vault', '--origins', origins, '--secrets-key-file', keys];
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [programPath(), ...words, ...storeOptionWords(storeOptions)],
      { input: `${value}\n`, env: childEnvironment(), encoding: 'utf8' },
    );
    t.equal(status, 0, stderr);
    t.equal(stdout, `Set vault, for ${origins}.\n`);
  };
  const { origin } = new URL(backend.url);
  set(STORED, origin);
  accepted = STORED;
  const auth = { type: 'headers', headers: { authorization: { secret: 'vault' } } };
  t.match((await api.post('/servers', { name: 'stored', url: backend.url, auth })).json(), { status: 'active', auth });
  const composed = await api.post('/compositions', { name: 's', servers: [{ name: 'stored', tools: ['open'] }] });
  const { id } = composed.json() as { id: string };
  const token = await controlPlane.token(api.subject);
  const session = await new McpCaller(gateway.origin, `/gw-rs/servers/${id}/mcp`, token).openSession();
  t.match(rpc(await session.call('stored-open')).result, { content: [{ type: 'text' }] });
  const aggregate = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'stored-open' } };
  t.match(rpc(await api.post('/mcp', aggregate)).result, { content: [{ type: 'text' }] });

  accepted = CHANGED;
  set(CHANGED, origin);
  t.match(rpc(await session.call('stored-open')).result, { content: [{ type: 'text' }] }, 'on the very next request');
  set(CHANGED, 'https://elsewhere.example');
  t.match(rpc(await session.call('stored-open')).error?.message, /may not be sent to its host/);
  t.match((await api.post('/servers/stored/refresh')).json(), { error: /may not be sent to its host/ });
  t.ok(seen.has(STORED) && seen.has(CHANGED));
  const files = filesBelow(storeOptions.kind === 'embedded' ? storeOptions.path : '');
  for (const value of [STORED, CHANGED]) {
    t.notOk(
      files.some((file) => readFileSync(file).includes(value)),
      'it is in the store sealed alone',
    );
    t.notOk(JSON.stringify([gateway.logs, controlPlane.program.logs]).includes(value), 'or in a log');
  }
});

t.test(
  'a server of the older transport is registered, composed and called with its credential on both planes',
  async (t) => {
    const api = await controlPlane.caller(t);
    const server = await startSseServer(t);
    server.accepted = SECOND;
    write(SECOND);
    const said = { name: 'older', url: server.url, auth: AUTH };
    const registered = await api.post('/servers', said);
    t.match(registered.json(), { status: 'inactive', transport: 'STREAMABLEHTTP', lastError: /HTTP status/ });
    const { id } = registered.json() as { id: string };
    t.match((await api.put(`/servers/${id}`, { ...said, transport: 'SSE' })).json(), {
      ...{ id, status: 'active', transport: 'SSE', toolCount: 4 },
    });
    t.match((await api.put(`/servers/${id}`, { ...said, description: 'd' })).json(), {
      transport: 'SSE',
      status: 'active',
    });
    t.match((await api.post(`/servers/${id}/refresh`)).json(), { status: 'active', toolsAdded: 0 });
    t.equal((await api.post('/servers', { ...said, name: 'x', transport: 'STDIO' })).status, 422);

    const composed = await api.post('/compositions', { name: 'o', servers: [{ name: 'older', tools: ['echo'] }] });
    const { id: compositionId } = composed.json() as { id: string };
    const path = `/gw-rs/servers/${compositionId}/mcp`;
    const session = await new McpCaller(gateway.origin, path, await controlPlane.token(api.subject)).openSession();
    t.same(await session.toolNames(), ['older-echo']);
    t.match(rpc(await session.call('older-echo', '{"v":"here"}')).result, { content: [{ text: 'here' }] });
    const params = { name: 'older-echo', arguments: { v: 'there' } };
    const aggregate = await api.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    t.match(rpc(aggregate).result, { content: [{ text: 'there' }] });
    t.equal(server.executed.get('echo'), 2);
    t.equal((await session.delete()).status, 200);
    await api.delete(`/compositions/${compositionId}`);
    await api.delete(`/servers/${id}`);
  },
);

t.test('a cached list is read again after its server was refreshed', async (t) => {
  const api = await controlPlane.caller(t);
  const tools = [{ name: 'one', inputSchema: { type: 'object' } }];
  const changing = await startMcpBackend({
    onRequest: (request) => {
      if (!request.text.includes('"tools/list"')) return false;
      const { id } = JSON.parse(request.text) as { readonly id: unknown };
      request.json({ jsonrpc: '2.0', id, result: { tools } });
      return true;
    },
  });
  t.teardown(() => changing.close());
  const { id } = (await api.post('/servers', { name: 'changing', url: changing.url })).json() as { id: string };
  const listed = async (): Promise<string> =>
    (await api.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' })).text;
  t.match(await listed(), /"changing-one"/);
  tools.push({ name: 'two', inputSchema: { type: 'object' } });
  t.notMatch(await listed(), /"changing-two"/, 'from memory');
  t.match((await api.post(`/servers/${id}/refresh`)).json(), { toolsAdded: 1 });
  t.match(await listed(), /"changing-two"/);
  await api.delete(`/servers/${id}`);
});

t.test('an invalid auth is refused with the name of the invalid member', async (t) => {
  const api = await controlPlane.caller(t);
  const refused = async (auth: unknown): Promise<unknown> => {
    const answer = await api.post('/servers', { name: 'refused', url: backend.url, auth });
    t.equal(answer.status, 422, JSON.stringify(auth));
    return answer.json();
  };
  t.match(await refused({ type: 'headers', headers: { authorization: { file: '../vault' } } }), {
    detail: /auth.*file/,
  });
  t.match(await refused({ type: 'headers', headers: { host: { file: 'vault' } } }), { detail: /auth\.headers/ });
  t.match(await refused({ type: 'headers', headers: { authorization: 'Bearer x' } }), { detail: /auth/ });
  t.match(await refused({ type: 'basic' }), { detail: /auth/ });
});

function filesBelow(directory: string): string[] {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
