// An edge with its routes, on its own port; the test is who its requests are passed on to.
import type { Test } from 'tap';
import type { DataplaneOptions } from '../../src/config/dataplane-options.js';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';
import type { Endpoint } from '../../src/shared/endpoint.js';
import { createLogger } from '../../src/shared/logger.js';
import { createMessageMemories } from '../../src/fair/message-memory.js';
import type { Refusal } from '../../src/shared/refusals.js';
import { loadLibrary } from '../../src/edge/choose-listener.js';
import type { EdgeExchange } from '../../src/edge/edge-exchange.js';
import { Edge } from '../../src/edge/edge.js';
import { findFreePort } from '../support/free-port.js';
import { RawConnection, type HttpAnswer } from '../support/raw-http.js';
import { createAccounts } from '../support/shares.js';
import type { Listener } from './edge-server.js';

export const MCP = '/servers/v/mcp';
const ENDPOINTS: readonly Endpoint[] = (['GET', 'POST'] as const).map((method) => ({
  ...{ method, path: `/extra/${method.toLowerCase()}` },
  handle: async () => ({ status: 200, contentType: '', body: '' }),
}));

export interface Scene {
  readonly edge: Edge;
  readonly origin: string;
  /** One line for each request that the edge passed on. */
  readonly told: readonly string[];
  /** Of the exchanges that were passed on, the latest. */
  readonly last: () => EdgeExchange;
  readonly handler: { healthRefusal: Refusal | undefined; act: (exchange: EdgeExchange) => void };
  readonly open: () => Promise<RawConnection>;
  /** Sends a request, and reads its answer. */
  readonly ask: (method: string, path: string, headers?: string, body?: string) => Promise<HttpAnswer>;
}

/** Unless told otherwise, every request is answered with 200 and `ok` when its body is there. */
export async function edgeScene(t: Test, listener: Listener, changes: object = {}): Promise<Scene> {
  const port = await findFreePort();
  const options = {
    ...{ address: { host: '127.0.0.1', port }, tls: undefined, pathPrefix: '', requestIds: 'off', traces: undefined },
    ...{ drainNoticeMs: 0, drainTimeoutMs: 10_000, bodyBytesMax: 1_000, slowReaderTimeoutMs: 60_000 },
    ...{ answers: { streamKeepAliveMs: 14_000 }, protectedResource: { authorizationServers: [] } },
    ...changes,
  } as unknown as DataplaneOptions;
  const deadlines = new DeadlineWheel();
  const told: string[] = [];
  const exchanges: EdgeExchange[] = [];
  const handler: Scene['handler'] = {
    healthRefusal: undefined,
    act: (exchange) => exchange.incoming.receive((outcome) => exchange.respond(200, 'text/plain', outcome)),
  };
  const pass = (line: string, exchange: EdgeExchange): void => {
    told.push(`${line} ${exchange.request.method} ${exchange.head.virtualHostId}`);
    exchanges.push(exchange);
    handler.act(exchange);
  };
  const edge = new Edge(
    await loadLibrary(listener),
    options,
    deadlines,
    createMessageMemories(createAccounts(), deadlines),
    {
      onRequest: (exchange) => pass('request', exchange),
      onOtherMethod: (exchange) => pass('other method', exchange),
      onPreflight: (exchange) => pass('preflight', exchange),
      onMetadataRequest: (exchange, isPreflight) => pass(isPreflight ? 'metadata preflight' : 'metadata', exchange),
      onRefused: (exchange, refusal) => {
        told.push(`refused ${refusal.code} ${exchange.request.method}`);
        exchange.respond(refusal.status, refusal.contentType, refusal.body);
      },
      onEndpointRequest: (endpoint, exchange, parameter) => pass(`${endpoint.path} ${parameter}`, exchange),
      get healthRefusal() {
        return handler.healthRefusal;
      },
    },
    ENDPOINTS,
    createLogger('silent', {}),
  );
  await edge.listen();
  const origin = `http://127.0.0.1:${port}`;
  const open = async (): Promise<RawConnection> => {
    const connection = await RawConnection.open(origin);
    t.teardown(() => connection.close());
    return connection;
  };
  t.teardown(async () => {
    for (const exchange of exchanges) exchange.reset();
    await edge.drain();
    deadlines.stop();
  });
  const ask: Scene['ask'] = async (method, path, headers = '', body = '') => {
    const connection = await open();
    connection.write(requestOf(method, path, headers, body));
    return connection.readAnswer(method);
  };
  return { edge, origin, told, last: () => exchanges.at(-1)!, handler, open, ask };
}

/** @param headers lines, each with its line break. */
export function requestOf(method: string, path: string, headers = '', body = ''): string {
  const length = body === '' ? '' : `content-length: ${Buffer.byteLength(body)}\r\n`;
  return `${method} ${path} HTTP/1.1\r\nhost: a\r\n${headers}${length}\r\n${body}`;
}
