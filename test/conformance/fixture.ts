// The server that the conformance suite's server scenarios drive, built on the SDK's own. Its behaviour is what the
// scenarios expect; the suite must not notice that it is behind a gateway.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport, type EventStore } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  CreateMessageResultSchema,
  ElicitResultSchema,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
  type CallToolResult,
  type JSONRPCMessage,
  type ServerNotification,
  type ServerRequest,
} from '@modelcontextprotocol/sdk/types.js';
import { getPrompt, plainResult, readResource, text } from './fixture-answers.js';
import { elicitations, prompts, resources, resourceTemplates, tools } from './fixture-offers.js';

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

const STEP_MS = 50;
const RECONNECTION_MS = 100;
/** The `retry` that the stream of `test_reconnection` gives its reader. */
const RETRY_MS = 500;
const NOT_FOUND = -32002;
const INVALID_PARAMS = -32602;

export interface Fixture {
  /** The URL of its MCP endpoint. */
  readonly url: string;
  close(): void;
}

export async function startFixture(): Promise<Fixture> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const server = createServer((request, response) => {
    serve(sessions, request, response).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : undefined);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function serve(
  sessions: Map<string, StreamableHTTPServerTransport>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const hosts = [`127.0.0.1:${request.socket.localPort}`, `localhost:${request.socket.localPort}`];
  if (!hosts.includes(request.headers.host ?? '') || !isLocal(request.headers.origin)) {
    response.writeHead(403).end();
    return;
  }
  const id = request.headers['mcp-session-id'];
  if (typeof id === 'string') {
    const transport = sessions.get(id);
    if (transport === undefined) response.writeHead(404).end();
    else await transport.handleRequest(request, response);
    return;
  }
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (created) => void sessions.set(created, transport),
    onsessionclosed: (ended) => void sessions.delete(ended),
    eventStore: new KeptEvents(),
    retryInterval: RETRY_MS,
  });
  await createMcpServer().connect(transport);
  await transport.handleRequest(request, response);
}

export function isLocal(origin: string | undefined): boolean {
  return origin === undefined || /^http:\/\/(127\.0\.0\.1|localhost)(:\d+)?$/.test(origin);
}

/** Everything that was sent on the streams of a session, for clients that resume one. */
class KeptEvents implements EventStore {
  readonly #events: { readonly id: string; readonly stream: string; readonly message: JSONRPCMessage }[] = [];

  async storeEvent(stream: string, message: JSONRPCMessage): Promise<string> {
    const id = `${stream}_${this.#events.length}`;
    this.#events.push({ id, stream, message });
    return id;
  }

  async replayEventsAfter(
    lastId: string,
    { send }: { send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const last = this.#events.findIndex(({ id }) => id === lastId);
    const stream = this.#events[last]?.stream ?? '';
    for (const event of this.#events.slice(last + 1)) {
      // A priming event is kept too, without content.
      if (event.stream === stream && 'jsonrpc' in event.message) await send(event.id, event.message);
    }
    return stream;
  }
}

function createMcpServer(): Server {
  const server = new Server(
    { name: 'conformance-fixture', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        prompts: { listChanged: true },
        logging: {},
        completions: {},
      },
    },
  );
  const watched = new Set<string>();
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources }));
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({ resourceTemplates }));
  server.setRequestHandler(ListPromptsRequestSchema, () => ({ prompts }));
  server.setRequestHandler(SetLevelRequestSchema, () => ({}));
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) =>
    callTool(params.name, params.arguments ?? {}, extra),
  );
  server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) => {
    const result = readResource(uri);
    if (result === undefined)
      throw Object.assign(new Error(`Resource not found: ${uri}`), { code: NOT_FOUND, data: { uri } });
    return result;
  });
  server.setRequestHandler(GetPromptRequestSchema, ({ params }) => {
    const result = getPrompt(params.name, params.arguments ?? {});
    if (result === undefined)
      throw Object.assign(new Error(`Unknown prompt: ${params.name}`), { code: INVALID_PARAMS });
    return result;
  });
  server.setRequestHandler(CompleteRequestSchema, ({ params }) => ({
    completion: { values: [`${params.argument.value}-completed`, `${params.argument.value}-other`], hasMore: false },
  }));
  server.setRequestHandler(SubscribeRequestSchema, async ({ params: { uri } }) => {
    watched.add(uri);
    setTimeout(() => {
      if (!watched.has(uri)) return;
      // The session may have ended by now.
      server.notification({ method: 'notifications/resources/updated', params: { uri } }).catch(() => {});
    }, STEP_MS);
    return {};
  });
  server.setRequestHandler(UnsubscribeRequestSchema, async ({ params }) => {
    watched.delete(params.uri);
    return {};
  });
  return server;
}

async function callTool(name: string, given: Record<string, unknown>, extra: Extra): Promise<CallToolResult> {
  const plain = plainResult(name);
  if (plain !== undefined) return plain;
  switch (name) {
    case 'test_tool_with_logging':
      for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        await extra.sendNotification({ method: 'notifications/message', params: { level: 'info', data } });
        await sleep(STEP_MS);
      }
      return { content: [text('Logged three times')] };
    case 'test_tool_with_progress':
      return reportProgress(extra);
    case 'test_reconnection':
      extra.closeSSEStream?.();
      await sleep(RECONNECTION_MS);
      return { content: [text('Reconnection test completed')] };
    case 'test_sampling':
      return askModel(String(given['prompt']), extra);
    case 'test_elicitation':
      return askUser(name, String(given['message']), 'User response', extra);
    case 'test_elicitation_sep1034_defaults':
    case 'test_elicitation_sep1330_enums':
      return askUser(name, 'Please fill in the form', 'Elicitation completed', extra);
    case 'json_schema_2020_12_tool':
      return { content: [text(JSON.stringify(given))] };
    default:
      throw Object.assign(new Error(`Unknown tool: ${name}`), { code: INVALID_PARAMS });
  }
}

async function reportProgress(extra: Extra): Promise<CallToolResult> {
  const progressToken = extra._meta?.progressToken;
  for (const progress of [0, 50, 100]) {
    if (progressToken !== undefined) {
      await extra.sendNotification({
        method: 'notifications/progress',
        params: { progressToken, progress, total: 100, message: `Completed step ${progress} of 100` },
      });
    }
    await sleep(STEP_MS);
  }
  return { content: [text(String(progressToken))] };
}

async function askModel(prompt: string, extra: Extra): Promise<CallToolResult> {
  const result = await extra.sendRequest(
    {
      method: 'sampling/createMessage',
      params: { messages: [{ role: 'user', content: text(prompt) }], maxTokens: 100 },
    },
    CreateMessageResultSchema,
  );
  const said = result.content.type === 'text' ? result.content.text : 'nothing';
  return { content: [text(`LLM response: ${said}`)] };
}

async function askUser(
  tool: keyof typeof elicitations,
  message: string,
  title: string,
  extra: Extra,
): Promise<CallToolResult> {
  const requestedSchema = elicitations[tool];
  const request = { method: 'elicitation/create', params: { message, requestedSchema } };
  const { action, content } = await extra.sendRequest(request as unknown as ServerRequest, ElicitResultSchema);
  return { content: [text(`${title}: action=${action}, content=${JSON.stringify(content ?? {})}`)] };
}
