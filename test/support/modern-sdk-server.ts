// A real server of MCP 2026-07-28, the SDK's, without sessions: `legacy: 'reject'` is its answer to clients that have one.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';

/** What one request said, in order of arrival. */
export interface ModernRequest {
  readonly method: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface ModernSdkServerOptions {
  readonly legacy?: 'stateless' | 'reject';
  /** Receives a new server for each request, to register tools on. */
  readonly fill: (server: McpServer) => void;
}

export class ModernSdkServer {
  readonly requests: ModernRequest[] = [];
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  readonly #handler;

  private constructor({ fill, legacy = 'reject' }: ModernSdkServerOptions) {
    this.#handler = createMcpHandler(
      () => {
        const capabilities = { logging: {}, tools: {}, prompts: {}, resources: { subscribe: true }, completions: {} };
        const server = new McpServer({ name: 'modern', version: '1' }, { capabilities, instructions: 'Be kind.' });
        fill(server);
        return server;
      },
      { legacy },
    );
  }

  static async start(
    t: { teardown(end: () => Promise<void>): unknown },
    options: ModernSdkServerOptions,
  ): Promise<ModernSdkServer> {
    const backend = new ModernSdkServer(options);
    await new Promise<void>((resolve) => backend.#server.listen(0, '127.0.0.1', resolve));
    t.teardown(async () => {
      await backend.#handler.close();
      backend.#server.closeAllConnections();
      await new Promise((resolve) => backend.#server.close(resolve));
    });
    return backend;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`;
  }

  /** The JSON-RPC methods of all requests. */
  get methods(): string[] {
    return this.requests.map(({ body }) => (JSON.parse(body) as { method: string }).method);
  }

  get listenCount(): number {
    return this.methods.filter((method) => method === 'subscriptions/listen').length;
  }

  /** Notifies listeners that the tools have changed. */
  announceTools(): void {
    this.#handler.notify.toolsChanged();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const { method = '', headers } = request;
    this.requests.push({ method, headers, body });
    const abort = new AbortController();
    response.on('close', () => abort.abort());
    const pairs = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
    const init = { method, headers: pairs, signal: abort.signal, ...(method === 'POST' && { body }) };
    const answer = await this.#handler.fetch(new Request(this.url, init));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    try {
      for await (const chunk of answer.body ?? []) response.write(chunk);
    } catch {
      // The gateway has closed the stream.
    }
    response.end();
  }
}
