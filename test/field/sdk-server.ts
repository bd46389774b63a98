// A server on one of the TypeScript SDKs with sessions, old or new, as its documents advise. Each path below `/` has sessions of its own,
// which its tool `restart` makes it forget, as a restart of the program does.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type * as server from '@modelcontextprotocol/sdk/server/index.js';
import type * as http from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type * as sdkTypes from '@modelcontextprotocol/sdk/types.js';
import { importSdk } from './plan.js';

const capabilities = { tools: {} };
const number = { type: 'number', description: 'One of two — “any”' };
const tools = ['add', 'counter', 'steps', 'ask', 'restart'].map((name) => ({
  name,
  description: `What it says: ${name}`,
  inputSchema: { type: 'object' as const, properties: name === 'add' ? { a: number, b: number } : {} },
}));
const question = { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] };
/** Until streams that wait are cut off. */
const RESTART_MS = 20;

interface Session {
  readonly transport: http.StreamableHTTPServerTransport;
  readonly path: string;
}

export async function startSdkServer(
  t: { teardown(ending: () => unknown): void },
  sdk: string,
): Promise<(path: string) => string> {
  const { Server } = await importSdk<typeof server>(sdk, 'server/index.js');
  const { StreamableHTTPServerTransport } = await importSdk<typeof http>(sdk, 'server/streamableHttp.js');
  const types = await importSdk<typeof sdkTypes>(sdk, 'types.js');
  const sessions = new Map<string, Session>();
  const waiting = new Set<ServerResponse>();
  const restarting = new Set<string>();

  const forget = (path: string): void => {
    if (!restarting.delete(path)) return;
    for (const [id, session] of sessions) if (session.path === path) sessions.delete(id);
    for (const response of waiting) if (response.req.url === path) response.destroy();
  };

  const newServer = (path: string): InstanceType<typeof Server> => {
    const made = new Server({ name: 'field', version: '1.0.0' }, { capabilities });
    let count = 0;
    made.setRequestHandler(types.ListToolsRequestSchema, () => ({ tools }));
    made.setRequestHandler(
      types.CallToolRequestSchema,
      async ({ params: { name, arguments: words, _meta } }, extra) => {
        let text = 'done';
        if (name === 'add') text = String(Number(words?.['a']) + Number(words?.['b']));
        else if (name === 'counter') text = String((count += 1));
        else if (name === 'steps') {
          const { progressToken } = _meta ?? {};
          for (const progress of progressToken === undefined ? [] : [1, 2, 3])
            await extra.sendNotification({
              method: 'notifications/progress',
              params: { progressToken: progressToken!, progress, total: 3 },
            });
        } else if (name === 'ask' && types.ElicitResultSchema !== undefined) {
          const params = { message: 'Really?', requestedSchema: question };
          const asked = { method: 'elicitation/create', params } as sdkTypes.ServerRequest;
          text = JSON.stringify(await extra.sendRequest(asked, types.ElicitResultSchema));
        } else if (name === 'restart') {
          restarting.add(path);
          setTimeout(() => forget(path), RESTART_MS);
        }
        return { content: [{ type: 'text' as const, text }] };
      },
    );
    return made;
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    waiting.add(response);
    response.once('close', () => waiting.delete(response));
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = chunks.length === 0 ? undefined : (JSON.parse(String(Buffer.concat(chunks))) as { method?: string });
    const { url: path = '' } = request;
    // Whoever asks again is too late for the old one, however soon it is, and is not cut off.
    waiting.delete(response);
    forget(path);
    waiting.add(response);
    const known = sessions.get(String(request.headers['mcp-session-id']));
    if (known !== undefined) return known.transport.handleRequest(request, response, body);
    if (body?.method !== 'initialize') {
      const error = { code: -32000, message: 'Bad Request: No valid session ID provided' };
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', error, id: null }));
      return;
    }
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, { transport, path }),
    });
    await newServer(path).connect(transport);
    await transport.handleRequest(request, response, body);
  };

  const listener = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  t.teardown(() => {
    listener.closeAllConnections();
    listener.close();
  });
  const { port } = listener.address() as AddressInfo;
  return (path) => `http://127.0.0.1:${port}/${path}`;
}
