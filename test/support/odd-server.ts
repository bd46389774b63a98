// A real server made with the SDK, in front of which stands an oddity of the field.
import { randomUUID } from 'node:crypto';
import {
  createServer,
  request as requestHttp,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { constants, createGzip } from 'node:zlib';
import { setTimeout as sleep } from 'node:timers/promises';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  InitializeRequestSchema,
  ListToolsRequestSchema,
  SetLevelRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { Test } from 'tap';
import { memberText } from './json-text.js';
import { until } from './until.js';

export interface Oddity {
  /** @returns whether it has answered the request. */
  readonly answers?: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Changes what the server is about to answer a POST. */
  readonly changes?: (response: ServerResponse) => void;
  /** The tools that the server lists behind a cursor, and the next one. */
  readonly page?: (cursor: string | undefined) => { readonly names: readonly string[]; readonly nextCursor: string };
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
  /** How a request whose session is unknown is refused, in place of 404. @param id that of the request, as JSON. */
  readonly refusesLost?: (id: string) => { readonly status: number; readonly type?: string; readonly body: string };
  /** When the gateway has met the oddity. */
  readonly settled?: () => Promise<void>;
}

export interface OddServer {
  readonly url: string;
  readonly sessionCount: () => number;
  /** How many sessions were begun, and how many a DELETE has asked to end. */
  readonly begunCount: () => number;
  readonly deleteCount: () => number;
  /** Forgets all sessions, as when it is started again. */
  readonly forgetSessions: () => void;
}

export async function startOddServer(t: Pick<Test, 'teardown'>, oddity: Oddity): Promise<OddServer> {
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
    const { page } = oddity;
    if (page !== undefined)
      server.server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
        const { names, nextCursor } = page(params?.cursor);
        return { tools: names.map((name) => ({ name, inputSchema: { type: 'object' } })), nextCursor };
      });
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
    if (transport === undefined && oddity.refusesLost !== undefined && request.method === 'POST') {
      const id = memberText(await text(request), 'id') ?? 'null';
      const { status, type = 'application/json', body } = oddity.refusesLost(id);
      response.writeHead(status, { 'content-type': type }).end(body);
    } else if (transport === undefined) refuse(response, 404, 'Session not found');
    else await transport.handleRequest(request, response);
  };
  const url = await listen(
    t,
    createServer((request, response) => void serve(request, response)),
  );
  return {
    url,
    sessionCount: () => transports.size,
    begunCount: () => begunCount,
    deleteCount: () => deleteCount,
    forgetSessions: () => transports.clear(),
  };
}

export function refuse(response: ServerResponse, status: number, text: string): true {
  response.writeHead(status, { 'content-type': 'text/html' }).end(text);
  return true;
}

export function errorFor(id: string, status: number, code: number, message: string): { status: number; body: string } {
  return { status, body: `{"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":"${message}"}}` };
}

export function ignore(): void {}

/** Where a proxy sends a request, and what it makes of the answer. */
interface Passage {
  readonly origin: string | undefined;
  /** Writes the head. @returns the body. */
  readonly answer: (answer: IncomingMessage, response: ServerResponse) => Readable;
}

async function startProxy(
  t: Pick<Test, 'teardown'>,
  passageOf: (request: IncomingMessage) => Passage,
): Promise<string> {
  return listen(
    t,
    createServer((request, response) => {
      const { method, headers, url = '/' } = request;
      const { origin, answer } = passageOf(request);
      const onward = requestHttp(new URL(url, origin), { method, headers }, (given) => {
        answer(given, response)
          .on('error', () => response.destroy())
          .pipe(response);
      });
      response.on('close', () => onward.destroy());
      request.pipe(onward.on('error', () => response.destroy()));
    }),
  );
}

/** @returns the URL of its MCP endpoint. */
async function listen(t: Pick<Test, 'teardown'>, server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

/** A proxy that compresses what it is not told to leave alone. */
export async function startCompressor(t: Pick<Test, 'teardown'>, origin: string): Promise<string> {
  return startProxy(t, ({ headers }) => ({
    origin,
    answer: (answer, response) => {
      const { statusCode = 0, headers: kept } = answer;
      const isCoded = !/identity/.test(headers['accept-encoding'] ?? '');
      if (!isCoded) return response.writeHead(statusCode, kept) && answer;
      const { 'content-length': _length, ...others } = kept;
      response.writeHead(statusCode, { ...others, 'content-encoding': 'gzip' });
      return answer.pipe(createGzip({ flush: constants.Z_SYNC_FLUSH }));
    },
  }));
}

/** A load balancer that keeps a client at its node by a cookie, which each answer sets anew; in turn without one. */
export async function startBalancer(t: Pick<Test, 'teardown'>, nodes: readonly OddServer[]): Promise<string> {
  let turn = 0;
  return startProxy(t, ({ headers }) => {
    const named = /(?:^|; )NODE=n(\d)/.exec(headers.cookie ?? '')?.[1];
    const at = named === undefined ? turn++ % nodes.length : Number(named);
    const cookies = [
      `NODE=n${at}; Expires=Fri, 01 Jan 2100 00:00:00 GMT; Path=/`,
      `NODECORS=n${at}; SameSite=None; Secure`,
    ];
    return {
      origin: nodes[at]?.url,
      answer: (answer, response) => {
        response.writeHead(answer.statusCode ?? 0, { ...answer.headers, 'set-cookie': cookies });
        return answer;
      },
    };
  });
}

export async function startNodes(t: Pick<Test, 'teardown'>): Promise<{ url: string; sessionCounts: () => number[] }> {
  const nodes = [await startOddServer(t, {}), await startOddServer(t, {})];
  return { url: await startBalancer(t, nodes), sessionCounts: () => nodes.map(({ sessionCount }) => sessionCount()) };
}

/** Changes the status of what is answered with 200. */
export function withStatus(status: number): (response: ServerResponse) => void {
  return (response) => {
    const writeHead = response.writeHead.bind(response) as (...words: unknown[]) => ServerResponse;
    response.writeHead = (given: number, ...words: unknown[]) => writeHead(given === 200 ? status : given, ...words);
  };
}
