// A real MCP server made with the SDK, over streamable HTTP with sessions: a backend to try the gateway with.
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';

export interface DemoBackend {
  /** The MCP endpoint. */
  readonly url: string;
  close(): Promise<void>;
}

export interface DemoBackendOptions {
  /** One MCP server per session (X20). */
  createMcpServer(): McpServer;
  readonly answerAs: 'json' | 'event-stream';
  /** 0 for any free port. */
  readonly port?: number;
}

export async function startDemoBackend(options: DemoBackendOptions): Promise<DemoBackend> {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const server = createServer((request, response) => {
    handle(options, transports, request, response).catch(() => {
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end();
    });
  });
  const port = await listen(server, options.port ?? 0);
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async close() {
      for (const transport of transports.values()) await transport.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function handle(
  options: DemoBackendOptions,
  transports: Map<string, StreamableHTTPServerTransport>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const sessionId = request.headers['mcp-session-id'];
  if (typeof sessionId === 'string') {
    const transport = transports.get(sessionId);
    if (transport === undefined) response.writeHead(404).end('Session not found');
    else await transport.handleRequest(request, response);
    return;
  }
  const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    enableJsonResponse: options.answerAs === 'json',
    onsessioninitialized: (id) => void transports.set(id, transport),
    onsessionclosed: (id) => void transports.delete(id),
  });
  await options.createMcpServer().connect(transport);
  await transport.handleRequest(request, response);
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}
