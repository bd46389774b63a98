// A server of the transport of 2024-11-05, built on the SDK's own `SSEServerTransport`, with a server object for each stream. It
// counts the tool calls it carries out, keeps the headers of every request, and can end its streams in the middle of a call.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import type { Test } from 'tap';
import { z } from 'zod';

export interface SseServer {
  /** The URL of its event stream. */
  readonly url: string;
  /** How often each tool was executed, in all sessions. */
  readonly executed: Map<string, number>;
  /** The headers of every request, the latest last. */
  readonly heads: IncomingHttpHeaders[];
  /** How many streams were opened, and how many are open. */
  readonly opened: number;
  readonly open: number;
  /** The credential to require: requests without it are refused with 401. When unset, all are accepted. */
  accepted: string | undefined;
  /** How many calls were cancelled. */
  readonly cancelled: number;
  /** Ends every stream and sends nothing more on them. */
  endStreams(): void;
}

/** @param redirects whether each path is redirected to the one with a slash at the end, as some frameworks do. */
export async function startSseServer(t: Pick<Test, 'teardown'>, redirects = false): Promise<SseServer> {
  const transports = new Map<string, SSEServerTransport>();
  const server = new CountingServer(transports);
  const http = createServer((request, response) => {
    server.heads.push(request.headers);
    const { pathname, search } = new URL(request.url ?? '/', 'http://s');
    if (redirects && !pathname.endsWith('/')) {
      request.resume();
      response.writeHead(307, { location: `${pathname}/${search}` }).end();
      return;
    }
    if (server.accepted !== undefined && request.headers.authorization !== server.accepted) {
      response.writeHead(401).end();
    } else if (request.method === 'GET') {
      const transport = new SSEServerTransport('/messages', response);
      transports.set(transport.sessionId, transport);
      server.opened += 1;
      response.on('close', () => transports.delete(transport.sessionId));
      void server.connect(transport);
    } else {
      const { searchParams } = new URL(request.url ?? '/', 'http://s');
      const transport = transports.get(searchParams.get('sessionId') ?? '');
      if (transport === undefined) response.writeHead(404).end('Could not find session');
      else void transport.handlePostMessage(request, response);
    }
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  server.port = (http.address() as AddressInfo).port;
  t.teardown(() => {
    http.closeAllConnections();
    http.close();
  });
  return server;
}

class CountingServer implements SseServer {
  readonly executed = new Map<string, number>();
  readonly heads: IncomingHttpHeaders[] = [];
  readonly #transports: Map<string, SSEServerTransport>;
  port = 0;
  opened = 0;
  cancelled = 0;
  accepted: string | undefined;

  constructor(transports: Map<string, SSEServerTransport>) {
    this.#transports = transports;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/sse`;
  }

  get open(): number {
    return this.#transports.size;
  }

  endStreams(): void {
    for (const transport of this.#transports.values()) void transport.close();
    this.#transports.clear();
  }

  async connect(transport: SSEServerTransport): Promise<void> {
    const server = new McpServer({ name: 'sse', version: '1' });
    const count = (tool: string): number => {
      const times = (this.executed.get(tool) ?? 0) + 1;
      this.executed.set(tool, times);
      return times;
    };
    const text = (words: string): { content: [{ type: 'text'; text: string }] } => ({
      content: [{ type: 'text', text: words }],
    });
    server.registerTool('echo', { inputSchema: { v: z.string() } }, ({ v }) => {
      count('echo');
      return text(v);
    });
    server.registerTool('hang', {}, async ({ signal }) => {
      count('hang');
      signal.addEventListener('abort', () => {
        // The end of a stream also ends its calls, which is no cancellation.
        if (this.#transports.has(transport.sessionId)) this.cancelled += 1;
      });
      return new Promise(() => undefined);
    });
    server.registerTool('ask', {}, async () => {
      count('ask');
      const requestedSchema = { type: 'object' as const, properties: { name: { type: 'string' as const } } };
      const { action, content } = await server.server.elicitInput({ message: 'who?', requestedSchema });
      return text(`${action} ${String(content?.['name'])}`);
    });
    server.registerTool('steps', {}, async ({ _meta, sendNotification }) => {
      count('steps');
      const progressToken = _meta?.progressToken ?? 'none';
      for (const progress of [1, 2])
        await sendNotification({ method: 'notifications/progress', params: { progressToken, progress, total: 2 } });
      return text('done');
    });
    await server.connect(transport);
  }
}
