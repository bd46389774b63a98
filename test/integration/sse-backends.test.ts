// Backends of the HTTP+SSE transport of 2024-11-05 (one event stream, and an endpoint for POST) behind the gateway: the SDK's own
// server, the reference server, and servers that name an endpoint elsewhere.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { CreateMessageRequestSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { backendFor, startDeployment } from '../support/deployment.js';
import { startEverythingServer } from '../support/everything-server.js';
import { answerText, rpc } from '../support/mcp-caller.js';
import { callTool } from '../support/modern-caller.js';
import { startRawBackend, type EventStreamBody } from '../support/raw-backend.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { connectSdkClient } from '../support/sdk-client.js';
import { startSseServer } from '../support/sse-server.js';
import { until } from '../support/until.js';

const SHOWN = 'Bearer of-the-backend';
const CAPABILITIES = { sampling: {}, elicitation: {} };

const secrets = createScratchDirectory(t);
writeFileSync(join(secrets, 'token'), `${SHOWN}\n`);
// A long timeout: the backends must be ready when the session opens, however slow the machine is.
const options = ['--initialize-patience', '20s', '--secrets-directory', secrets];
const deployment = await startDeployment(t, { workerCount: 2, options });
const server = await startSseServer(t);
const SSE = { url: server.url, transport: 'SSE' };

await t.test('calls, and what a tool asks and tells meanwhile, with the client listening and without', async (t) => {
  const caller = await deployment.caller({ s: SSE });
  const client = new Client({ name: 'c', version: '1' }, { capabilities: CAPABILITIES });
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'Zoë' } }));
  await connectSdkClient(t, caller.origin + caller.path, caller.token, client);
  t.same(
    (await client.listTools()).tools.map(({ name }) => name),
    ['s-ask', 's-echo', 's-hang', 's-steps'],
  );
  const call = async (name: string): Promise<unknown> => client.callTool({ name, arguments: {} });
  t.match(await call('s-ask'), { content: [{ text: 'accept Zoë' }] });
  const steps: number[] = [];
  const onprogress = ({ progress }: { progress: number }): void => void steps.push(progress);
  t.match(await client.callTool({ name: 's-steps' }, undefined, { onprogress }), { content: [{ text: 'done' }] });
  t.same(steps, [1, 2]);
  t.match(await Promise.all(['s-ask', 's-ask', 's-ask'].map(call)), [{}, {}, {}].fill({ content: [{ text: /Zoë/ }] }));
  t.equal(server.executed.get('ask'), 4);

  const deaf = await caller.openSession({
    params: '{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}',
  });
  const told = await deaf.send(
    '{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"s-steps","_meta":{"progressToken":"p"}}}',
  );
  t.match(told.text, /"progressToken":"p","progress":1.*"progress":2.*"id":8/s);
  await deaf.delete();

  t.match(rpc(await callTool(caller, 's-echo', '{"v":"modern"}')).result, { content: [{ text: 'modern' }] });
});

await t.test('each call is carried out once, even when many run at the same time', async (t) => {
  const caller = await deployment.caller({ s: SSE });
  const session = await caller.openSession();
  const before = server.executed.get('echo') ?? 0;
  const ids = Array.from({ length: 60 }, (_, n) => String(100 + n));
  const answers = await Promise.all(ids.map(async (id) => session.call('s-echo', `{"v":"for ${id}"}`, { id })));
  t.same(
    answers.map((answer) => rpc(answer)).map(({ id, result }) => [id, result]),
    ids.map((id) => [Number(id), { content: [{ type: 'text', text: `for ${id}` }] }]),
  );
  t.equal((server.executed.get('echo') ?? 0) - before, ids.length);
  const { open } = server;
  await session.delete();
  await until(() => server.open === open - 1, 'the end of its stream');
});

await t.test('a stream that ends mid-call fails the call once, by name; the next call opens another', async (t) => {
  const caller = await deployment.caller({ s: SSE });
  const session = await caller.openSession();
  const hanging = session.call('s-hang');
  await until(() => server.executed.get('hang') === 1, 'the call at the server');
  const { opened } = server;
  server.endStreams();
  t.match(rpc(await hanging).error, { code: -32603, message: /^Backend "?s"?.*event stream ended/ });
  t.match(rpc(await session.call('s-echo', '{"v":"again"}')).result, { content: [{ text: 'again' }] });
  t.equal(server.executed.get('hang'), 1, 'what may have been carried out is not sent again');
  t.equal(server.opened, opened + 1);
});

await t.test('credentials and the caller’s headers are on every request; a refusal is reported', async (t) => {
  server.accepted = SHOWN;
  t.teardown(() => (server.accepted = undefined));
  const refused = await (await deployment.caller({ s: SSE })).openSession();
  t.match(rpc(refused.opening).result, {
    _meta: { 'switchyard/unavailable': [{ backend: 's', reason: 'refused with HTTP status 401' }] },
  });
  const auth = { type: 'headers', headers: { authorization: { file: 'token' } } };
  const caller = await deployment.caller({ s: { ...SSE, auth, passthrough_headers: ['x-tenant'] } });
  server.heads.length = 0;
  const headers = [['x-tenant', '7']] as const;
  const session = await caller.openSession({ headers });
  t.match(rpc(await session.call('s-echo', '{"v":"1"}', { headers })).result, { content: [{ text: '1' }] });
  t.ok(server.heads.length >= 4);
  t.ok(server.heads.every((head) => head.authorization === SHOWN));
  t.same([server.heads[0]?.['x-tenant'], server.heads.at(-1)?.['x-tenant']], ['7', '7']);
});

await t.test('results keep the server’s bytes, whatever the form of the events', async (t) => {
  const result = '{"content":[ ] ,"x":1.0,"é":"\\u00e9\\n","n":12345678901234567890}';
  const streams: EventStreamBody[] = [];
  const raw = await startRawBackend(async (request) => {
    if (request.method === 'GET') {
      const stream = request.eventStream({ lineEnd: '\r\n' });
      streams.push(stream);
      return stream.event('?session=7', { event: 'endpoint' });
    }
    const { id, method } = JSON.parse(request.text) as { readonly id?: unknown; readonly method: string };
    if (id === undefined) return request.empty(202);
    const initialized =
      '{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"r","version":"1"}}';
    const answer = method === 'initialize' ? initialized : result;
    await streams[0]?.event(`{"result":${answer},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`, { event: 'message' });
    request.json('{"taken":true}');
  });
  t.teardown(() => raw.close());
  const caller = await deployment.caller({ r: { url: raw.url, transport: 'SSE' } });
  const session = await caller.openSession();
  const args = '{ "v" : 1.0, "w":"\\u00e9" }';
  t.equal(answerText(await session.call('r-any', args)), `{"result":${result},"jsonrpc":"2.0","id":7}`);
  const sent = raw.requests.at(-1);
  t.equal(sent?.path, '/mcp?session=7');
  t.equal(sent?.text, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"any","arguments":${args}}}`);
});

await t.test(
  'a server whose endpoint is missing or elsewhere is unavailable with the reason, and nothing is posted elsewhere',
  async (t) => {
    const elsewhere = await backendFor(t);
    const rows = { away: elsewhere.url, none: '' };
    const backends: Record<string, { url: string; transport?: string }> = {
      good: { url: (await backendFor(t, { tools: ['x'] })).url },
    };
    for (const [name, endpoint] of Object.entries(rows)) {
      const raw = await startRawBackend(async (request) => {
        if (request.method !== 'GET') return request.empty(500);
        const stream = request.eventStream();
        if (endpoint !== '') await stream.event(endpoint, { event: 'endpoint' });
        else stream.end();
      });
      t.teardown(() => raw.close());
      backends[name] = { url: raw.url, transport: 'SSE' };
    }
    // A server of the other transport does not respond to GET with such a stream.
    backends['other'] = { url: elsewhere.url, transport: 'SSE' };
    const session = await (await deployment.caller(backends)).openSession();
    const { result } = rpc(session.opening) as {
      result?: { _meta?: Record<string, { backend: string; reason: string }[]> };
    };
    const reasons = Object.fromEntries(
      (result?._meta?.['switchyard/unavailable'] ?? []).map(({ backend, reason }) => [backend, reason]),
    );
    t.match(reasons, {
      away: /endpoint event names another origin/,
      none: /does not start with an endpoint event/,
      other: /HTTP status 40/,
    });
    t.same(await session.toolNames(), ['good-x']);
    t.notOk(
      elsewhere.raw.requests.some(({ method }) => method === 'POST'),
      'nothing was posted there',
    );
  },
);

await t.test('large results and lists pass in full, with small responses before and after them', async (t) => {
  const streams: EventStreamBody[] = [];
  const description = 'd'.repeat(2_000);
  const tools = Array.from({ length: 400 }, (_, n) => ({
    name: `t${n}`,
    description,
    inputSchema: { type: 'object' },
  }));
  const large = `{"content":[{"type":"text","text":"${'é\\n'.repeat(700_000)}"}]}`;
  const raw = await startRawBackend(async (request) => {
    if (request.method === 'GET') {
      const stream = request.eventStream();
      streams.push(stream);
      return stream.event('?s=1', { event: 'endpoint' });
    }
    request.empty(202);
    const { id, method, params } = JSON.parse(request.text) as {
      readonly id?: unknown;
      readonly method: string;
      readonly params?: { readonly name?: string };
    };
    const serverInfo = { name: 'r', version: '1' };
    const results: Readonly<Record<string, string>> = {
      initialize: JSON.stringify({ protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo }),
      'tools/list': JSON.stringify({ tools }),
      'tools/call': params?.name === 't1' ? large : '{"content":[]}',
    };
    if (id !== undefined)
      await streams[0]?.event(`{"result":${results[method]},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`);
  });
  t.teardown(() => raw.close());
  const session = await (await deployment.caller({ r: { url: raw.url, transport: 'SSE' } })).openSession();
  const [first, second, third, list] = await Promise.all([
    session.call('r-t2', '{}', { id: '1' }),
    session.call('r-t1', '{}', { id: '2' }),
    session.call('r-t3', '{}', { id: '3' }),
    session.list(),
  ]);
  t.ok(answerText(second) === `{"result":${large},"jsonrpc":"2.0","id":2}`, 'to the last byte');
  for (const small of [first, third]) t.match(rpc(small).result, { content: [] });
  const listed = (rpc(list).result as { tools: { name: string; description: string }[] }).tools;
  t.equal(listed.length, tools.length);
  t.ok(listed.every((tool) => tool.description === description));
});

await t.test(
  'a cancelled call is cancelled at the server; a stream that ends is opened again for a listening client',
  async (t) => {
    const caller = await deployment.caller({ s: SSE });
    const client = new Client({ name: 'c', version: '1' }, { capabilities: CAPABILITIES });
    await connectSdkClient(t, caller.origin + caller.path, caller.token, client);
    const before = server.cancelled;
    const hangs = server.executed.get('hang') ?? 0;
    const ending = new AbortController();
    const call = client.callTool({ name: 's-hang' }, undefined, { signal: ending.signal });
    await until(() => server.executed.get('hang') === hangs + 1, 'the call at the server');
    ending.abort();
    await t.rejects(call);
    await until(() => server.cancelled === before + 1, 'its cancellation there');
    const { opened } = server;
    server.endStreams();
    await until(() => server.opened === opened + 1, 'the next stream, which nobody has asked for');
    t.match(await client.callTool({ name: 's-echo', arguments: { v: 'on' } }), { content: [{ text: 'on' }] });
    t.equal(server.opened, opened + 1);
  },
);

await t.test('the reference server behaves the same through the gateway as without it', async (t) => {
  const everything = await startEverythingServer(t, 'sse');
  const caller = await deployment.caller({ e: { url: everything.url, transport: 'SSE' } });
  const asked = new Client({ name: 'c', version: '1' }, { capabilities: CAPABILITIES });
  const direct = new Client({ name: 'c', version: '1' }, { capabilities: CAPABILITIES });
  for (const client of [asked, direct]) {
    const answer = { model: 'none', role: 'assistant', content: { type: 'text', text: 'so' } } as const;
    client.setRequestHandler(CreateMessageRequestSchema, () => answer);
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'decline' }));
  }
  await connectSdkClient(t, caller.origin + caller.path, caller.token, asked);
  t.teardown(() => direct.close());
  await direct.connect(new SSEClientTransport(new URL(everything.url)));
  const own = (await direct.listTools()).tools.map(({ name }) => `e-${name}`);
  t.same(
    (await asked.listTools()).tools.map(({ name }) => name),
    own.sort(),
  );
  const both = async (name: string, args: Record<string, unknown>): Promise<void> => {
    const [seen, expected] = await Promise.all([
      asked.callTool({ name: `e-${name}`, arguments: args }),
      direct.callTool({ name, arguments: args }),
    ]);
    t.same(seen, expected, name);
  };
  await both('echo', { message: 'é\u0000' });
  await both('get-sum', { a: 2, b: 3 });
  await both('get-tiny-image', {});
  await both('trigger-sampling-request', { prompt: 'is it?', maxTokens: 7 });
  await both('trigger-elicitation-request', {});
  const [uri = ''] = (await direct.listResources()).resources.map((resource) => resource.uri);
  t.same(
    (await asked.readResource({ uri: `e+${uri}` })).contents.map(({ uri: _, ...rest }) => rest),
    (await direct.readResource({ uri })).contents.map(({ uri: _, ...rest }) => rest),
  );
  t.same((await asked.listPrompts()).prompts.length, (await direct.listPrompts()).prompts.length);
});

await t.test('a session whose worker dies continues elsewhere, with a new session at the server', async (t) => {
  const caller = await deployment.caller({ s: SSE });
  const session = await caller.openSession();
  const { opened } = server;
  const pids = deployment.gateway.workerPids();
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  await until(async () => {
    const answer = await session.call('s-echo', '{"v":"on"}').catch(() => undefined);
    return answer?.status === 200 && rpc(answer).result !== undefined;
  }, 'the session to go on');
  t.ok(server.opened > opened);
});
