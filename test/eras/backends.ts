// Three backends that do the same, on the unmodified SDKs: one with sessions (SDK 1.x), one of 2026-07-28 only (2.x), and one
// for both, combined as the SDK advises: requests without an envelope go to the first, the rest to the second.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Server as LegacyServer } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import * as legacy from '@modelcontextprotocol/sdk/types.js';
import {
  acceptedContent,
  createMcpHandler,
  inputRequired,
  inputResponse,
  isLegacyRequest,
  Server as ModernServer,
  type McpHttpHandler,
} from '@modelcontextprotocol/server';
import { until } from '../support/until.js';

export const RESOURCE = 'test://doc';
const BACKEND_ERAS = ['legacy', 'modern', 'dual'] as const;

type BackendEra = (typeof BACKEND_ERAS)[number];

const STEP_MS = 5;
const capabilities = { tools: {}, prompts: {}, resources: { subscribe: true } };
const noArguments = { type: 'object', properties: {} } as const;
const toolNames = ['echo', 'count', 'ask_user', 'ask_model', 'wait'];
const tools = toolNames.map((name) => ({ name, description: `For the matrix: ${name}`, inputSchema: noArguments }));
const resources = [{ uri: RESOURCE, name: 'doc' }];
const prompts = [{ name: 'greet' }];
const question = {
  message: 'Really?',
  requestedSchema: {
    type: 'object' as const,
    properties: { answer: { type: 'string' as const } },
    required: ['answer'],
  },
};
const order = {
  messages: [{ role: 'user' as const, content: { type: 'text' as const, text: 'Say it' } }],
  maxTokens: 10,
};

type TextResult = { content: { type: 'text'; text: string }[] };

const said = (text: string): TextResult => ({ content: [{ type: 'text', text }] });
const prompt = { messages: [{ role: 'user' as const, content: { type: 'text' as const, text: 'hello' } }] };
const contents = { contents: [{ uri: RESOURCE, text: 'the document' }] };

/** What a backend has done, by whichever client. */
export class Deeds {
  /** By tool: how many calls were carried out to the end. */
  readonly done = new Map<string, number>();
  /** The eras in which tools were called. */
  readonly eras = new Set<'legacy' | 'modern'>();
  waiting = 0;
  cancelled = 0;

  note(tool: string): void {
    this.done.set(tool, (this.done.get(tool) ?? 0) + 1);
  }

  /** Waits until it is cancelled. */
  async wait(signal: AbortSignal): Promise<TextResult> {
    this.waiting += 1;
    try {
      if (!signal.aborted) await once(signal, 'abort');
    } finally {
      this.waiting -= 1;
    }
    this.cancelled += 1;
    return said('cancelled');
  }
}

/** A running backend, on any of the SDKs. */
export interface EraBackend {
  readonly url: string;
  readonly deeds: Deeds;
  /** Repeatedly notifies every subscriber that the resource has changed, until one has heard. */
  touch(isHeard: () => boolean): Promise<void>;
  close(): void;
}

/** A kind of backend; the page names it by its label. */
export interface BackendKind {
  readonly label: string;
  /** By feature that it lacks: the reason, shown where a trial has failed. */
  readonly cannot?: Readonly<Record<string, string>>;
  start(): Promise<EraBackend>;
}

export const BACKEND_KINDS: readonly BackendKind[] = BACKEND_ERAS.map((era) => ({
  label: era,
  start: () => startEraBackend(era),
}));

class SdkBackend implements EraBackend {
  readonly url: string;
  readonly deeds: Deeds;
  readonly #sessions: LegacySessions;
  readonly #handler: McpHttpHandler;
  readonly #close: () => void;

  constructor(url: string, parts: Parts, close: () => void) {
    this.url = url;
    this.deeds = parts.deeds;
    this.#sessions = parts.sessions;
    this.#handler = parts.handler;
    this.#close = close;
  }

  async touch(isHeard: () => boolean): Promise<void> {
    const tell = (): boolean => {
      this.#handler.notify.resourceUpdated(RESOURCE);
      this.#sessions.touch();
      return isHeard();
    };
    await until(tell, 'somebody who has heard of the resource');
  }

  close(): void {
    void this.#handler.close();
    this.#close();
  }
}

interface Parts {
  readonly deeds: Deeds;
  readonly sessions: LegacySessions;
  readonly handler: McpHttpHandler;
}

async function startEraBackend(era: BackendEra): Promise<EraBackend> {
  const deeds = new Deeds();
  const sessions = new LegacySessions(deeds);
  const handler = createMcpHandler(() => modernServer(deeds), { legacy: 'reject' });
  const server = createServer((request, response) => {
    serve(era, { deeds, sessions, handler }, request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return new SdkBackend(`http://127.0.0.1:${port}/mcp`, { deeds, sessions, handler }, () => {
    server.closeAllConnections();
    server.close();
  });
}

async function serve(
  era: BackendEra,
  { sessions, handler }: Parts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const asked = webRequest(request, response, body);
  const isLegacy = era === 'legacy' || (era === 'dual' && (await isLegacyRequest(asked.clone())));
  if (isLegacy) return sessions.handle(request, response, body);
  await answerWith(await handler.fetch(asked), response);
}

function webRequest({ method = 'GET', headers }: IncomingMessage, response: ServerResponse, body: Buffer): Request {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const pairs = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
  return new Request(`http://${headers.host}/mcp`, {
    method,
    headers: pairs.filter(([name]) => !['connection', 'host', 'content-length', 'transfer-encoding'].includes(name)),
    signal: gone.signal,
    ...(body.length > 0 ? { body } : {}),
  });
}

async function answerWith(answer: Response, response: ServerResponse): Promise<void> {
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  response.flushHeaders();
  const reader = answer.body?.getReader();
  response.once('close', () => void reader?.cancel().catch(() => undefined));
  for (;;) {
    const piece = await reader?.read();
    if (piece === undefined || piece.done) break;
    response.write(piece.value);
  }
  response.end();
}

function modernServer(deeds: Deeds): ModernServer {
  const server = new ModernServer({ name: 'modern', version: '1.0.0' }, { capabilities });
  server.setRequestHandler('tools/list', () => ({ tools }));
  server.setRequestHandler('resources/list', () => ({ resources }));
  server.setRequestHandler('resources/read', () => contents);
  server.setRequestHandler('prompts/list', () => ({ prompts }));
  server.setRequestHandler('prompts/get', () => prompt);
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const { inputResponses, signal, notify, _meta } = context.mcpReq;
    deeds.eras.add('modern');
    switch (params.name) {
      case 'count':
        for (const progress of [1, 2, 3]) {
          const { progressToken } = _meta ?? {};
          if (progressToken !== undefined)
            await notify({ method: 'notifications/progress', params: { progressToken, progress } });
          await sleep(STEP_MS);
        }
        break;
      case 'ask_user': {
        const answer = acceptedContent(inputResponses, 'user');
        if (answer === undefined) return inputRequired({ inputRequests: { user: inputRequired.elicit(question) } });
        deeds.note(params.name);
        return said(String(answer['answer']));
      }
      case 'ask_model': {
        const answer = inputResponse(inputResponses, 'model');
        if (answer.kind !== 'sampling')
          return inputRequired({ inputRequests: { model: inputRequired.createMessage(order) } });
        deeds.note(params.name);
        return said(JSON.stringify(answer.result.content));
      }
      case 'wait':
        return deeds.wait(signal);
    }
    deeds.note(params.name);
    return said('done');
  });
  return server;
}

class LegacySessions {
  readonly #deeds: Deeds;
  readonly #transports = new Map<string, StreamableHTTPServerTransport>();
  readonly #subscribed = new Set<LegacyServer>();

  constructor(deeds: Deeds) {
    this.#deeds = deeds;
  }

  touch(): void {
    for (const server of this.#subscribed) void server.sendResourceUpdated({ uri: RESOURCE }).catch(() => undefined);
  }

  async handle(request: IncomingMessage, response: ServerResponse, body: Buffer): Promise<void> {
    const parsed: unknown = body.length === 0 ? undefined : JSON.parse(String(body));
    const id = request.headers['mcp-session-id'];
    const known = this.#transports.get(String(id));
    if (known !== undefined) return known.handleRequest(request, response, parsed);
    if (id !== undefined) {
      response.writeHead(404).end();
      return;
    }
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (created) => void this.#transports.set(created, transport),
    });
    await this.#server().connect(transport);
    await transport.handleRequest(request, response, parsed);
  }

  #server(): LegacyServer {
    const server = new LegacyServer({ name: 'legacy', version: '1.0.0' }, { capabilities });
    server.setRequestHandler(legacy.ListToolsRequestSchema, () => ({ tools }));
    server.setRequestHandler(legacy.ListResourcesRequestSchema, () => ({ resources }));
    server.setRequestHandler(legacy.ReadResourceRequestSchema, () => contents);
    server.setRequestHandler(legacy.ListPromptsRequestSchema, () => ({ prompts }));
    server.setRequestHandler(legacy.GetPromptRequestSchema, () => prompt);
    server.setRequestHandler(legacy.SubscribeRequestSchema, () => {
      this.#subscribed.add(server);
      return {};
    });
    server.setRequestHandler(legacy.UnsubscribeRequestSchema, () => {
      this.#subscribed.delete(server);
      return {};
    });
    server.setRequestHandler(legacy.CallToolRequestSchema, async ({ params }, extra) => {
      this.#deeds.eras.add('legacy');
      switch (params.name) {
        case 'count':
          for (const progress of [1, 2, 3]) {
            const progressToken = extra._meta?.progressToken;
            if (progressToken !== undefined)
              await extra.sendNotification({ method: 'notifications/progress', params: { progressToken, progress } });
            await sleep(STEP_MS);
          }
          break;
        case 'ask_user': {
          const request = { method: 'elicitation/create' as const, params: question };
          const { content } = await extra.sendRequest(request, legacy.ElicitResultSchema);
          this.#deeds.note(params.name);
          return said(String(content?.['answer']));
        }
        case 'ask_model': {
          const request = { method: 'sampling/createMessage' as const, params: order };
          const sampled = await extra.sendRequest(request, legacy.CreateMessageResultSchema);
          this.#deeds.note(params.name);
          return said(JSON.stringify(sampled.content));
        }
        case 'wait':
          return this.#deeds.wait(extra.signal);
      }
      this.#deeds.note(params.name);
      return said('done');
    });
    return server;
  }
}
