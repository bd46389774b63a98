import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { ClientCapabilities } from '@modelcontextprotocol/sdk/types.js';
import t, { type Test } from 'tap';
import { z } from 'zod';
import { Prober, type ProbeResult, type ServerFindings } from '../../../src/control-plane/prober/prober.js';
import { readLists } from '../../../src/control-plane/prober/item-reader.js';
import type { ProbedServer } from '../../../src/control-plane/prober/probed-session.js';
import { ProberClosedError } from '../../../src/control-plane/prober/probe-fault.js';
import type { ServerTool } from '../server-tool.js';
import { ProbeFault } from '../../../src/control-plane/prober/probe-fault.js';
import { DeadlineWheel } from '../../../src/fair/deadline-wheel.js';
import { limits } from '../../../src/shared/limits.js';
import { createCertificates } from '../../support/certificates.js';
import { startMcpBackend, type McpBackend, type McpBackendOptions } from '../../support/mcp-backend.js';
import { startRawBackend, type RawBackend, type RawHandler, type ReceivedRequest } from '../../support/raw-backend.js';
import { startNameServer } from '../../support/name-server.js';
import { REFUSED_NAMES } from '../../support/refused-hosts.js';
import { startSseServer } from '../../support/sse-server.js';
import { ModernSdkServer } from '../../support/modern-sdk-server.js';
import { until } from '../../support/until.js';

const MIB = 1024 * 1024;
/** Waited out by failing tests alone. */
const AMPLE_MS = 120_000;
const INITIALIZE_RESULT = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {} },
  serverInfo: { name: 'scripted', version: '1' },
};

t.jobs = 4;

/** A look-up that was made in this process serves for a second; with some more for busy machines. */
const NAME_AGE_MS_MIN = 1_300;

function createProber(t: Test, options: Partial<ConstructorParameters<typeof Prober>[0]> = {}): Prober {
  const prober = new Prober({ timeoutMs: AMPLE_MS, ...options });
  t.teardown(() => prober.close());
  return prober;
}

/** For servers that answer in any case, however late: no time passes for the prober. */
function stoppedClock(): DeadlineWheel {
  return new DeadlineWheel(10, () => 0);
}

async function startMcp(t: Test, options: McpBackendOptions): Promise<McpBackend> {
  const backend = await startMcpBackend(options);
  t.teardown(() => backend.close());
  return backend;
}

async function startRaw(t: Test, handler: RawHandler): Promise<RawBackend> {
  const backend = await startRawBackend(handler, { hearsDiscovery: true });
  t.teardown(() => backend.close());
  return backend;
}

type ReadFindings = ServerFindings & { readonly tools: readonly ServerTool[] };

function findingsOf(probe: ProbeResult): ReadFindings {
  if (probe.kind === 'failed') throw new Error(`the probe failed: ${probe.reason}`);
  const json = Buffer.from(probe.findings.lists.tools?.json ?? '').toString();
  return { ...probe.findings, tools: JSON.parse(json) as ServerTool[] };
}

/** Responds to JSON-RPC requests by their method; to notifications with 202. It has one era. */
function byMethod(answers: Readonly<Record<string, (answer: RpcAnswer) => void>>): RawHandler {
  return (request) => {
    if (request.method !== 'POST') return request.empty(405);
    const { id, method, params } = JSON.parse(request.text) as { id?: number; method: string; params?: unknown };
    if (id === undefined) return request.empty(202);
    if (method === 'server/discover') return request.empty(400);
    return answers[method]?.({ request, params, result: (result) => request.json({ jsonrpc: '2.0', id, result }) });
  };
}

interface RpcAnswer {
  readonly request: Parameters<RawHandler>[0];
  readonly params: unknown;
  result(result: unknown): void;
}

t.test('tls-only: a server over plain http is not asked', async (t) => {
  const backend = await startMcp(t, {});
  const probe = await createProber(t, { mode: 'tls-only' }).probe(backend.url);
  t.match(probe, { kind: 'failed', reason: /not https.*--upstream-connection-mode plain-text-or-tls/ });
  t.equal(backend.raw.requests.length, 0);
  t.equal((await createProber(t).probe(backend.url)).kind, 'reached');
});

t.test('a server of the SDK is probed: who it is, what it can do, every tool', async (t) => {
  const mcp = new McpServer({ name: 'real', version: '3.2.1', title: 'Really' });
  mcp.registerTool('add', { description: 'Adds', inputSchema: { a: z.number() } }, () => ({ content: [] }));
  mcp.registerTool('sub', { annotations: { readOnlyHint: true } }, () => ({ content: [] }));
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => 'session-1' });
  const ended: string[] = [];
  const server = createServer((request, response) => {
    if (request.method === 'DELETE') ended.push(String(request.headers['mcp-session-id']));
    void transport.handleRequest(request, response);
  });
  await mcp.connect(transport);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());

  const { serverInfo, capabilities, tools } = findingsOf(
    await createProber(t).probe(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`),
  );
  t.match(serverInfo, { name: 'real', version: '3.2.1', title: 'Really' });
  t.match(capabilities, { tools: { listChanged: true } });
  t.same(
    tools.map(({ name }) => name),
    ['add', 'sub'],
  );
  t.match(tools[0], { description: 'Adds', inputSchema: { properties: { a: { type: 'number' } } } });
  t.match(tools[1], { annotations: { readOnlyHint: true } });
  t.same(ended, ['session-1'], 'and its session is ended');
});

t.test('all pages are read, even as events, with every member of a tool', async (t) => {
  const special = { name: 'special', inputSchema: { type: 'object' }, 'x-unknown': [1, { deep: true }], icons: [] };
  const tools = ['a', 'b', special, 'c', 'd'];
  for (const answerAs of ['json', 'event-stream'] as const) {
    const backend = await startMcp(t, { tools, pageSize: 2, answerAs, withSessions: true, withPriming: true });
    const findings = findingsOf(await createProber(t).probe(backend.url));
    t.same(
      findings.tools.map(({ name }) => name),
      ['a', 'b', 'special', 'c', 'd'],
    );
    t.same(findings.tools[2], special);
    t.equal(backend.raw.requests.filter(({ text }) => text.includes('tools/list')).length, 3);
    t.equal(backend.sessions.size, 0);
    t.equal(backend.deletedSessions.length, 1);
    t.notOk(
      backend.raw.requests.some(({ method }) => method === 'GET'),
      'and no stream is opened',
    );
    await until(() => backend.raw.openConnections === 0, 'the end of every connection');
  }
});

t.test('a server that declares no tools is not asked for them', async (t) => {
  const backend = await startMcp(t, { capabilities: { prompts: {} } });
  const { tools, capabilities } = findingsOf(await createProber(t).probe(backend.url));
  t.same(tools, []);
  t.same(capabilities, { prompts: {} });
  t.equal(backend.requestsOf('tools/list').length, 0);
});

t.test('of two tools with one name the first counts', async (t) => {
  const backend = await startMcp(t, {
    tools: [
      { name: 'twin', inputSchema: {}, description: 'first' },
      { name: 'twin', inputSchema: {}, description: 'second' },
    ],
  });
  const { tools } = findingsOf(await createProber(t).probe(backend.url));
  t.match(tools, [{ description: 'first' }]);
  t.equal(tools.length, 1);
});

t.test('prompts, resources and templates are read: all pages, and the key of each item', async (t) => {
  const pages = (member: string, key: string) => (params: string | undefined) =>
    params?.includes('"2"') === true
      ? { [member]: [{ [key]: 'c' }, { [key]: 'a', title: 'of two the first counts' }] }
      : { [member]: [{ [key]: 'a' }, { [key]: 7 }, 'none', { [key]: 'b' }], nextCursor: '2' };
  const backend = await startMcp(t, {
    capabilities: { prompts: {}, resources: {} },
    methods: {
      'prompts/list': pages('prompts', 'name'),
      'resources/list': pages('resources', 'uri'),
      'resources/templates/list': pages('resourceTemplates', 'uriTemplate'),
    },
  });
  const { lists } = findingsOf(await createProber(t).probe(backend.url));
  for (const [name, items] of Object.entries(lists)) if (name !== 'tools') t.equal(items?.items.size, 3, name);
  const again = findingsOf(await createProber(t).probe(backend.url)).lists;
  t.same(again, lists);
});

t.test('tools that a server shows only to clients with a capability are found, in both eras', async (t) => {
  type Declared = ClientCapabilities & { readonly extensions?: Readonly<Record<string, object>> };
  const tests: Readonly<Record<string, (declared: Declared) => unknown>> = {
    'asks in a form': ({ elicitation }) => elicitation?.form,
    'asks at a URL': ({ elicitation }) => elicitation?.url,
    'has a model work': ({ sampling }) => sampling,
    'has a model work with tools': ({ sampling }) => sampling?.tools,
    'asks for roots': ({ roots }) => roots,
    'hears of changed roots': ({ roots }) => roots?.listChanged,
    'asks in a task': ({ tasks }) => tasks?.requests?.elicitation?.create,
    'has a model work in a task': ({ tasks }) => tasks?.requests?.sampling?.createMessage,
    'has a page': ({ extensions }) => extensions?.['io.modelcontextprotocol/ui'],
  };
  for (const era of ['legacy', 'modern'] as const) {
    let declared: Declared = {};
    const backend = await startRaw(t, (request) => {
      if (request.text === '') return request.empty(request.method === 'DELETE' ? 200 : 405);
      const { id, method, params } = JSON.parse(request.text) as {
        readonly id: unknown;
        readonly method: string;
        readonly params?: {
          readonly capabilities?: Declared;
          readonly _meta?: { readonly 'io.modelcontextprotocol/clientCapabilities'?: Declared };
        };
      };
      if (id === undefined) return request.empty(202);
      if (method === 'initialize' && era === 'modern') return request.empty(404);
      if (method === 'server/discover' && era === 'legacy') return request.empty(404);
      declared = params?.capabilities ?? params?._meta?.['io.modelcontextprotocol/clientCapabilities'] ?? declared;
      const tools = Object.entries(tests).flatMap(([name, isShown]) =>
        isShown(declared) === undefined ? [] : [{ name, inputSchema: { type: 'object' } }],
      );
      const results: Readonly<Record<string, object>> = {
        initialize: INITIALIZE_RESULT,
        'server/discover': { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
        'tools/list': { tools },
      };
      request.json({ jsonrpc: '2.0', id, result: results[method] ?? {} });
    });
    const { tools } = findingsOf(await createProber(t).probe(backend.url));
    t.same(
      tools.map(({ name }) => name),
      Object.keys(tests),
      era,
    );
  }
});

t.test('a server that refuses members of capabilities is asked once more, without these', async (t) => {
  const error = { code: -32603, message: 'Unrecognized field "form"' };
  const refusals: Readonly<Record<string, (request: ReceivedRequest, id: unknown) => void>> = {
    'as an error': (request, id) => request.json({ jsonrpc: '2.0', id, error }),
    'with 400': (request) => request.empty(400),
    'with 422': (request) => request.empty(422),
    'with 500': (request) => request.empty(500),
  };
  for (const [how, refuse] of Object.entries(refusals)) {
    const backend = await startRaw(t, (request) => {
      if (request.text === '') return request.empty(request.method === 'DELETE' ? 200 : 405);
      const { id, method, params } = JSON.parse(request.text) as {
        readonly id: unknown;
        readonly method: string;
        readonly params?: { readonly capabilities?: ClientCapabilities };
      };
      if (id === undefined) return request.empty(202);
      const { elicitation, sampling } = params?.capabilities ?? {};
      if (Object.keys({ ...elicitation, ...sampling }).length > 0) return refuse(request, id);
      const tools = [elicitation && 'asks', sampling && 'has a model work'].filter((name) => name !== undefined);
      if (method === 'initialize') shown = tools;
      const results: Readonly<Record<string, object>> = {
        initialize: INITIALIZE_RESULT,
        'tools/list': { tools: shown.map((name) => ({ name, inputSchema: { type: 'object' } })) },
      };
      request.json({
        jsonrpc: '2.0',
        id,
        ...(results[method] ? { result: results[method] } : { error: { code: -32601, message: '' } }),
      });
    });
    let shown: string[] = [];
    const { tools } = findingsOf(await createProber(t).probe(backend.url));
    t.same(
      tools.map(({ name }) => name),
      ['asks', 'has a model work'],
      how,
    );
  }
});

t.test('a refused or invalid list is unknown; the server counts as reached all the same', async (t) => {
  const backend = await startMcp(t, {
    capabilities: { tools: {}, prompts: {}, resources: {} },
    tools: ['a'],
    methods: {
      'prompts/list': () => ({ prompts: 'many' }),
      'resources/templates/list': () => ({ resourceTemplates: [] }),
    },
  });
  const { lists, tools } = findingsOf(await createProber(t).probe(backend.url));
  t.match(lists, { prompts: undefined, resources: undefined, templates: { items: new Map() } });
  t.equal(tools.length, 1);
});

t.test(
  '10,000 resources are read; with one more the list counts as not given, and the server as reached',
  async (t) => {
    const resources = Array.from({ length: limits.probeToolsMax }, (_, n) => ({
      uri: `file:///a/b/c/${n}`,
      name: `${n}`,
    }));
    const backend = await startMcp(t, {
      capabilities: { resources: {} },
      methods: {
        'resources/list': () => ({ resources }),
        'resources/templates/list': () => ({ resourceTemplates: [] }),
      },
    });
    t.equal(findingsOf(await createProber(t).probe(backend.url)).lists.resources?.items.size, limits.probeToolsMax);
    resources.push({ uri: 'file:///one-more', name: 'x' });
    const { lists } = findingsOf(await createProber(t).probe(backend.url));
    t.match(lists, { resources: undefined, templates: { items: new Map() } });
  },
);

t.test(
  'heartbeats are skipped, whatever they say, in every response; a number may come back as a string',
  async (t) => {
    const withHeartbeats =
      (result: object): RawHandler =>
      async (request) => {
        const { id } = JSON.parse(request.text) as { id: number };
        const stream = request.eventStream();
        for (const text of ['<html>', '{"time":"12:00"}', '[]']) {
          await stream.event(text);
          await stream.event(text, { event: 'ping' });
        }
        await stream.event({ jsonrpc: '2.0', id: String(id), result });
        stream.end();
      };
    const backend = await startRaw(t, async (request) => {
      const { method } = JSON.parse(request.text || '{}') as { method?: string };
      if (method === 'initialize') return withHeartbeats(INITIALIZE_RESULT)(request);
      if (method === 'tools/list') return withHeartbeats({ tools: [{ name: 'a', inputSchema: {} }] })(request);
      return request.empty(method === undefined ? 405 : 202);
    });
    const { tools } = findingsOf(await createProber(t).probe(backend.url));
    t.same(
      tools.map(({ name }) => name),
      ['a'],
    );
  },
);

t.test('events whose lines end with a carriage return alone are read from a stream that stays open', async (t) => {
  const backend = await startRaw(t, async (request) => {
    const { id, method } = JSON.parse(request.text || '{}') as { id?: number; method?: string };
    if (id === undefined) return request.empty(request.method === 'POST' ? 202 : 405);
    if (method === 'server/discover') return request.empty(400);
    const result = method === 'initialize' ? INITIALIZE_RESULT : { tools: [{ name: 'a', inputSchema: {} }] };
    const message = JSON.stringify({ jsonrpc: '2.0', id, result, error: null });
    await request.eventStream().bytes(`event: message\rdata: ${message}\r\r`);
  });
  const { tools } = findingsOf(await createProber(t).probe(backend.url));
  t.match(tools, [{ name: 'a' }]);
});

t.test('of result and error, one may be null, as in the calls of clients', async (t) => {
  const tools = [{ name: 'é\u2028', inputSchema: { default: { result: {}, error: null } } }];
  const errorOf = (method: string): object => ({ result: null, error: { code: -32601, message: method } });
  const capabilities = { tools: {}, prompts: {} };
  const answerOf = (method: string): object => {
    if (method === 'tools/list') return { result: { tools }, error: null };
    if (method !== 'initialize') return errorOf(method);
    return { result: { ...INITIALIZE_RESULT, capabilities }, error: null };
  };
  const forms: Readonly<Record<string, (request: ReceivedRequest, answer: object) => Promise<void> | void>> = {
    'JSON over several lines': (request, answer) => {
      const text = JSON.stringify(answer, undefined, 2);
      request.head({}, { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) });
      for (const byte of Buffer.from(text)) request.bytes(Buffer.of(byte));
    },
    events: async (request, answer) => {
      const stream = request.eventStream();
      await stream.event(answer, { event: 'message', id: '1' });
    },
  };
  for (const [what, say] of Object.entries(forms)) {
    const backend = await startRaw(t, (request) => {
      const { id, method = '' } = JSON.parse(request.text || '{}') as { id?: number; method?: string };
      if (id === undefined) return request.empty(request.method === 'POST' ? 202 : 405);
      return say(request, { jsonrpc: '2.0', id, ...answerOf(method) });
    });
    const probe = await createProber(t).probe(backend.url);
    t.equal(probe.kind, 'reached', what);
    if (probe.kind === 'reached') t.same(findingsOf(probe).tools, tools, what);
  }
});

t.test('of a server and its tools, null or an empty list says nothing, as in the calls of clients', async (t) => {
  const tools = [
    { name: 'a', description: null, annotations: [], inputSchema: { type: 'object' } },
    { name: 'b', inputSchema: {} },
  ];
  for (const nothing of [null, []]) {
    const capabilities = { tools: {}, prompts: nothing };
    const self = { ...INITIALIZE_RESULT, capabilities, serverInfo: nothing, _meta: nothing };
    const backend = await startRaw(
      t,
      byMethod({
        initialize: (answer) => answer.result(self),
        'tools/list': (answer) => answer.result({ tools, _meta: nothing }),
      }),
    );
    const found = findingsOf(await createProber(t).probe(backend.url));
    t.match(found, { serverInfo: {}, capabilities });
    t.same(found.tools, tools, 'and they are kept as they came');

    const without = await startRaw(
      t,
      byMethod({ initialize: (answer) => answer.result({ ...self, capabilities: nothing }) }),
    );
    t.same(findingsOf(await createProber(t).probe(without.url)).capabilities, {});
    t.notOk(without.requests.some(({ text }) => text.includes('tools/list')));
  }
});

t.test('a server that hangs costs no more than the deadline', async (t) => {
  const hangs: Readonly<Record<string, RawHandler>> = {
    'without an answer': () => {},
    'in the head': (request) => request.bytes('HTTP/1.1 200 OK\r\ncontent-ty'),
    'in the body': (request) =>
      request.bytes('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{'),
    'in an event stream': (request) => void request.eventStream().comment('wait'),
    'in the list': byMethod({ initialize: (answer) => answer.result(INITIALIZE_RESULT) }),
    'with a trickle': (request) => {
      request.head({}, { 'content-type': 'application/json', 'content-length': '1000000' });
      const trickle = setInterval(() => request.bytes(' '), 20);
      request.connection.once('close', () => clearInterval(trickle));
    },
  };
  const prober = createProber(t, { timeoutMs: 300 });
  const check = async ([where, handler]: readonly [string, RawHandler]): Promise<void> => {
    const backend = await startRaw(t, handler);
    t.same(await prober.probe(backend.url), { kind: 'failed', reason: 'it did not respond in time' }, where);
    await until(() => backend.openConnections === 0, `the end of the connection ${where}`);
  };
  await Promise.all(Object.entries(hangs).map(check));
});

t.test('a session is ended even when the probe has failed', async (t) => {
  const backend = await startMcp(t, { withSessions: true, protocolVersion: '1999-01-01' });
  t.match(await createProber(t).probe(backend.url), {
    kind: 'failed',
    reason: 'it speaks no supported version of MCP',
  });
  t.equal(backend.deletedSessions.length, 1);
});

t.test('an invalid answer is reported as invalid, at once', async (t) => {
  const answers: Readonly<Record<string, RawHandler>> = {
    'a page of HTML': (request) => request.json('<html>hello</html>', { headers: { 'content-type': 'text/html' } }),
    'HTML as JSON': (request) => request.json('<html>hello</html>'),
    'JSON that is no JSON-RPC': (request) => request.json({ hello: 'world' }),
    'an answer to something else': (request) => request.json({ jsonrpc: '2.0', id: 'other', result: {} }),
    'no HTTP': (request) => request.bytes('SSH-2.0-OpenSSH_9.6\r\n'),
    'an initialize result without anything': byMethod({ initialize: (answer) => answer.result({}) }),
    'endless headers': (request) => request.bytes(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(200_000)}`),
    'a list that is none': byMethod({
      initialize: (answer) => answer.result(INITIALIZE_RESULT),
      'tools/list': (answer) => answer.result({ tools: 'many' }),
    }),
    'a tool without a name': byMethod({
      initialize: (answer) => answer.result(INITIALIZE_RESULT),
      'tools/list': (answer) => answer.result({ tools: [{ inputSchema: {} }] }),
    }),
    'a tool nested without end': byMethod({
      initialize: (answer) => answer.result(INITIALIZE_RESULT),
      'tools/list': ({ request }) => {
        const { id } = JSON.parse(request.text) as { id: number };
        const nested = '['.repeat(200_000) + ']'.repeat(200_000);
        request.json(
          `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"tools":[{"name":"a","inputSchema":${nested}}]}}`,
        );
      },
    }),
  };
  for (const [what, handler] of Object.entries(answers)) {
    const backend = await startRaw(t, handler);
    const reason = 'its responses are not MCP in a supported version';
    t.same(await createProber(t).probe(backend.url), { kind: 'failed', reason }, what);
  }
});

t.test('a server of MCP 2026-07-28, which has no sessions, is read like others', async (t) => {
  const server = await ModernSdkServer.start(t, {
    fill: (mcp) => {
      mcp.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, ({ text }) => ({
        content: [{ type: 'text', text }],
      }));
      mcp.registerResource('r', 'test://r', {}, () => ({ contents: [] }));
    },
  });
  const findings = findingsOf(await createProber(t).probe(server.url));
  t.equal(findings.era, 'modern');
  t.same(findings.serverInfo, { name: 'modern', version: '1' });
  t.match(findings.capabilities, { tools: {}, resources: {} });
  t.match(findings.tools, [{ name: 'echo', inputSchema: { type: 'object' } }]);
  t.equal(findings.lists.resources?.items.size, 1);
  t.same(server.methods.slice(0, 3), ['initialize', 'server/discover', 'tools/list']);
  for (const { method, headers } of server.requests) t.same([method, headers['mcp-session-id']], ['POST', undefined]);
});

t.test('a server without sessions may refuse initialize in any words', async (t) => {
  const refusals: readonly (readonly [number, unknown])[] = [
    [400, 'Missing Mcp-Method header'],
    [400, { jsonrpc: '2.0', error: { code: -32602, message: 'Missing io.modelcontextprotocol/protocolVersion' } }],
    [404, ''],
  ];
  for (const [status, refusal] of refusals) {
    const backend = await startRaw(t, (request) => {
      const { id, method } = JSON.parse(request.text) as { id: unknown; method: string };
      const discovered = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
      if (request.headers['mcp-method'] === undefined) request.json(refusal, { status });
      else request.json({ jsonrpc: '2.0', id, result: method === 'server/discover' ? discovered : { tools: [] } });
    });
    t.equal(findingsOf(await createProber(t).probe(backend.url)).era, 'modern', String(status));
  }
});

t.test('a server that refuses the latest version is probed in the newest that it names', async (t) => {
  for (const status of [200, 400]) {
    const offered: unknown[] = [];
    const backend = await startRaw(t, (request) => {
      if (request.method !== 'POST') return request.empty(405);
      const { id, method, params } = JSON.parse(request.text) as {
        id?: unknown;
        method: string;
        params?: { protocolVersion?: string };
      };
      if (id === undefined) return request.empty(202);
      if (method !== 'initialize') return request.empty(404);
      offered.push(params?.protocolVersion);
      const error = { code: -32602, message: 'Unsupported protocol version', data: { supported: ['2025-06-18'] } };
      const result = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 's', version: '1' } };
      if (offered.length === 1) request.json({ jsonrpc: '2.0', id, error }, { status });
      else request.json({ jsonrpc: '2.0', id, result });
    });
    t.equal(findingsOf(await createProber(t).probe(backend.url)).era, 'legacy', String(status));
    t.same(offered, ['2025-11-25', '2025-06-18']);
  }
});

t.test('a server of both eras is recorded with both, any other with its own, whatever discovery gets', async (t) => {
  const answers: Readonly<Record<string, (request: ReceivedRequest, id: unknown) => void>> = {
    both: (request, id) =>
      request.json({ jsonrpc: '2.0', id, result: { supportedVersions: ['2026-07-28'], capabilities: {} } }),
    'another version': (request, id) =>
      request.json({ jsonrpc: '2.0', id, result: { supportedVersions: ['2030-01-01'], capabilities: {} } }),
    'an error': (request) => request.empty(400),
  };
  await Promise.all(
    Object.entries(answers).map(async ([what, answer]) => {
      const backend = await startRaw(t, (request) => {
        if (request.text === '') return request.empty(request.method === 'DELETE' ? 200 : 405);
        const { id, method } = JSON.parse(request.text) as { id: unknown; method: string };
        const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'a', version: '1' } };
        if (method === 'server/discover') answer(request, id);
        else if (id === undefined) request.empty(202);
        else request.json({ jsonrpc: '2.0', id, result: method === 'initialize' ? result : { tools: [] } });
      });
      const { era, eras } = findingsOf(await createProber(t, { deadlines: stoppedClock() }).probe(backend.url));
      t.same([era, eras], ['legacy', what === 'both' ? ['legacy', 'modern'] : ['legacy']], what);
    }),
  );
});

t.test('both eras are found even where the operators’ own authority vouches for the server', async (t) => {
  const { server, authority } = createCertificates(t);
  const results: Readonly<Record<string, object>> = {
    initialize: INITIALIZE_RESULT,
    'server/discover': { supportedVersions: ['2026-07-28', '2025-11-25'], capabilities: {} },
  };
  const handler: RawHandler = (request) => {
    if (request.text === '') return request.empty(405);
    const { id, method } = JSON.parse(request.text) as { id?: unknown; method: string };
    if (id === undefined) request.empty(202);
    else request.json({ jsonrpc: '2.0', id, result: results[method] ?? { tools: [] } });
  };
  const tls = { key: server.privateKey, cert: server.certificate };
  const backend = await startRawBackend(handler, { hearsDiscovery: true, tls });
  t.teardown(() => backend.close());
  const authorities = readFileSync(authority.certificatePath, 'utf8');
  const prober = createProber(t, { authorities, deadlines: stoppedClock() });
  t.same(findingsOf(await prober.probe(backend.url)).eras, ['legacy', 'modern']);
});

t.test(
  'all pages of a server without sessions are read, even from event streams; a list of an unknown type is none',
  async (t) => {
    const pages: Readonly<Record<string, object>> = {
      none: { tools: [{ name: 'a', inputSchema: {} }], nextCursor: '', resultType: 'complete' },
      '': { tools: [{ name: 'b', inputSchema: {} }] },
    };
    const serve = (resultOf: (params: { cursor?: string }) => unknown): RawHandler => {
      return (request) => {
        const { id, method, params } = JSON.parse(request.text) as { id: unknown; method: string; params: object };
        if (method === 'initialize')
          return request.json({ jsonrpc: '2.0', id, error: { code: -32022, message: 'x' } }, { status: 400 });
        const discovered = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
        const result = method === 'server/discover' ? discovered : resultOf(params);
        const event = `: hello\n\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`;
        request.json(event, { headers: { 'content-type': 'text/event-stream' } });
      };
    };
    const paged = await startRaw(
      t,
      serve(({ cursor = 'none' }) => pages[cursor]),
    );
    const { tools } = findingsOf(await createProber(t).probe(paged.url));
    t.same(
      tools.map(({ name }) => name),
      ['a', 'b'],
    );
    const partial = await startRaw(
      t,
      serve(() => ({ tools: [], resultType: 'partial' })),
    );
    const reason = 'its responses are not MCP in a supported version';
    t.same(await createProber(t).probe(partial.url), { kind: 'failed', reason });
  },
);

t.test('a server that speaks only later versions of MCP is reported as such', async (t) => {
  const later = { code: -32022, message: 'x', data: { supported: ['2026-07-28'] } };
  const answers: readonly (readonly [error: object, reason: string])[] = [
    [later, 'it speaks only later versions of MCP (2026-07-28)'],
    [{ ...later, code: -32602 }, 'it speaks only later versions of MCP (2026-07-28)'],
    [{ code: -32020, message: 'x' }, 'it speaks only later versions of MCP'],
    [{ code: -32601, message: 'x' }, 'it does not support initialize; it may only speak later versions of MCP'],
    [{ ...later, data: { supported: ['2023-01-01'] }, code: 1 }, 'it speaks no supported version of MCP (2023-01-01)'],
  ];
  for (const [error, reason] of answers) {
    for (const status of [200, 400, 404]) {
      const backend = await startRaw(t, (request) => {
        const id = status === 404 ? undefined : (JSON.parse(request.text) as { id?: unknown }).id;
        request.json({ jsonrpc: '2.0', id, error }, { status });
      });
      t.same(
        await createProber(t).probe(backend.url),
        { kind: 'failed', reason },
        `${status} ${JSON.stringify(error)}`,
      );
    }
  }
  for (const text of ['', 'no', '{"error":1}', 'null']) {
    const backend = await startRaw(t, (request) => request.json(text, { status: 400 }));
    t.same(
      await createProber(t).probe(backend.url),
      { kind: 'failed', reason: 'it responded with HTTP status 400' },
      text,
    );
  }
});

t.test('a redirect is reported with the path that it leads to, and nothing that could be secret', async (t) => {
  const redirects = 'it redirects, and redirects are not followed: register the URL that it redirects to';
  const places = {
    '/mcp/?key=s3cret': ' (the path /mcp/)',
    'https://u:s3cret@elsewhere.example/s3cret': ' (another origin)',
  };
  for (const [location, place] of Object.entries(places)) {
    const backend = await startRaw(t, (request) => request.empty(307, { location }));
    t.same(await createProber(t).probe(backend.url), { kind: 'failed', reason: redirects + place });
  }
});

t.test(
  'a list whose cursor comes again, or is empty, is asked for once more, and the server counts as reached',
  async (t) => {
    for (const cursor of ['same', '']) {
      let asked = 0;
      const backend = await startRaw(
        t,
        byMethod({
          initialize: (answer) => answer.result(INITIALIZE_RESULT),
          'tools/list': (answer) => {
            asked += 1;
            answer.result({ tools: [{ name: 'x', inputSchema: { type: 'object' } }], nextCursor: cursor });
          },
        }),
      );
      t.match(await createProber(t).probe(backend.url), { kind: 'reached' }, cursor);
      t.equal(asked, 2, cursor);
    }
    for (const status of [400, 404, 500]) {
      const list = byMethod({
        initialize: (answer) => answer.result(INITIALIZE_RESULT),
        'tools/list': (answer) => answer.result({ tools: [{ name: 'x', inputSchema: {} }], nextCursor: '' }),
      });
      const backend = await startRaw(t, (request) =>
        request.text.includes('"cursor":""') ? request.empty(status) : list(request),
      );
      const { tools } = findingsOf(await createProber(t).probe(backend.url));
      t.equal(tools.length, 1, `the empty cursor is refused with ${status}`);
    }
  },
);

t.test('of a list without an end its beginning is read', async (t) => {
  let asked = 0;
  const endless: ProbedServer = {
    capabilities: { tools: {}, prompts: {} },
    ask: async (method, _params, schema) => {
      asked += 1;
      const item = { name: 'x', inputSchema: { type: 'object' } };
      return schema.parse({ [method === 'tools/list' ? 'tools' : 'prompts']: [item], nextCursor: `page ${asked}` });
    },
  };
  const { tools, prompts } = await readLists(endless);
  t.same([...tools.items.keys()], ['x']);
  t.equal(prompts?.items.size, 1);
  t.equal(asked, 2 * limits.listPagesMax);
});

t.test('50 MB are not read', async (t) => {
  const flood = async function* (): AsyncGenerator<Buffer> {
    for (let sent = 0; sent < 50; sent++) yield Buffer.alloc(MIB, ' ');
  };
  const largeTools = Array.from({ length: 50 }, (_, n) => ({ name: `${n}`, inputSchema: { big: 'x'.repeat(MIB) } }));
  const floods: Readonly<Record<string, RawHandler>> = {
    'in one answer': async (request) => request.chunked(flood()),
    'in one event': async (request) => {
      await request.chunked(flood(), { headers: { 'content-type': 'text/event-stream' } });
    },
    'in an error answer': async (request) => request.chunked(flood(), { status: 500 }),
    'in a page each': byMethod({
      initialize: (answer) => answer.result(INITIALIZE_RESULT),
      'tools/list': (answer) => {
        const place = Number((answer.params as { cursor?: string } | undefined)?.cursor ?? 0);
        answer.result({ tools: [largeTools[place]], nextCursor: `${place + 1}` });
      },
    }),
  };
  for (const [where, handler] of Object.entries(floods)) {
    const backend = await startRaw(t, handler);
    const receivedBytes = countBytes(backend);
    const isStatus = where === 'in an error answer';
    const reason = isStatus ? 'it responded with HTTP status 500' : 'its responses are too large';
    t.same(await createProber(t).probe(backend.url), { kind: 'failed', reason }, where);
    await until(() => backend.openConnections === 0, 'the end of the connection');
    t.ok(receivedBytes() < 30 * MIB, `${where}: ${receivedBytes()} bytes left the server`);
  }
});

/** Bytes that the backend's connections have written, including those still in the kernel's buffers. */
function countBytes(backend: RawBackend): () => number {
  return () =>
    [...new Set(backend.requests.map(({ connection }) => connection))].reduce(
      (bytes, { bytesWritten }) => bytes + bytesWritten,
      0,
    );
}

t.test('a compressed answer is not unpacked; none is asked for', async (t) => {
  const backend = await startRaw(t, (request) => request.json('x', { headers: { 'content-encoding': 'gzip' } }));
  t.match(await createProber(t).probe(backend.url), { kind: 'failed', reason: /compressed.*: content-encoding gzip$/ });
  t.equal(backend.requests[0]?.headers['accept-encoding'], 'identity');
});

t.test('a redirect is followed once, with its body, and only within the origin', async (t) => {
  const target = await startMcp(t, { tools: ['a'] });
  for (const status of [301, 302, 303, 307, 308]) {
    const backend = await startRaw(t, (request) => {
      const isFollowed = request.path !== '/mcp';
      request.empty(isFollowed ? 503 : status, { location: status === 308 ? '/elsewhere' : target.url });
    });
    const reason = status === 308 ? /status 503/ : /redirects are not followed/;
    t.match(await createProber(t).probe(backend.url), { kind: 'failed', reason });
    t.equal(backend.requests.length, status === 308 ? 2 : 1);
    t.equal(backend.requests.at(-1)?.text, backend.requests[0]?.text);
  }
  t.equal(target.raw.requests.length, 0);
});

t.test(
  'a probe with credentials follows no redirect to another path, and 401 is reported whatever comes with it',
  async (t) => {
    const own = ['authorization', 'Bearer x'];
    const moving = await startRaw(t, (request) => request.empty(307, { location: '/elsewhere' }));
    const moved = await createProber(t).probe(moving.url, own);
    t.match(moved, { kind: 'failed', reason: /redirects are not followed.* \(the path \/elsewhere\)$/ });
    t.equal(moving.requests.length, 1);
    const refusing = await startRaw(t, (request) => {
      const { id } = JSON.parse(request.text) as { id: unknown };
      request.json({ jsonrpc: '2.0', id, error: { code: -32_000, message: 'no' } }, { status: 401 });
    });
    const refused = await createProber(t).probe(refusing.url, own);
    t.same(refused, {
      kind: 'failed',
      reason: 'it responded with HTTP status 401: credentials (`auth`) are missing or wrong',
    });
  },
);

t.test('a probe goes on at the node at which a cookie holds its session, and the next begins without', async (t) => {
  const cookies: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    cookies.push(request.headers.cookie);
    response.setHeader('set-cookie', ['node=1; Path=/mcp', 'other=2; Path=/elsewhere']);
    response.setHeader('content-type', 'application/json');
    let text = '';
    request.on('data', (piece) => (text += String(piece)));
    request.on('end', () => {
      const { id, method } = JSON.parse(text || '{}') as { id?: number; method?: string };
      const result = method === 'initialize' ? INITIALIZE_RESULT : { tools: [] };
      if (method === 'server/discover') response.writeHead(400).end();
      else if (id === undefined) response.writeHead(202).end();
      else response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  for (let probe = 0; probe < 2; probe++) {
    cookies.length = 0;
    t.equal((await createProber(t).probe(url)).kind, 'reached');
    t.same(cookies.slice(0, 3), [undefined, 'node=1', 'node=1']);
  }
});

t.test('a status and a JSON-RPC error are reported by their numbers', async (t) => {
  const refusing = await startRaw(t, (request) => request.json('secret words', { status: 403 }));
  t.same(await createProber(t).probe(refusing.url), { kind: 'failed', reason: 'it responded with HTTP status 403' });
  const failing = await startRaw(t, (request) => {
    const { id } = JSON.parse(request.text) as { id: number };
    request.json({ jsonrpc: '2.0', id, error: { code: -32_001, message: 'secret words' } });
  });
  t.same(await createProber(t).probe(failing.url), {
    kind: 'failed',
    reason: 'it responded with JSON-RPC error -32001',
  });
});

t.test('failed connections are reported by their kind', async (t) => {
  const prober = createProber(t);
  const gone = await startRaw(t, () => {});
  gone.stopListening();
  t.same(await prober.probe(gone.url), { kind: 'failed', reason: 'it refuses connections' });
  const closing = await startRaw(t, (request) => request.destroy());
  t.match(await prober.probe(closing.url), { kind: 'failed', reason: /closed the connection/ });
  const halfway = await startRaw(t, (request) => {
    request.bytes('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{');
    request.destroy();
  });
  t.match(await prober.probe(halfway.url), { kind: 'failed', reason: /closed the connection/ });
  const broken = await startRaw(t, async (request) => {
    await request.eventStream().comment('hello');
    request.reset();
  });
  t.match(await prober.probe(broken.url), { kind: 'failed', reason: /closed the connection/ });
  const { server, authority } = createCertificates(t);
  const untrusted = await startMcp(t, { tls: { key: server.privateKey, cert: server.certificate } });
  t.match(await prober.probe(untrusted.url), { kind: 'failed', reason: /^TLS failed [A-Z_]+$/ });
  const authorities = readFileSync(authority.certificatePath, 'utf8');
  t.equal(
    (await createProber(t, { authorities }).probe(untrusted.url)).kind,
    'reached',
    'its authority is the operators',
  );
  const nameServer = await startNameServer();
  t.teardown(() => nameServer.close());
  const unknown = createProber(t, { names: { nameServers: [nameServer.address] } });
  t.same(await unknown.probe('http://nowhere.example/mcp'), {
    kind: 'failed',
    reason: 'its host name cannot be resolved',
  });
});

t.test('refused addresses are not connected to, by any of their names', async (t) => {
  const backend = await startMcp(t, { tools: ['a'] });
  const { port } = new URL(backend.url);
  const nameServer = await startNameServer({ ...REFUSED_NAMES, 'fine.test': { addresses: ['127.0.0.1'] } });
  t.teardown(() => nameServer.close());
  const prober = createProber(t, { names: { nameServers: [nameServer.address] } });
  const refusal = { kind: 'failed', reason: /its address is refused/ } as const;
  const found = findingsOf(await prober.probe(`http://fine.test:${port}/mcp`));
  t.equal(found.tools.length, 1, 'a name is fine by itself');
  const requestCount = backend.raw.requests.length;
  for (const name of Object.keys(REFUSED_NAMES))
    t.match(await prober.probe(`http://${name}:${port}/mcp`), refusal, name);
  t.equal(backend.raw.requests.length, requestCount, 'and the good address is not used either');
  for (const host of ['169.254.169.254', '0xa9fea9fe', '[::ffff:169.254.169.254]', '[fe80::1]', '100.100.100.200']) {
    t.match(await createProber(t).probe(`http://${host}:${port}/mcp`), refusal, host);
  }
});

t.test('an address that changes between two connections is checked again', async (t) => {
  const nameServer = await startNameServer({ 'turning.test': { addresses: ['127.0.0.1'], ttl: 0 } });
  t.teardown(() => nameServer.close());
  const backend = await startRaw(t, async (request) => {
    const { id } = JSON.parse(request.text) as { id: number };
    nameServer.records['turning.test'] = { addresses: ['169.254.169.254'], ttl: 0 };
    // What was found is used for a moment.
    await sleep(NAME_AGE_MS_MIN);
    request.json({ jsonrpc: '2.0', id, result: INITIALIZE_RESULT }, { headers: { connection: 'close' } });
    request.destroy();
  });
  const { port } = new URL(backend.url);
  const prober = createProber(t, { names: { nameServers: [nameServer.address] } });
  t.match(await prober.probe(`http://turning.test:${port}/mcp`), {
    kind: 'failed',
    reason: /its address is refused/,
  });
  t.equal(backend.requests.length, 1);
});

t.test('where networks are configured, no server outside of them is reached', async (t) => {
  const backend = await startMcp(t, { tools: ['a'] });
  const { port } = new URL(backend.url);
  const prober = createProber(t, { names: { allowedNetworks: ['127.0.0.0/24'] } });
  t.equal(findingsOf(await prober.probe(backend.url)).tools.length, 1);
  const count = backend.raw.requests.length;
  for (const host of ['127.0.1.1', '[::1]']) {
    const refusal = { kind: 'failed', reason: 'its address is not in --upstream-allowed-networks' };
    t.same(await prober.probe(`http://${host}:${port}/mcp`), refusal, host);
  }
  t.equal(backend.raw.requests.length, count);
});

t.test('a server of the older transport is read over that transport alone', async (t) => {
  const server = await startSseServer(t);
  server.accepted = 'Bearer x';
  const prober = createProber(t);
  const probe = async (url: string): Promise<ProbeResult> => prober.probe(url, ['authorization', 'Bearer x'], 'SSE');
  const { tools, serverInfo } = findingsOf(await probe(server.url));
  t.same(
    [tools.map(({ name }) => name), serverInfo],
    [['echo', 'hang', 'ask', 'steps'], { name: 'sse', version: '1' }],
  );
  await until(() => server.open === 0, 'the end of its stream');
  t.equal(server.opened, 1);
  const reasonOf = (found: ProbeResult): string => (found.kind === 'failed' ? found.reason : found.kind);
  t.equal(
    reasonOf(await prober.probe(server.url, [], 'SSE')),
    'it responded with HTTP status 401: credentials (`auth`) are missing or wrong',
  );
  t.match(reasonOf(await prober.probe(server.url, ['authorization', 'Bearer x'])), /HTTP status 404/);

  const scripted = async (answer: (request: ReceivedRequest) => void | Promise<void>): Promise<RawBackend> =>
    startRaw(t, (request) => (request.method === 'GET' ? answer(request) : request.empty(202)));
  const away = await scripted(async (request) =>
    request.eventStream().event('http://127.0.0.1:1/m', { event: 'endpoint' }),
  );
  t.match(reasonOf(await probe(away.url)), /endpoint event names another origin/);
  const plain = await scripted((request) => request.json('{}'));
  t.match(reasonOf(await probe(plain.url)), /not MCP/);
  const ended = await scripted(async (request) => {
    const stream = request.eventStream();
    await stream.event('?s=1', { event: 'endpoint' });
    stream.end();
  });
  t.match(reasonOf(await probe(ended.url)), /not MCP|closed the connection/);
  const endless = await scripted(async (request) => {
    const stream = request.eventStream();
    await stream.event('?s=1', { event: 'endpoint' });
    while (!request.connection.destroyed) await stream.bytes('x'.repeat(MIB));
  });
  t.equal(reasonOf(await probe(endless.url)), 'its responses are too large');
  const silent = createProber(t, { timeoutMs: 300 });
  const unnamed = await scripted((request) => void request.eventStream());
  t.equal(reasonOf(await silent.probe(unnamed.url, [], 'SSE')), 'it did not respond in time');
});

t.test('after the close a probe in flight is over, and none begins', async (t) => {
  const backend = await startRaw(t, () => {});
  const prober = createProber(t);
  const probe = prober.probe(backend.url);
  await backend.request(0);
  prober.close();
  await t.rejects(probe, ProberClosedError);
  await t.rejects(prober.probe(backend.url), ProberClosedError);
  t.equal(backend.requests.length, 1);
});

t.test('after the close nothing is known of a server whose lists are read, either', async (t) => {
  const answers = byMethod({ initialize: (answer) => answer.result({ ...INITIALIZE_RESULT, capabilities: {} }) });
  const isLast = ({ text }: ReceivedRequest): boolean => text.includes('"server/discover"');
  const backend = await startRaw(t, (request) => (isLast(request) ? undefined : answers(request)));
  const prober = createProber(t);
  const probe = prober.probe(backend.url);
  await until(() => backend.requests.some(isLast), 'the question for the other era');
  prober.close();
  await t.rejects(probe, ProberClosedError);
});

t.test('what is no URL is a failed probe like any other', async (t) => {
  t.match(await createProber(t).probe('no URL'), { kind: 'failed' });
});

t.test('a port that does not speak TLS is called that, beside the code of Node.js', async (t) => {
  const fault = new ProbeFault('tls-failed', 'ERR_SSL_WRONG_VERSION_NUMBER');
  t.equal(fault.message, 'TLS failed ERR_SSL_WRONG_VERSION_NUMBER: that port does not speak TLS');
});
