// What works with a server directly works through the gateway: a real server made with the SDK, in front of which stands an oddity of the
// field, is used by the SDK's client in the same way with the gateway between them and without.
import { type ServerResponse } from 'node:http';
import { type McpError } from '@modelcontextprotocol/sdk/types.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import t, { type Test } from 'tap';
import { backendFor, forEachDeployment } from '../support/deployment.js';
import { startMcpBackend, type McpBackend } from '../support/mcp-backend.js';
import { McpCaller } from '../support/mcp-caller.js';
import { callTool, envelope } from '../support/modern-caller.js';
import { EventReader } from '../support/event-reader.js';
import { readEvents } from '../support/event-stream.js';
import { memberText } from '../support/json-text.js';
import type { HttpAnswer } from '../support/raw-http.js';
import { connectSdkClient } from '../support/sdk-client.js';
import { startSseServer } from '../support/sse-server.js';
import { until } from '../support/until.js';
import {
  type Oddity,
  startCompressor,
  startOddServer,
  refuse,
  errorFor,
  ignore,
  withStatus,
} from '../support/odd-server.js';
import { use, connectListening, connectNewClient } from '../support/direct-clients.js';

const GREETING = { messages: [{ role: 'user', content: { type: 'text', text: 'Hello' } }] };

/** A server that answers `initialize` only when it is told to. */
async function startLateServer(
  t: Test,
  capabilities: Readonly<Record<string, object>>,
): Promise<{ readonly url: string; open(): void }> {
  let open = ignore;
  const isOpen = new Promise<void>((resolve) => (open = resolve));
  const { url } = await backendFor(t, {
    capabilities,
    methods: { 'prompts/list': () => ({ prompts: [{ name: 'greet' }] }), 'prompts/get': () => GREETING },
    onRequest: async ({ text }) => {
      if (text.includes('"initialize"')) await isOpen;
      return false;
    },
  });
  t.teardown(open);
  return { url, open };
}

/** Writes something before whatever else is written to a stream. */
function beforeEvents(text: string): (response: ServerResponse) => void {
  return (response) => {
    const writeHead = response.writeHead.bind(response);
    response.writeHead = ((status: number, headers: Record<string, string> = {}) => {
      const entries = Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'content-length');
      writeHead(status, Object.fromEntries(entries));
      if (entries.some(([, value]) => String(value).includes('event-stream'))) response.write(text);
      return response;
    }) as typeof response.writeHead;
  };
}

/** Notifications are taken, but their answer never ends. */
function endlessNotices(headers: Record<string, string>): (response: ServerResponse) => void {
  return (response) => {
    const writeHead = response.writeHead.bind(response) as (...words: unknown[]) => ServerResponse;
    response.writeHead = (status: number, ...words: unknown[]) => {
      if (status !== 202) return writeHead(status, ...words);
      response.end = () => response;
      writeHead(status, headers).flushHeaders();
      return response;
    };
  };
}

const LOGGED = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}';

/** Changes the body of each answer in JSON, and adds headers to it. */
function withBody(
  change: (body: string) => string,
  added: Readonly<Record<string, string>> = {},
): (response: ServerResponse) => void {
  return (response) => {
    const end = response.end.bind(response) as (body?: unknown) => ServerResponse;
    response.removeHeader('content-length');
    const writeHead = response.writeHead.bind(response);
    response.writeHead = ((status: number, headers: Record<string, string> = {}) =>
      writeHead(status, {
        ...Object.fromEntries(Object.entries(headers).filter(([name]) => !/length/i.test(name))),
        ...(String(Object.values(headers)).includes('json') && added),
      })) as never;
    response.end = ((body?: string | Buffer) => end(body === undefined ? body : change(String(body)))) as never;
  };
}

function inArray(before: string): (response: ServerResponse) => void {
  return withBody((body) => `[${before}${body}]`);
}

const ODDITIES: Readonly<Record<string, () => Oddity>> = {
  none: () => ({}),
  'GET is answered with 404, by a framework': () => ({
    answers: ({ method }, response) => method === 'GET' && refuse(response, 404, 'Cannot GET /mcp'),
  }),
  'GET is refused with 400 after a stream that has ended': () => {
    let asked = 0;
    return {
      answers: ({ method }, response) => {
        if (method !== 'GET') return false;
        asked += 1;
        if (asked > 1) return refuse(response, 400, 'session already exists');
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': hello\n\n');
        return true;
      },
      settled: () => until(() => asked > 1, 'the stream to be asked for again'),
    };
  },
  'named heartbeats before the answer': () => ({ changes: beforeEvents('event: ping\ndata: {"at":"12:00"}\n\n') }),
  'heartbeats without a name': () => ({ changes: beforeEvents('data: {"at":"12:00"}\n\ndata: still here\n\n') }),
  'each answer as the only element of an array': () => ({ isJson: true, changes: inArray('') }),
  'each answer in an array with a notification': () => ({ isJson: true, changes: inArray(`${LOGGED},`) }),
  'a byte order mark before each answer': () => ({ isJson: true, changes: withBody((body) => `\ufeff${body}`) }),
  'the id of each answer as text': () => ({
    isJson: true,
    changes: withBody((body) => body.replace(/"id":(\d+)/, '"id":"$1"')),
  }),
  'a content coding without a name': () => ({
    isJson: true,
    changes: withBody((body) => body, { 'content-encoding': '' }),
  }),
  '201 with the answer': () => ({ changes: withStatus(201), isJson: true }),
  'a redirect to the path with a slash': () => ({
    answers: ({ url }, response) => {
      if (url !== '/mcp') return false;
      response.writeHead(307, { location: '/mcp/' }).end();
      return true;
    },
  }),
  'a redirect of everything, session and all, to another path': () => ({
    answers: ({ url }, response) => {
      if (url !== '/mcp') return false;
      response.writeHead(308, { location: '/v2/mcp' }).end();
      return true;
    },
  }),
  'a firewall that refuses requests without a user agent': () => ({
    answers: ({ headers }, response) => !headers['user-agent'] && refuse(response, 403, '<h1>Forbidden</h1>'),
  }),
  'another session id in each answer, and the old one no longer known': () => ({
    renames: true,
    // A stream that is asked for while a request is answered would carry the old one.
    answers: ({ method }, response) => method === 'GET' && refuse(response, 405, ''),
  }),
  'an empty cursor at the end': () => ({ page: () => ({ names: ['count', 'report'], nextCursor: '' }) }),
  'a cursor that leads to its own page': () => ({
    page: (cursor) => ({ names: cursor === undefined ? ['count'] : ['report'], nextCursor: 'b' }),
  }),
  'cursors that go round': () => ({
    page: (cursor) => ({
      names: cursor === undefined ? ['count'] : cursor === 'b' ? ['report'] : [],
      nextCursor: cursor === 'b' ? 'c' : 'b',
    }),
  }),
  'notifications answered with a stream that stays open': () => ({
    changes: endlessNotices({ 'content-type': 'text/event-stream' }),
  }),
  'notifications whose answer never ends': () => ({ changes: endlessNotices({}) }),
  'a version that was a draft of the first': () => ({ version: '2024-10-07' }),
  'a server of both revisions that names the one without sessions alone': () => ({ discovers: ONE_REVISION }),
  'a server of both revisions whose other revision gets 404 without a session': () => ({
    discovers: ONE_REVISION,
    answers: ({ headers }, response) =>
      headers['mcp-method'] !== undefined && !headers['mcp-session-id'] && refuse(response, 404, 'Session not found'),
  }),
  'a session that lives while pings are answered': () => {
    let isAlive = false;
    return {
      onPinged: () => (isAlive = true),
      settled: () => until(() => isAlive, 'the ping to be answered'),
    };
  },
};

const ONE_REVISION = (id: string): { status: number; body: string } => ({
  status: 200,
  body: `{"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"public","serverInfo":{"name":"odd","version":"1"}}}`,
});

/** How servers with sessions refuse what they do not know. */
const DISCOVERIES: Readonly<Record<string, NonNullable<Oddity['discovers']>>> = {
  'an internal error': (id) => errorFor(id, 200, -32603, 'Unhandled method'),
  'invalid params': (id) => errorFor(id, 200, -32602, 'Invalid request parameters'),
  'an error without the id, as the session is missing': () =>
    errorFor('null', 400, -32000, 'Bad Request: Mcp-Session-Id header is required'),
};

/** All reports of a call's progress that a client with a session hears, as JSON: on the call's stream, and on that of its session. */
async function reportsTo(caller: McpCaller, name: string): Promise<string[]> {
  const session = await caller.openSession();
  const stream = await EventReader.open(caller, { method: 'GET', session: session.id, accept: 'text/event-stream' });
  const params = `{"name":"${name}","arguments":{},"_meta":{"progressToken":"p"}}`;
  const answer = await session.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${params}}`);
  const heard = reportsIn(answer);
  while (heard.length < 2) heard.push((await stream.next()) ?? 'the end');
  return heard.map((text) => memberText(text, 'params') ?? text);
}

function reportsIn({ body }: HttpAnswer): string[] {
  return readEvents(body).filter((text) => text.includes('notifications/progress'));
}

await forEachDeployment(t, {}, async (t, deployment) => {
  for (const [what, make] of Object.entries(ODDITIES)) {
    await t.test(`as directly: ${what}`, async (t) => {
      const direct = await startOddServer(t, make());
      const { client } = await connectSdkClient(t, direct.url, undefined);
      const expected = await use(client, '');
      t.same(expected, { tools: ['count', 'report'], counted: ['1', '2', '3', '4'] }, 'directly');

      const oddity = make();
      const behind = await startOddServer(t, oddity);
      const caller = await deployment.caller({ odd: { url: behind.url } });
      const through = await connectSdkClient(t, deployment.gateway.url(caller.virtualHostId), caller.token);
      t.same(await use(through.client, 'odd-', oddity.settled), expected, 'through the gateway');
      t.equal(behind.sessionCount(), 1, 'in one session of the server');
    });
  }

  for (const [what, discovers] of Object.entries(DISCOVERIES)) {
    await t.test(`as directly: a client of both revisions, whose server/discover gets ${what}`, async (t) => {
      const direct = await startOddServer(t, { discovers });
      const expected = await use(await connectNewClient(t, direct.url, undefined), '');
      t.same(expected, { tools: ['count', 'report'], counted: ['1', '2', '3', '4'] }, 'directly');
      const behind = await startOddServer(t, { discovers });
      const caller = await deployment.caller({ odd: { url: behind.url } });
      const client = await connectNewClient(t, deployment.gateway.url(caller.virtualHostId), caller.token);
      t.same(await use(client, 'odd-'), expected, 'through the gateway');
    });
  }

  await t.test('as directly: a server’s tools, beside another whose schemas clients refuse', async (t) => {
    const direct = await startOddServer(t, {});
    const expected = await use((await connectSdkClient(t, direct.url, undefined)).client, '');
    t.same(expected, { tools: ['count', 'report'], counted: ['1', '2', '3', '4'] }, 'directly');
    const sloppy = await startMcpBackend({
      tools: [
        { name: 'untyped', inputSchema: { properties: {} }, outputSchema: { $id: 'x' } },
        { name: 'none', inputSchema: null, outputSchema: null },
        { name: 'unsaid' },
        { name: 'listing', inputSchema: {}, outputSchema: { type: 'array' } },
        {
          name: 'php',
          title: null,
          inputSchema: { type: 'object', properties: [] },
          annotations: { readOnlyHint: null },
        },
        { name: 'go', description: null, inputSchema: { type: 'object', properties: {}, required: null }, _meta: null },
        { name: 'any', inputSchema: { type: 'object', properties: { value: true } } },
        { name: 'nowhere', outputSchema: { type: 'object', properties: { screen: { $ref: '#/$defs/Screen' } } } },
        { name: 'python', outputSchema: { type: 'object', properties: { id: { pattern: '(?P<id>x)' } } } },
        { name: 'cut', outputSchema: { type: 'object', properties: { year: { type: ['[truncated]'] } } } },
      ],
    });
    t.teardown(() => sloppy.close());
    const alone = await connectSdkClient(t, sloppy.url, undefined);
    await t.rejects(alone.client.listTools(), 'its own tools are refused directly');
    const behind = await startOddServer(t, {});
    const caller = await deployment.caller({ odd: { url: behind.url }, sloppy: { url: sloppy.url } });
    const { client } = await connectSdkClient(t, deployment.gateway.url(caller.virtualHostId), caller.token);
    const { tools, counted } = await use(client, 'odd-');
    t.same({ tools: tools.filter((name) => expected.tools.includes(name)), counted }, expected, 'through the gateway');
    t.equal(tools.length, 12, 'the others are listed, too');
  });

  await t.test('as directly: results by a schema whose id another server uses, too', async (t) => {
    const start = async (type: string, result: unknown): Promise<McpBackend> => {
      const outputSchema = { $id: 'order', type: 'object', properties: { total: { type } } };
      const tools = [{ name: 'order', inputSchema: { type: 'object' }, outputSchema }];
      return backendFor(t, { tools, onCall: () => ({ content: [], structuredContent: { total: result } }) });
    };
    const [old, fresh] = [await start('string', '7'), await start('number', 7)];
    const totalOf = async (client: Client, name: string): Promise<unknown> =>
      (await client.callTool({ name })).structuredContent;
    for (const [server, total] of [
      [old, '7'],
      [fresh, 7],
    ] as const) {
      const { client } = await connectSdkClient(t, server.url, undefined);
      await client.listTools();
      t.same(await totalOf(client, 'order'), { total }, 'directly');
    }
    const caller = await deployment.caller({ old: { url: old.url }, fresh: { url: fresh.url } });
    const { client } = await connectSdkClient(t, deployment.gateway.url(caller.virtualHostId), caller.token);
    await client.listTools();
    t.same(await totalOf(client, 'old-order'), { total: '7' }, 'through the gateway');
    t.same(await totalOf(client, 'fresh-order'), { total: 7 });
  });

  for (const era of ['legacy', 'modern'] as const) {
    await t.test(`as directly, ${era}: the prompts of a server that is slow, beside a quick one`, async (t) => {
      const late = await startLateServer(t, { tools: {}, prompts: {} });
      const quick = await backendFor(t, { tools: ['now'] });
      const caller = await deployment.caller({ quick: { url: quick.url }, late: { url: late.url } });
      const url = deployment.gateway.url(caller.virtualHostId);
      let prompts: readonly { name: string }[] = [];
      const onChanged = (_: unknown, items: readonly { name: string }[] | null): void => void (prompts = items ?? []);
      const client = await connectListening(t, era, url, caller.token, onChanged);
      t.match(client.getServerCapabilities(), { prompts: { listChanged: true }, resources: {}, completions: {} });
      late.open();
      prompts = (await client.listPrompts()).prompts;
      await until(() => prompts.length > 0, 'the prompts of the late server');
      const direct = await connectSdkClient(t, late.url, undefined);
      const expected = (await direct.client.listPrompts()).prompts.map(({ name }) => `late-${name}`);
      t.same(
        prompts.map(({ name }) => name),
        expected,
      );
      t.same((await client.getPrompt({ name: 'late-greet' })).messages, GREETING.messages);
    });

    await t.test(`${era}: what a slow server turns out not to have is empty, and no error`, async (t) => {
      const late = await startLateServer(t, { tools: {} });
      const quick = await backendFor(t, { tools: ['now'] });
      const caller = await deployment.caller({ quick: { url: quick.url }, late: { url: late.url } });
      const url = deployment.gateway.url(caller.virtualHostId);
      const client = await connectListening(t, era, url, caller.token, ignore);
      late.open();
      await until(async () => (await client.listTools()).tools.length === 2, 'the tools of the late server');
      t.same((await client.listPrompts()).prompts, []);
      t.same((await client.listResources()).resources, []);
      t.same((await client.listResourceTemplates()).resourceTemplates, []);
      const ref = { type: 'ref/prompt', name: 'late-greet' } as const;
      const { completion } = await client.complete({ ref, argument: { name: 'who', value: '' } });
      t.same(completion.values, []);
      if (client instanceof Client) t.same(await client.setLoggingLevel('info'), {});
      await t.rejects(
        client.getPrompt({ name: 'late-greet' }),
        { code: -32602 },
        'a prompt that nobody has is unknown',
      );
    });
  }

  await t.test('as directly: completions for the prompts of a server that completes nothing', async (t) => {
    const methods = { 'completion/complete': () => ({ completion: { values: ['Ada'] } }) };
    const one = await backendFor(t, { capabilities: { prompts: {}, completions: {} }, methods });
    const two = await backendFor(t, { capabilities: { prompts: {} } });
    const caller = await deployment.caller({ one: { url: one.url }, two: { url: two.url } });
    const url = deployment.gateway.url(caller.virtualHostId);
    for (const era of ['legacy', 'modern'] as const) {
      const client = await connectListening(t, era, url, caller.token, ignore);
      const complete = async (name: string): Promise<unknown> => {
        const ref = { type: 'ref/prompt', name } as const;
        return (await client.complete({ ref, argument: { name: 'who', value: '' } })).completion.values;
      };
      t.same(await complete('one-greet'), ['Ada']);
      t.same(await complete('two-greet'), [], 'a client does not ask it directly, and gets no error here');
    }
  });

  await t.test('as directly: what a server declares, and says when it refuses', async (t) => {
    const backend = await backendFor(t, {
      capabilities: { tools: {}, extensions: { 'org.example/notes': { depth: 2 } } },
      tools: ['broken', 'busy'],
      onRequest: async (request) => {
        if (!/"name":"(?:odd-)?busy"/.test(request.text)) return false;
        request.json('come back later', { status: 429, headers: { 'content-type': 'text/plain', 'retry-after': '7' } });
        return true;
      },
      onCall: (call) =>
        call.fail({ code: -32050, message: 'no such place', data: { uri: 'file:///a', kind: 'place' } }),
    });
    const caller = await deployment.caller({ odd: { url: backend.url } });
    const through = [deployment.gateway.url(caller.virtualHostId), caller.token, 'odd-'] as const;
    const seen: unknown[] = [];
    for (const [url, token, prefix] of [[backend.url, undefined, ''] as const, through]) {
      const { client } = await connectSdkClient(t, url, token);
      const refusalOf = (name: string): Promise<unknown> =>
        client.callTool({ name: prefix + name }).catch((error: unknown) => error);
      const { code, message, data } = (await refusalOf('broken')) as McpError;
      const busy = JSON.stringify(await refusalOf('busy'), ['message', 'data']);
      t.match(busy, /come back later/, `why a busy server refuses, of ${url}`);
      seen.push({ extensions: client.getServerCapabilities()?.extensions, code, message, data });
    }
    t.match(seen[0], { extensions: { 'org.example/notes': { depth: 2 } }, data: { uri: 'file:///a' } }, 'directly');
    t.same(seen[1], seen[0], 'through the gateway');
  });

  await t.test('as directly: a proxy that compresses what it is not told to leave alone', async (t) => {
    const direct = await startOddServer(t, {});
    const { client } = await connectSdkClient(t, await startCompressor(t, direct.url), undefined);
    const expected = await use(client, '');
    t.same(expected, { tools: ['count', 'report'], counted: ['1', '2', '3', '4'] }, 'directly');
    const behind = await startOddServer(t, {});
    const caller = await deployment.caller({ odd: { url: await startCompressor(t, behind.url) } });
    const through = await connectSdkClient(t, deployment.gateway.url(caller.virtualHostId), caller.token);
    t.same(await use(through.client, 'odd-'), expected, 'through the gateway');
  });

  await t.test('as directly: a client that writes null where a server needs nothing', async (t) => {
    const behind = await backendFor(t, { tools: ['now'], withSessions: true });
    const caller = await deployment.caller({ odd: { url: behind.url } });
    const { origin, pathname } = new URL(behind.url);
    const namesFor = async (caller: McpCaller, params: string): Promise<unknown> => {
      const session = await caller.openSession();
      const answer = await session.send(`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":${params}}`);
      const { result } = JSON.parse(readEvents(answer.body)[0] ?? answer.text) as {
        readonly result?: { readonly tools: readonly { readonly name: string }[] };
      };
      return result?.tools.map(({ name }) => name.replace('odd-', ''));
    };
    for (const params of ['null', '{"cursor":null}', '{"cursor":""}']) {
      t.same(await namesFor(new McpCaller(origin, pathname, ''), params), ['now'], `directly: ${params}`);
      t.same(await namesFor(caller, params), ['now'], `through the gateway: ${params}`);
    }
  });

  await t.test('as directly: a client that writes a byte order mark before its messages', async (t) => {
    const connect = async (url: string, token?: string): Promise<Client> => {
      const fetchMarked: typeof globalThis.fetch = (target, given = {}) =>
        globalThis.fetch(target, typeof given.body === 'string' ? { ...given, body: `\ufeff${given.body}` } : given);
      const client = new Client({ name: 'integration', version: '1' });
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const transport = new StreamableHTTPClientTransport(new URL(url), {
        fetch: fetchMarked,
        requestInit: { headers },
      });
      await client.connect(transport);
      t.teardown(() => client.close());
      return client;
    };
    const direct = await startOddServer(t, {});
    const expected = await use(await connect(direct.url), '');
    t.same(expected, { tools: ['count', 'report'], counted: ['1', '2', '3', '4'] }, 'directly');
    const behind = await startOddServer(t, {});
    const caller = await deployment.caller({ odd: { url: behind.url } });
    const client = await connect(deployment.gateway.url(caller.virtualHostId), caller.token);
    t.same(await use(client, 'odd-'), expected, 'through the gateway');
  });

  await t.test(
    'as directly: the last report of progress, which comes behind the answer on another stream',
    async (t) => {
      const expected = ['{"progressToken":"p","progress":1}', '{"progressToken":"p","progress":2}'];
      const direct = await startOddServer(t, {});
      const { origin, pathname } = new URL(direct.url);
      t.same(await reportsTo(new McpCaller(origin, pathname, ''), 'report'), expected, 'directly');
      const behind = await startOddServer(t, {});
      const caller = await deployment.caller({ odd: { url: behind.url } });
      t.same(await reportsTo(caller, 'odd-report'), expected, 'through the gateway');
      const meta = envelope('{"elicitation":{}}', '"progressToken":"p"');
      const answer = await callTool(caller, 'odd-report', '{}', { meta });
      t.same(
        reportsIn(answer).map((text) => memberText(text, 'params')),
        expected,
        'a client of 2026-07-28, which has no other stream than that of the call',
      );
      t.match(JSON.parse(readEvents(answer.body).at(-1) ?? ''), { id: 7, result: {} }, 'the answer comes last');
    },
  );

  await t.test('as directly: the number of a call’s progress token comes back as text', async (t) => {
    const reported = async (client: Pick<Client, 'callTool'>, name: string): Promise<number[]> => {
      const heard: number[] = [];
      await client.callTool({ name }, undefined, { onprogress: ({ progress }) => void heard.push(progress) });
      return heard;
    };
    const direct = await startOddServer(t, { writesTokens: true });
    const directly = await connectSdkClient(t, direct.url, undefined);
    t.same(await reported(directly.client, 'report'), [1], 'directly');
    const behind = await startOddServer(t, { writesTokens: true });
    const caller = await deployment.caller({ odd: { url: behind.url } });
    const through = await connectSdkClient(t, deployment.gateway.url(caller.virtualHostId), caller.token);
    t.same(await reported(through.client, 'odd-report'), [1], 'through the gateway');
    const answer = await callTool(caller, 'odd-report', '{}', { meta: envelope('{}', '"progressToken":7') });
    t.same(
      reportsIn(answer).map((text) => memberText(text, 'params')),
      ['{"progressToken":7,"progress":1}'],
      'a client of 2026-07-28',
    );
  });

  await t.test('as directly: redirects of a server of the older transport to paths with a slash', async (t) => {
    const direct = await startSseServer(t, true);
    const client = new Client({ name: 'integration', version: '1' });
    t.teardown(() => client.close());
    await client.connect(new SSEClientTransport(new URL(direct.url)));
    const say = { name: 'echo', arguments: { v: 'hello' } };
    const expected = await client.callTool(say);
    t.match(expected, { content: [{ text: 'hello' }] }, 'directly');
    const behind = await startSseServer(t, true);
    const caller = await deployment.caller({ odd: { url: behind.url, transport: 'SSE' } });
    const through = await connectSdkClient(t, deployment.gateway.url(caller.virtualHostId), caller.token);
    const called = await through.client.callTool({ ...say, name: 'odd-echo' });
    t.same(called, expected, 'through the gateway');
    t.same([behind.opened, behind.executed.get('echo')], [1, 1]);
  });
});
