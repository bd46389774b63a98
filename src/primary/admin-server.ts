// The listener for operators and monitoring: liveness, readiness, figures, and what happens in the workers (view-pages.ts). Plain HTTP
// without a token, so it listens on loopback by default and can change only the log level. Cold path.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIP, type AddressInfo } from 'node:net';
import type { ListenAddress } from '../config/index.js';
import { listenFault } from '../process/index.js';
import { HostPolicy, limits } from '../shared/index.js';
import { limitConnections } from '../fair/index.js';
import type { ReadinessReport } from './readiness.js';

/** The most characters in the body of a PUT. A longer body gets 400. */
export const ADMIN_BODY_CHARS_MAX = 1_024;

/** The most connections: enough for a monitor and several operators. For one more, the one that has been silent longest is closed. */
export const ADMIN_CONNECTIONS_MAX = 64;

export interface AdminPage {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** Makers of pages by path. A path that ends with a slash is followed by a `name`, which is decoded; for other paths it is `''`. */
export type AdminPages = Readonly<
  Record<string, (accept: string, query: URLSearchParams, name: string) => AdminPage | Promise<AdminPage>>
>;

/** Handlers of PUT requests, by path. */
export type AdminChanges = Readonly<Record<string, (body: string) => AdminPage>>;

export interface AdminOptions {
  readonly pages: AdminPages;
  readonly changes?: AdminChanges;
  /** Hosts that are allowed besides the machine's addresses: in lower case, with or without a port. */
  readonly allowedHosts: readonly string[];
  /** Called with errors that the listener survives, such as a lack of file descriptors. */
  readonly onFault: (error: Error) => void;
  readonly requestMsMax?: number;
}

export interface AdminServer {
  readonly address: ListenAddress;
  readonly close: () => Promise<void>;
}

/** Opens the listener. @throws {StartFault} for an operator. */
export async function openAdminServer(address: ListenAddress, options: AdminOptions): Promise<AdminServer> {
  const server = createAdminServer(address.host, options);
  try {
    server.listen({ host: address.host, port: address.port });
    await once(server, 'listening');
  } catch (error) {
    throw listenFault(address, '--admin-address', error);
  }
  const close = async (): Promise<void> => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  return { address: { host: address.host, port: (server.address() as AddressInfo).port }, close };
}

export function createAdminServer(host: string, options: AdminOptions): Server {
  const { allowedHosts, onFault, requestMsMax = limits.adminRequestMsMax } = options;
  const isHostAdmitted = hostCheckFor(host, allowedHosts);
  const connectionsCheckingInterval = Math.min(SLOW_REQUEST_CHECK_MS, requestMsMax);
  const bounds = { maxHeaderSize: limits.requestHeaderBytesMax, connectionsCheckingInterval };
  const server = createServer(bounds, (request, response) => {
    void respond(request, response, isHostAdmitted, options);
  });
  limitConnections(server, ADMIN_CONNECTIONS_MAX);
  server.headersTimeout = server.requestTimeout = requestMsMax;
  // A connection on which nothing moves is closed, because it counts against the limit.
  server.setTimeout(requestMsMax, (socket) => socket.destroy());
  // An error before it listens is left to the caller of `listen`.
  server.on('error', (error) => {
    if (server.listening) onFault(error);
  });
  return server;
}

/** Interval between checks for slow requests: Node's default of 30 s is longer than a request may take. */
const SLOW_REQUEST_CHECK_MS = 1_000;

type HostCheck = (host: string, origin: string) => boolean;

/** Makes the check of `Host` and `Origin`: a page in an operator's browser must not read what this machine serves. */
function hostCheckFor(listenHost: string, allowedHosts: readonly string[]): HostCheck {
  const policy = new HostPolicy({ listenHost, allowedHosts: [], allowedOrigins: [] });
  // DNS names can be rebound to this machine, addresses cannot. Browsers always send a `Host`.
  return (host, origin) => {
    const name = host.toLowerCase().replace(/:\d*$/, '');
    const isKnown = host === '' || name === 'localhost' || isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0;
    return (
      policy.check(host, origin) === undefined &&
      (isKnown || allowedHosts.includes(name) || allowedHosts.includes(host.toLowerCase()))
    );
  };
}

export function readyPage({ isReady, obstacles, degraded, slotCount, listeningCount }: ReadinessReport): AdminPage {
  const status = isReady ? 'ready' : 'not ready';
  const workers = { expected: slotCount, listening: listeningCount };
  return jsonPage(isReady ? 200 : 503, { status, obstacles, degraded, workers });
}

export function jsonPage(status: number, value: unknown): AdminPage {
  return { status, contentType: 'application/json', body: `${JSON.stringify(value)}\n` };
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  isHostAdmitted: HostCheck,
  options: AdminOptions,
): Promise<void> {
  let page: AdminPage;
  try {
    page = await pageFor(request, isHostAdmitted, options);
  } catch (error) {
    page = jsonPage(500, { detail: error instanceof Error ? error.message : String(error) });
  }
  const { status, contentType, body } = page;
  const headers = { 'content-type': contentType, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

async function pageFor(
  request: IncomingMessage,
  isHostAdmitted: HostCheck,
  { pages, changes = {} }: AdminOptions,
): Promise<AdminPage> {
  const { method, url = '/', headers } = request;
  if (!isHostAdmitted(headers.host ?? '', headers.origin ?? ''))
    return jsonPage(403, {
      detail: 'Host or Origin not allowed: use an IP address, or a host in --allowed-hosts',
    });
  const [path = '', query = ''] = url.split(/\?(.*)/s);
  const change = Object.hasOwn(changes, path) ? changes[path] : undefined;
  if (change !== undefined)
    return method === 'PUT' ? change(await readBody(request)) : jsonPage(405, { detail: 'use PUT' });
  const { pagePath, name } = splitPath(path);
  const page = Object.hasOwn(pages, pagePath) ? pages[pagePath] : undefined;
  if (page === undefined || name === undefined) {
    return jsonPage(404, {
      detail: `Not found. Available: ${[...Object.keys(pages), ...Object.keys(changes)].join(', ')}`,
    });
  }
  if (method !== 'GET' && method !== 'HEAD') return jsonPage(405, { detail: 'use GET' });
  return page(headers.accept ?? '', new URLSearchParams(query), name);
}

/** Splits a path such as /requests/<id>; the name is `undefined` if it is missing or cannot be decoded. */
function splitPath(path: string): { readonly pagePath: string; readonly name: string | undefined } {
  const slash = path.indexOf('/', 1) + 1;
  if (slash > 0 && slash < path.length) return { pagePath: path.slice(0, slash), name: decodedName(path.slice(slash)) };
  return { pagePath: path, name: path.endsWith('/') ? undefined : '' };
}

function decodedName(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Reads the body; `''` if it is too long. */
async function readBody(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) {
    body += String(chunk);
    if (body.length > ADMIN_BODY_CHARS_MAX) return '';
  }
  return body;
}
