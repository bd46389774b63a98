// What works with a server directly works through the gateway: a real server made with the SDK, in front of which stands an oddity of the
// field, is used by the SDK's client in the same way with the gateway between them and without.
import { randomUUID } from 'node:crypto';
import { createServer, request as requestHttp, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  InitializeRequestSchema,
  LATEST_PROTOCOL_VERSION,
  ListToolsRequestSchema,
  LoggingMessageNotificationSchema,
  type McpError,
  SetLevelRequestSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import t, { type Test } from 'tap';
import { Agent, fetch } from 'undici';
import type { Era } from '../../src/mcp/index.js';
import { backendFor, forEachDeployment } from '../support/deployment.js';
import { startMcpBackend, type McpBackend } from '../support/mcp-backend.js';
import { McpCaller } from '../support/mcp-caller.js';
import { callTool, envelope } from '../support/modern-caller.js';
import { EventReader } from '../support/event-reader.js';
import { readEvents } from '../support/event-stream.js';
import { memberText } from '../support/json-text.js';
import type { HttpAnswer } from '../support/raw-http.js';
import { ModernSdkServer } from '../support/modern-sdk-server.js';
import { connectSdkClient } from '../support/sdk-client.js';
import { startSseServer } from '../support/sse-server.js';
import { until } from '../support/until.js';

interface Oddity {
  /** @returns whether it has answered the request. */
  readonly answers?: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Changes what the server is about to answer a POST. */
  readonly changes?: (response: ServerResponse) => void;
  /** The cursor behind the server's only page of tools. */
  readonly nextCursor?: string;
  readonly isJson?: boolean;
  /** Whether progress is reported on the call's own stream, under its token as text. */
  readonly writesTokens?: boolean;
  /** Whether each answer to a POST names the session anew. */
  readonly renames?: boolean;
  /** Whether the server logs, once its session was told a level. */
  readonly logs?: boolean;
  /** What the server answers to `server/discover`, which it does not know. @param id that of the request, as JSON. */
  readonly discovers?: (id: string) => { readonly status: number; readonly body: string };
  /** Whether a tool of the server adds another one, in the session in which it is called. */
  readonly grows?: boolean;
  /** The version that the server answers with, whatever the client offers. */
  readonly version?: string;
  /** The only version with which a session can be begun: any other is refused, with the error that the specification has for it. */
  readonly demands?: string;
  /** The server declares nothing but its tools, and asks whether its session is alive once somebody listens: told whether it is. */
  readonly onPinged?: () => void;
  /** When the gateway has met the oddity. */
  readonly settled?: () => Promise<void>;
}

function refuse(response: ServerResponse, status: number, text: string): true {
  response.writeHead(status, { 'content-type': 'text/html' }).end(text);
  return true;
}

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

function withStatus(status: number): (response: ServerResponse) => void {
  return (response) => {
    const writeHead = response.writeHead.bind(response) as (...words: unknown[]) => ServerResponse;
    response.writeHead = (given: number, ...words: unknown[]) => writeHead(given === 200 ? status : given, ...words);
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
  'an empty cursor at the end': () => ({ nextCursor: '' }),
  'notifications answered with a stream that stays open': () => ({
    changes: endlessNotices({ 'content-type': 'text/event-stream' }),
  }),
  'notifications whose answer never ends': () => ({ changes: endlessNotices({}) }),
  'a version that was a draft of the first': () => ({ version: '2024-10-07' }),
  'a server of both revisions that names the one without sessions alone': () => ({ discovers: ONE_REVISION }),
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

function errorFor(id: string, status: number, code: number, message: string): { status: number; body: string } {
  return { status, body: `{"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":"${message}"}}` };
}

interface OddServer {
  readonly url: string;
  readonly sessionCount: () => number;
  /** How many sessions were begun, and how many a DELETE has asked to end. */
  readonly begunCount: () => number;
  readonly deleteCount: () => number;
}

async function startOddServer(t: Pick<Test, 'teardown'>, oddity: Oddity): Promise<OddServer> {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const servers: McpServer[] = [];
  let [begunCount, deleteCount] = [0, 0];
  const open = async (): Promise<StreamableHTTPServerTransport> => {
    const listChanged = oddity.onPinged === undefined;
    const server = new McpServer({ name: 'odd', version: '1' }, { capabilities: { tools: { listChanged } } });
    servers.push(server);
    let count = 0;
    server.registerTool('count', {}, () => ({ content: [{ type: 'text', text: String(++count) }] }));
    server.registerTool('report', {}, async ({ _meta: { progressToken = '' } = {}, sendNotification }) => {
      const params = { progressToken: String(progressToken), progress: 1 };
      if (oddity.writesTokens === true) await sendNotification({ method: 'notifications/progress', params });
      if (oddity.writesTokens === true) return { content: [] };
      // As many servers do: the SDK is not told which call it is for, and sends it on the session's stream, the last one behind the answer.
      for (const progress of [1, 2]) {
        await server.server.notification({ method: 'notifications/progress', params: { progressToken, progress } });
        if (progress === 1) await sleep(20);
      }
      return { content: [] };
    });
    if (oddity.grows === true)
      server.registerTool('grow', {}, () => {
        server.registerTool('grown', {}, () => ({ content: [{ type: 'text', text: 'hello' }] }));
        return { content: [] };
      });
    if (oddity.logs === true) {
      let told: string | undefined;
      server.server.registerCapabilities({ logging: {} });
      server.server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
        told = params.level;
        return {};
      });
      server.registerTool('log', {}, async ({ sendNotification }) => {
        for (const level of ['debug', 'info', 'error'] as const)
          if (told === level || told === 'debug' || (told === 'info' && level === 'error'))
            await sendNotification({ method: 'notifications/message', params: { level, data: 'x' } });
        return { content: [] };
      });
    }
    if (oddity.nextCursor !== undefined) {
      const tools = ['count', 'report'].map((name) => ({ name, inputSchema: { type: 'object' as const } }));
      server.server.setRequestHandler(ListToolsRequestSchema, () => ({ tools, nextCursor: oddity.nextCursor }));
    }
    const { version } = oddity;
    if (version !== undefined) {
      const answer = {
        protocolVersion: version,
        capabilities: { tools: {} },
        serverInfo: { name: 'odd', version: '1' },
      };
      server.server.setRequestHandler(InitializeRequestSchema, () => answer);
    }
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: oddity.isJson === true,
      onsessioninitialized: (id) => {
        begunCount += 1;
        transports.set(id, transport);
      },
      onsessionclosed: (id) => void transports.delete(id),
    });
    await server.connect(transport);
    return transport;
  };
  /** What the SDK's transport calls the sessions that have another name, by that name. */
  const names = new Map<string, string>();
  const rename = ({ rawHeaders, headers }: IncomingMessage, response: ServerResponse): void => {
    const carried = headers['mcp-session-id'];
    const own = typeof carried === 'string' ? names.get(carried) : undefined;
    if (own !== undefined) {
      names.delete(String(carried));
      headers['mcp-session-id'] = own;
      rawHeaders.splice(0, rawHeaders.length, ...rawHeaders.map((word) => (word === carried ? own : word)));
    } else if (carried !== undefined) return;
    const name = randomUUID();
    const writeHead = response.writeHead.bind(response) as (status: number, headers?: object) => ServerResponse;
    response.writeHead = ((status: number, given: Record<string, string> = {}) => {
      const id = own ?? given['mcp-session-id'];
      if (id !== undefined) names.set(name, id);
      return writeHead(status, { ...given, 'mcp-session-id': name });
    }) as typeof response.writeHead;
  };
  const pingOver = async (stream: ServerResponse): Promise<void> => {
    await until(() => stream.headersSent, 'the stream to be open');
    for (const { server } of servers)
      if (oddity.onPinged !== undefined) void server.ping().then(oddity.onPinged, ignore);
  };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method === 'DELETE') deleteCount += 1;
    if (oddity.discovers !== undefined && request.headers['mcp-method'] === 'server/discover') {
      const { status, body } = oddity.discovers(memberText(await text(request), 'id') ?? 'null');
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
      return;
    }
    if (oddity.answers?.(request, response) === true) return;
    if (request.method === 'POST') oddity.changes?.(response);
    const id = request.headers['mcp-session-id'];
    if (id === undefined && oddity.demands !== undefined) {
      const message = await text(request);
      const offered = /"protocolVersion":"([^"]*)"/.exec(message)?.[1];
      if (offered === oddity.demands) return (await open()).handleRequest(request, response, JSON.parse(message));
      const data = { supported: [oddity.demands], requested: offered };
      const error = { code: -32602, message: 'Unsupported protocol version', data };
      const body = { jsonrpc: '2.0', id: JSON.parse(memberText(message, 'id') ?? 'null') as unknown, error };
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      return;
    }
    const transport = typeof id === 'string' ? transports.get(names.get(id) ?? id) : await open();
    if (oddity.renames === true && request.method === 'POST') rename(request, response);
    if (request.method === 'GET') void pingOver(response);
    if (transport === undefined) refuse(response, 404, 'Session not found');
    else await transport.handleRequest(request, response);
  };
  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    sessionCount: () => transports.size,
    begunCount: () => begunCount,
    deleteCount: () => deleteCount,
  };
}

function ignore(): void {}

/** A load balancer that keeps a client at its node by a cookie, which each answer sets anew; in turn without one. */
async function startBalancer(t: Pick<Test, 'teardown'>, nodes: readonly OddServer[]): Promise<string> {
  let turn = 0;
  const server = createServer((request, response) => {
    const { method, headers, url = '/' } = request;
    const named = /(?:^|; )NODE=n(\d)/.exec(headers.cookie ?? '')?.[1];
    const at = named === undefined ? turn++ % nodes.length : Number(named);
    const cookies = [
      `NODE=n${at}; Expires=Fri, 01 Jan 2100 00:00:00 GMT; Path=/`,
      `NODECORS=n${at}; SameSite=None; Secure`,
    ];
    const onward = requestHttp(new URL(url, nodes[at]?.url), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, { ...answer.headers, 'set-cookie': cookies });
      answer.on('error', () => response.destroy()).pipe(response);
    });
    response.on('close', () => onward.destroy());
    request.pipe(onward.on('error', () => response.destroy()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

async function startNodes(t: Pick<Test, 'teardown'>): Promise<{ url: string; sessionCounts: () => number[] }> {
  const nodes = [await startOddServer(t, {}), await startOddServer(t, {})];
  return { url: await startBalancer(t, nodes), sessionCounts: () => nodes.map(({ sessionCount }) => sessionCount()) };
}

/** A client that keeps cookies, as those of Python do. */
async function connectWithCookies(t: Pick<Test, 'teardown'>, url: string): Promise<Client> {
  const kept = new Map<string, string>();
  const fetchWithCookies: typeof globalThis.fetch = async (target, given = {}) => {
    const headers = new Headers(given.headers);
    if (kept.size > 0) headers.set('cookie', [...kept].map(([name, value]) => `${name}=${value}`).join('; '));
    const answer = await globalThis.fetch(target, { ...given, headers });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (!line.includes('Secure')) kept.set(name, value);
    }
    return answer;
  };
  const client = new Client({ name: 'integration', version: '1' });
  t.teardown(() => client.close());
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch: fetchWithCookies }));
  return client;
}

interface Outcome {
  readonly tools: readonly string[];
  readonly counted: readonly string[];
}

/** As a host uses a server: its tools, all pages, then some calls. */
async function use(
  client: Pick<Client, 'listTools' | 'callTool'> | ModernClient,
  prefix: string,
  settled?: () => Promise<void>,
): Promise<Outcome> {
  const tools: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    tools.push(...page.tools.map(({ name }) => name.slice(prefix.length)));
    cursor = page.nextCursor;
  } while (cursor !== undefined && cursor !== '');
  const counted: string[] = [];
  for (let call = 0; call < 4; call++) {
    if (call === 2) await settled?.();
    const { content } = await client.callTool({ name: `${prefix}count` });
    counted.push((content as { text: string }[])[0]?.text ?? '');
  }
  return { tools, counted };
}

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

/** What a client hears of a tool that adds another one, and has of it. */
async function grown(
  client: Pick<Client, 'listTools' | 'callTool'> | ModernClient,
  isHeard: () => boolean,
  prefix: string,
): Promise<unknown> {
  await client.callTool({ name: `${prefix}grow` });
  await until(isHeard, 'the announcement');
  const names = (await client.listTools()).tools.map(({ name }) => name.slice(prefix.length)).sort();
  return { names, said: (await client.callTool({ name: `${prefix}grown` })).content };
}

/** A client of this era that hears of changed prompts. */
async function connectListening(
  t: Test,
  era: Era,
  url: string,
  token: string,
  onChanged: (error: unknown, prompts: readonly { name: string }[] | null) => void,
): Promise<Client | ModernClient> {
  const info = { name: 'integration', version: '1' };
  const listChanged = { prompts: { onChanged, autoRefresh: true } };
  if (era === 'legacy') return (await connectSdkClient(t, url, token, new Client(info, { listChanged }))).client;
  const client = new ModernClient(info, { versionNegotiation: { mode: 'auto' }, listChanged });
  t.teardown(() => client.close());
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(new ModernTransport(new URL(url), { requestInit: { headers } }));
  return client;
}

/** A client of both revisions, with a connection of its own for each request, so that every worker gets some. */
async function connectNewClient(
  t: Pick<Test, 'teardown'>,
  url: string,
  token: string | undefined,
  onToolsChanged?: () => void,
): Promise<ModernClient> {
  const onChanged = onToolsChanged ?? ignore;
  const listChanged = { tools: { onChanged, autoRefresh: false } };
  const client = new ModernClient(
    { name: 'integration', version: '1' },
    { versionNegotiation: { mode: 'auto' }, ...(onToolsChanged !== undefined && { listChanged }) },
  );
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const agent = new Agent({ pipelining: 0 });
  const fetchAlone = ((target: string | URL, given: object) =>
    fetch(target, { ...given, dispatcher: agent })) as unknown as typeof globalThis.fetch;
  t.teardown(async () => {
    await client.close();
    await agent.destroy();
  });
  await client.connect(new ModernTransport(new URL(url), { requestInit: { headers }, fetch: fetchAlone }));
  return client;
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

  for (const [how, status] of [
    ['in answers', 400],
    ['in a text with 503', 503],
  ] as const)
    await t.test(
      `as directly: a client that comes when the server has lost all sessions, as it says ${how}`,
      async (t) => {
        const backend: McpBackend = await backendFor(t, {
          withSessions: true,
          onRequest: async (request) => {
            const [session, id] = [request.headers['mcp-session-id'], memberText(request.text, 'id')];
            if (session === undefined || id === undefined || backend.sessions.has(session)) return false;
            const error = { code: -32600, message: 'Invalid Request: Session not found' };
            const answer = { jsonrpc: '2.0', id: JSON.parse(id) as unknown, error };
            request.json(status === 503 ? 'Unknown MCP session, the server has restarted' : answer, { status });
            return true;
          },
        });
        const caller = await deployment.caller({ odd: { url: backend.url } });
        const through = [deployment.gateway.url(caller.virtualHostId), caller.token, 'odd-'] as const;
        for (const [url, token, prefix] of [[backend.url, undefined, ''] as const, through]) {
          for (const comes of ['first', 'later']) {
            const client = await connectNewClient(t, url, token);
            t.match(await client.callTool({ name: `${prefix}echo` }), { content: [{}] }, `${url}, ${comes}`);
            backend.forgetSessions();
          }
        }
      },
    );

  await t.test('as directly: a new client of a server that has lost all sessions, and does not say so', async (t) => {
    const refusals: readonly [status: number, text: string][] = [
      [400, 'Bad Request'],
      [410, ''],
      [500, '<h1>Internal Server Error</h1>'],
    ];
    for (const [status, text] of refusals) {
      const backend: McpBackend = await backendFor(t, {
        withSessions: true,
        onRequest: (request) => {
          const session = request.headers['mcp-session-id'];
          if (session === undefined || backend.sessions.has(session)) return false;
          request.json(text, { status, headers: { 'content-type': 'text/html' } });
          return true;
        },
      });
      const caller = await deployment.caller({ odd: { url: backend.url } });
      const through = [deployment.gateway.url(caller.virtualHostId), caller.token, 'odd-'] as const;
      for (const [url, token, prefix] of [[backend.url, undefined, ''] as const, through]) {
        const name = `${prefix}echo`;
        const old = await connectNewClient(t, url, token);
        t.match(await old.callTool({ name }), { content: [{}] });
        backend.forgetSessions();
        await t.rejects(old.callTool({ name }), `${status}: the lost session`);
        const client = await connectNewClient(t, url, token);
        const isServed = (): Promise<boolean> =>
          client.callTool({ name }).then(
            () => true,
            () => false,
          );
        await until(
          isServed,
          `${status}: a call of a new client, ${prefix === '' ? 'directly' : 'through the gateway'}`,
        );
      }
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

  await t.test('as directly: how often a tool runs whose result comes with 404, and in which session', async (t) => {
    for (const isJson of [true, false]) {
      const direct = { isMissing: false };
      const through = { isMissing: false };
      const oddityOf = (state: { isMissing: boolean }): Oddity => ({
        isJson,
        changes: (response) => state.isMissing && withStatus(404)(response),
      });
      const runs = async (state: { isMissing: boolean }, client: Client, name: string): Promise<unknown> => {
        t.match(await client.callTool({ name }), { content: [{ text: '1' }] });
        state.isMissing = true;
        const results = [];
        for (let call = 0; call < 2; call++)
          results.push(await client.callTool({ name }).then(({ content }) => content, ignore));
        state.isMissing = false;
        return { results, last: (await client.callTool({ name })).content };
      };
      const server = await startOddServer(t, oddityOf(direct));
      const expected = await runs(direct, (await connectSdkClient(t, server.url, undefined)).client, 'count');
      const last = [{ type: 'text', text: '4' }];
      t.same(expected, { results: [undefined, undefined], last }, 'directly: once a call, but its results are errors');
      const behind = await startOddServer(t, oddityOf(through));
      const caller = await deployment.caller({ odd: { url: behind.url } });
      const url = deployment.gateway.url(caller.virtualHostId);
      const results = ['2', '3'].map((count) => [{ type: 'text', text: count }]);
      const { client } = await connectSdkClient(t, url, caller.token);
      t.same(await runs(through, client, 'odd-count'), { results, last }, 'through the gateway: as often, and told');
      t.equal(behind.sessionCount(), 1);
    }
  });

  await t.test('as directly: a client of the one version with which a server begins a session', async (t) => {
    const demands = '2025-06-18';
    const connect = async (url: string, token?: string): Promise<Client> => {
      const fetchOld: typeof globalThis.fetch = (target, given = {}) => {
        const body = typeof given.body === 'string' ? given.body.replace(LATEST_PROTOCOL_VERSION, demands) : null;
        return globalThis.fetch(target, body === null ? given : { ...given, body });
      };
      const client = new Client({ name: 'integration', version: '1' });
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const transport = new StreamableHTTPClientTransport(new URL(url), { fetch: fetchOld, requestInit: { headers } });
      await client.connect(transport);
      t.teardown(() => client.close());
      return client;
    };
    const direct = await startOddServer(t, { demands });
    await t.rejects(connectSdkClient(t, direct.url, undefined), /Unsupported protocol version/, 'directly, the newest');
    const expected = await use(await connect(direct.url), '');
    t.same(expected, { tools: ['count', 'report'], counted: ['1', '2', '3', '4'] }, 'directly, its own');
    for (const connects of [connect, async (...to: [string, string]) => (await connectSdkClient(t, ...to)).client]) {
      const behind = await startOddServer(t, { demands });
      const caller = await deployment.caller({ odd: { url: behind.url } });
      const client = await connects(deployment.gateway.url(caller.virtualHostId), caller.token);
      t.same(await use(client, 'odd-'), expected, 'through the gateway, either');
    }
  });

  await t.test('as directly: a balancer that keeps a session at its node by a cookie', async (t) => {
    const direct = await startNodes(t);
    const expected = await use(await connectWithCookies(t, direct.url), '');
    t.same(expected, { tools: ['count', 'report'], counted: ['1', '2', '3', '4'] }, 'directly');
    t.same(direct.sessionCounts(), [1, 0]);
    const behind = await startNodes(t);
    const caller = await deployment.caller({ odd: { url: behind.url } });
    for (const counts of [
      [1, 0],
      [1, 1],
    ]) {
      const { client } = await connectSdkClient(t, deployment.gateway.url(caller.virtualHostId), caller.token);
      t.same(await use(client, 'odd-'), expected, 'through the gateway');
      t.same(behind.sessionCounts(), counts, 'the next session is free to go to the other node');
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

  await t.test('as directly: a server that logs only once its session was told a level', async (t) => {
    const logged = async (client: Client, name: string): Promise<string[]> => {
      const heard: string[] = [];
      client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void heard.push(params.level));
      await client.setLoggingLevel('info');
      await client.callTool({ name });
      return heard;
    };
    const direct = await startOddServer(t, { logs: true });
    t.same(
      await logged((await connectSdkClient(t, direct.url, undefined)).client, 'log'),
      ['info', 'error'],
      'directly',
    );
    const behind = await startOddServer(t, { logs: true });
    const caller = await deployment.caller({ odd: { url: behind.url } });
    const through = await connectSdkClient(t, deployment.gateway.url(caller.virtualHostId), caller.token);
    t.same(await logged(through.client, 'odd-log'), ['info', 'error'], 'through the gateway');
    const levelsHeard = async (level: string): Promise<(string | undefined)[]> => {
      const meta = envelope('{}', `"io.modelcontextprotocol/logLevel":"${level}"`);
      return readEvents((await callTool(caller, 'odd-log', '{}', { meta })).body)
        .map((text) => memberText(text, 'params'))
        .filter((params) => params !== undefined)
        .map((params) => memberText(params, 'level'));
    };
    // The server is told while it is called, and nobody waits for it.
    for (const [level, expected] of [
      ['error', ['"error"']],
      ['info', ['"info"', '"error"']],
      ['error', ['"error"']],
    ] as const)
      await until(
        async () => isDeepStrictEqual(await levelsHeard(level), expected),
        `a client of 2026-07-28: ${level}`,
      );
  });

  await t.test('as directly: a tool that adds a tool to its session is heard of in that session', async (t) => {
    const outcome = async (
      url: string,
      token: string | undefined,
      prefix: string,
      isNew: boolean,
    ): Promise<unknown> => {
      let count = 0;
      const onHeard = (): void => void (count += 1);
      const isHeard = (): boolean => count > 0;
      if (isNew) return grown(await connectNewClient(t, url, token, onHeard), isHeard, prefix);
      const { client } = await connectSdkClient(t, url, token);
      client.setNotificationHandler(ToolListChangedNotificationSchema, onHeard);
      return grown(client, isHeard, prefix);
    };
    for (const isNew of [false, true]) {
      const direct = await startOddServer(t, { grows: true });
      const expected = await outcome(direct.url, undefined, '', isNew);
      t.same(
        expected,
        { names: ['count', 'grow', 'grown', 'report'], said: [{ type: 'text', text: 'hello' }] },
        'directly',
      );
      const behind = await startOddServer(t, { grows: true });
      const caller = await deployment.caller({ odd: { url: behind.url } });
      const url = deployment.gateway.url(caller.virtualHostId);
      t.same(
        await outcome(url, caller.token, 'odd-', isNew),
        expected,
        `through the gateway, ${isNew ? 'both revisions' : 'with a session'}`,
      );
    }
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

  await t.test('as directly: a client that knows both revisions counts in one session of the server', async (t) => {
    const direct = await startOddServer(t, {});
    const expected = await use(await connectNewClient(t, direct.url, undefined), '');
    t.same(expected, { tools: ['count', 'report'], counted: ['1', '2', '3', '4'] }, 'directly');
    t.same([direct.begunCount(), direct.deleteCount()], [1, 0], 'of which none is ended before the client ends');
    const behind = await startOddServer(t, {});
    const sessionless = await ModernSdkServer.start(t, {
      fill: (server) => server.registerTool('say', {}, () => ({ content: [{ type: 'text', text: 'hello' }] })),
    });
    const caller = await deployment.caller({ odd: { url: behind.url }, new: { url: sessionless.url } });
    const client = await connectNewClient(t, deployment.gateway.url(caller.virtualHostId), caller.token);
    t.equal(client.getNegotiatedProtocolVersion(), '2026-07-28');
    const counted: unknown[] = [];
    for (let call = 0; call < 16; call++) {
      const { tools } = await client.listTools();
      t.same(tools.map(({ name }) => name).sort(), ['new-say', 'odd-count', 'odd-report']);
      const { content } = await client.callTool({ name: 'odd-count' });
      counted.push((content as { text: string }[])[0]?.text);
      t.match(await client.callTool({ name: 'new-say' }), { content: [{ text: 'hello' }] });
    }
    t.same(
      counted,
      Array.from({ length: 16 }, (_, call) => String(call + 1)),
      'through the gateway',
    );
    t.same([behind.begunCount(), behind.deleteCount()], [1, 0], 'none is begun only to be ended');
  });
});
