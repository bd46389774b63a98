// The SDK's client, through the gateway, to servers made with the SDK: the client gets exactly what the servers themselves give.
// One server responds in JSON, one with event streams; a third, scripted, is a bystander.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
  McpError,
  type ServerNotification,
} from '@modelcontextprotocol/sdk/types.js';
import t from 'tap';
import { startDemoBackend, type DemoBackend } from '../../demo/demo-backend.js';
import { backendFor, startDeployment } from '../support/deployment.js';
import { connectSdkClient, type SdkClient } from '../support/sdk-client.js';
import { until } from '../support/until.js';

const FAULT = { code: -32042, message: 'the lights are out', data: { floor: 7, rooms: ['a', 'b'] } };
const STEPS = 20;

/** What the handlers of one server have recorded. */
interface Journal {
  readonly waiting: string[];
  readonly aborted: string[];
  readonly closed: string[];
}

/** A server whose tools report progress, wait until they are cancelled, and fail. */
function createServer(name: string, journal: Journal): McpServer {
  const mcpServer = new McpServer({ name, version: '1.0.0' }, { capabilities: { tools: {} } });
  const { server } = mcpServer;
  server.onclose = () => void journal.closed.push(name);
  // Low-level handlers, because McpServer would turn an error thrown by a tool into a result.
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: ['work', 'wait', 'fail'].map((tool) => ({
      name: tool,
      description: `${tool} of ${name}, naïvely “quoted” \u{1f600}`,
      inputSchema: { type: 'object' as const, properties: { key: { type: 'string' } } },
      annotations: { readOnlyHint: true },
    })),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal, _meta, sendNotification }) => {
    const key = String(params.arguments?.['key']);
    if (params.name === 'fail') throw new McpError(FAULT.code, FAULT.message, FAULT.data);
    if (params.name === 'wait') {
      journal.waiting.push(key);
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      journal.aborted.push(key);
    }
    const progressToken = _meta?.progressToken;
    for (let progress = 1; progressToken !== undefined && progress <= STEPS; progress++) {
      const step = { progressToken, progress, total: STEPS, message: `${progress} of ${STEPS}` };
      await sendNotification({ method: 'notifications/progress', params: step } satisfies ServerNotification);
    }
    return { content: [{ type: 'text', text: `${name} did ${key}` }], structuredContent: { name, key, pi: 3.14 } };
  });
  return mcpServer;
}

function emptyJournal(): Journal {
  return { waiting: [], aborted: [], closed: [] };
}

const journals = { json: emptyJournal(), stream: emptyJournal() };
const backends: Record<keyof typeof journals, DemoBackend> = {
  json: await startDemoBackend({ createMcpServer: () => createServer('json', journals.json), answerAs: 'json' }),
  stream: await startDemoBackend({
    createMcpServer: () => createServer('stream', journals.stream),
    answerAs: 'event-stream',
  }),
};
t.teardown(() => Promise.all([backends.json.close(), backends.stream.close()]));
const names = ['json', 'stream'] as const;
const bystander = await backendFor(t, { tools: ['look'], withSessions: true });
// Long timeouts: the backends must be ready when the session opens, however slow the machine is.
const options = ['--initialize-patience', '60s', '--initialize-timeout', '60s'];
const deployment = await startDeployment(t, { workerCount: 4, options });
const caller = await deployment.caller({
  stream: { url: backends.stream.url },
  bystander: { url: bystander.url },
  json: { url: backends.json.url },
});

async function connect(t: Parameters<typeof connectSdkClient>[0]): Promise<SdkClient> {
  return connectSdkClient(t, caller.origin + caller.path, caller.token);
}

t.test('the client initializes, lists one merged and sorted list, and pings', async (t) => {
  const { client, transport } = await connect(t);
  t.match(client.getServerVersion(), { name: 'switchyard' });
  t.same(client.getServerCapabilities(), { tools: { listChanged: true } }, 'what the servers declare, together');
  t.match(transport.sessionId, /^[\x21-\x7e]{32,}$/);
  const { tools } = await client.listTools();
  t.same(
    tools.map(({ name }) => name),
    ['bystander-look', 'json-fail', 'json-wait', 'json-work', 'stream-fail', 'stream-wait', 'stream-work'],
  );
  for (const name of names) {
    const { client: direct } = await connectSdkClient(t, backends[name].url, undefined);
    const own = (await direct.listTools()).tools.map((tool) => ({ ...tool, name: `${name}-${tool.name}` }));
    const merged = tools.filter((tool) => tool.name.startsWith(`${name}-`));
    t.same(merged, own.sort(byName), `the tools of ${name} with nothing but their names changed`);
  }
  t.same(await client.ping(), {});
});

for (const name of names) {
  t.test(`a result of a server that answers as ${name} is the server's own`, async (t) => {
    const { client } = await connect(t);
    const { client: direct } = await connectSdkClient(t, backends[name].url, undefined);
    const call = { name: 'work', arguments: { key: 'k' } };
    t.same(await client.callTool({ ...call, name: `${name}-work` }), await direct.callTool(call));
  });

  t.test(`an error of a server that answers as ${name} has its own code, message and data`, async (t) => {
    const { client } = await connect(t);
    const { client: direct } = await connectSdkClient(t, backends[name].url, undefined);
    const own = await failureOf(direct.callTool({ name: 'fail' }));
    t.match(own, { code: FAULT.code, data: FAULT.data });
    t.same(await failureOf(client.callTool({ name: `${name}-fail` })), own);
  });

  t.test(`an aborted call is cancelled at the server that answers as ${name}, and nowhere else`, async (t) => {
    const { client } = await connect(t);
    const journal = journals[name];
    const other = journals[name === 'json' ? 'stream' : 'json'];
    const othersAbortedBefore = other.aborted.length;
    const abortion = new AbortController();
    const kept = new AbortController();
    const aborted = client.callTool({ name: `${name}-wait`, arguments: { key: 'aborted' } }, undefined, {
      signal: abortion.signal,
    });
    const rejected = t.rejects(aborted, /enough/);
    const neighbour = client.callTool({ name: `${name}-wait`, arguments: { key: 'kept' } }, undefined, {
      signal: kept.signal,
    });
    await until(() => journal.waiting.includes('aborted') && journal.waiting.includes('kept'), 'both calls');
    abortion.abort('enough');
    await rejected;
    await until(() => journal.aborted.includes('aborted'), "the abort of the handler's signal");
    t.notOk(journal.aborted.includes('kept'), 'the other call of the same session runs on');
    await client.callTool({ name: 'bystander-look' });
    t.same(bystander.requestsOf('notifications/cancelled'), [], 'another backend hears nothing of it');
    t.equal(other.aborted.length, othersAbortedBefore);
    const keptEnds = t.rejects(neighbour);
    kept.abort();
    await keptEnds;
    t.match(await client.callTool({ name: `${name}-work`, arguments: { key: 'after' } }), {
      structuredContent: { key: 'after' },
    });
  });
}

t.test('progress arrives complete, in order, and before the result', async (t) => {
  const { client } = await connect(t);
  const keys = ['one', 'two', 'three'];
  await Promise.all(
    keys.map(async (key) => {
      const seen: number[] = [];
      const result = await client.callTool({ name: 'stream-work', arguments: { key } }, undefined, {
        onprogress: ({ progress, total, message }) => {
          if (total === STEPS && message === `${progress} of ${STEPS}`) seen.push(progress);
        },
      });
      t.same(
        seen,
        Array.from({ length: STEPS }, (_, index) => index + 1),
        `all steps of call ${key}, when its result is there`,
      );
      t.match(result, { structuredContent: { key } });
    }),
  );
});

t.test('a terminated session is ended at every server, and its id is no longer valid', async (t) => {
  const { client, transport } = await connect(t);
  await client.listTools();
  const sessionId = transport.sessionId;
  const upstreamId = bystander.requestsOf('tools/list').at(-1)?.headers['mcp-session-id'];
  const closedBefore = names.map((name) => journals[name].closed.length);
  await transport.terminateSession();
  await until(() => bystander.deletedSessions.some((id) => id === upstreamId), 'the DELETE at the scripted server');
  for (const [index, name] of names.entries()) {
    await until(() => journals[name].closed.length === closedBefore[index]! + 1, `the end of the session at ${name}`);
  }
  t.equal(
    (await caller.send({ session: sessionId ?? '', body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' })).status,
    404,
  );
});

function byName(one: { readonly name: string }, other: { readonly name: string }): number {
  return one.name < other.name ? -1 : 1;
}

async function failureOf(call: Promise<unknown>): Promise<{ code: number; message: string; data: unknown }> {
  try {
    await call;
  } catch (error) {
    if (error instanceof McpError) return { code: error.code, message: error.message, data: error.data };
    throw error;
  }
  throw new Error('the call did not fail');
}
