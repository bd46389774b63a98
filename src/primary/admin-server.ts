// The listener for operators and their monitors, in the primary: whether the gateway lives, whether it is ready, and its
// figures. Plain HTTP without a token, so it is on loopback unless somebody puts it elsewhere, and changes nothing. Cold.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ListenAddress } from '../config/dataplane-options.js';
import { listenFault } from '../process/listen-fault.js';
import { HostPolicy } from '../shared/host-policy.js';
import { limits } from '../shared/limits.js';
import type { ReadinessReport } from './readiness.js';

export interface AdminPage {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** By path. @param accept the request's header. */
export type AdminPages = Readonly<Record<string, (accept: string) => AdminPage | Promise<AdminPage>>>;

export class AdminServer {
  readonly address: ListenAddress;
  readonly #server: Server;

  private constructor(server: Server, address: ListenAddress) {
    this.#server = server;
    this.address = address;
  }

  /** @throws {StartFault} that names the address and what to do. */
  static async listen(address: ListenAddress, pages: AdminPages): Promise<AdminServer> {
    const hosts = new HostPolicy({ listenHost: address.host, allowedHosts: [], allowedOrigins: [] });
    const server = createServer({ maxHeaderSize: limits.requestHeaderBytesMax }, (request, response) => {
      void answer(request, response, hosts, pages);
    });
    server.maxConnections = limits.adminConnectionsMax;
    server.headersTimeout = server.requestTimeout = limits.adminRequestMsMax;
    try {
      server.listen({ host: address.host, port: address.port, exclusive: true });
      await once(server, 'listening');
    } catch (error) {
      throw listenFault(address, '--admin-address', error);
    }
    // Whatever is left open must not keep the program from ending.
    server.unref();
    const { port } = server.address() as AddressInfo;
    return new AdminServer(server, { host: address.host, port });
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}

/** What `/ready` says, and with which status. */
export function readyPage({ isReady, obstacles, degraded, slotCount, listeningCount }: ReadinessReport): AdminPage {
  const status = isReady ? 'ready' : 'not ready';
  const workers = { expected: slotCount, listening: listeningCount };
  return jsonPage(isReady ? 200 : 503, { status, obstacles, degraded, workers });
}

export function jsonPage(status: number, value: unknown): AdminPage {
  return { status, contentType: 'application/json', body: `${JSON.stringify(value)}\n` };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  hosts: HostPolicy,
  pages: AdminPages,
): Promise<void> {
  let page: AdminPage;
  try {
    page = await pageFor(request, hosts, pages);
  } catch (error) {
    page = jsonPage(500, { detail: error instanceof Error ? error.message : String(error) });
  }
  const { status, contentType, body } = page;
  const headers = { 'content-type': contentType, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) });
  response.end(request.method === 'HEAD' ? undefined : body);
}

function pageFor(request: IncomingMessage, hosts: HostPolicy, pages: AdminPages): AdminPage | Promise<AdminPage> {
  const { method, url = '/', headers } = request;
  // A page in an operator's browser must not read what is on this machine.
  const refusal = hosts.check(headers.host ?? '', headers.origin ?? '');
  if (refusal !== undefined) return jsonPage(refusal.status, { detail: 'this host or origin is not let in' });
  const path = url.split('?', 1)[0] ?? '';
  const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
  if (page === undefined) return jsonPage(404, { detail: `there is ${Object.keys(pages).join(', ')}` });
  if (method !== 'GET' && method !== 'HEAD') return jsonPage(405, { detail: 'use GET' });
  return page(headers.accept ?? '');
}
