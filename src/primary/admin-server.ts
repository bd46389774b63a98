// The listener for operators and monitoring, in the primary: liveness, readiness, figures, and what happens in the workers
// (view-pages.ts). Plain HTTP without a token, so it listens on loopback by default and can change only the log level. Cold path.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIP, type AddressInfo } from 'node:net';
import type { ListenAddress } from '../config/index.js';
import { listenFault } from '../process/index.js';
import { HostPolicy, limits } from '../shared/index.js';
import { closeIdleForNew } from '../fair/index.js';
import type { ReadinessReport } from './readiness.js';

/** Body of a request that changes something on the admin listener. Beyond that, 400. */
const ADMIN_BODY_CHARS_MAX = 1_024;

/**
 * Connections to the admin listener; a monitor needs one, and several operators may connect at once. Beyond that, the one that has been
 * silent for longest is closed.
 */
const ADMIN_CONNECTIONS_MAX = 64;

export interface AdminPage {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/**
 * Pages by path; a path that ends with a slash is followed by a name. @param accept the `accept`
 * header of the request. @param name the decoded text after the slash.
 */
export type AdminPages = Readonly<
  Record<string, (accept: string, query: URLSearchParams, name: string) => AdminPage | Promise<AdminPage>>
>;

/** Changes made with PUT, by path. */
export type AdminChanges = Readonly<Record<string, (body: string) => AdminPage>>;

export interface AdminOptions {
  readonly pages: AdminPages;
  readonly changes?: AdminChanges;
  /** Host names that requests may use besides the machine's addresses: lower-case, with or without a port. */
  readonly allowedHosts: readonly string[];
  /** Gets errors that the listener survives, such as no file descriptor being left for a connection. */
  readonly onFault: (error: Error) => void;
  readonly requestMsMax?: number;
}

export class AdminServer {
  readonly address: ListenAddress;
  readonly #server: Server;

  private constructor(server: Server, address: ListenAddress) {
    this.#server = server;
    this.address = address;
  }

  /** @throws {StartFault} that names the address and says what to do. */
  static async listen(address: ListenAddress, options: AdminOptions): Promise<AdminServer> {
    const server = createAdminServer(address.host, options);
    try {
      server.listen({ host: address.host, port: address.port, exclusive: true });
      await once(server, 'listening');
    } catch (error) {
      throw listenFault(address, '--admin-address', error);
    }
    // An open connection must not keep the program from ending.
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

/** Creates the server without starting to listen. */
export function createAdminServer(host: string, options: AdminOptions): Server {
  const { allowedHosts, onFault, requestMsMax = limits.adminRequestMsMax } = options;
  const isAdmitted = hostCheckFor(host, allowedHosts);
  const bounds = { maxHeaderSize: limits.requestHeaderBytesMax, connectionsCheckingInterval: CHECK_MS };
  const server = createServer(bounds, (request, response) => {
    void answer(request, response, isAdmitted, options);
  });
  closeIdleForNew(server, ADMIN_CONNECTIONS_MAX);
  server.headersTimeout = server.requestTimeout = requestMsMax;
  // A connection that sends nothing at all would keep its slot from others.
  server.setTimeout(requestMsMax, (socket) => socket.destroy());
  // A failure to listen is handled by the caller.
  server.on('error', (error) => {
    if (server.listening) onFault(error);
  });
  return server;
}

/** The interval of Node's check for slow requests: its default of 30 s is longer than a request may take. */
const CHECK_MS = 1_000;

type AdmitsHost = (host: string, origin: string) => boolean;

/** Decides which `Host` and `Origin` are accepted: a page in an operator's browser must not read what this machine serves. */
function hostCheckFor(listenHost: string, allowedHosts: readonly string[]): AdmitsHost {
  const policy = new HostPolicy({ listenHost, allowedHosts: [], allowedOrigins: [] });
  // DNS names can be rebound to this machine, addresses cannot. A request without `Host` does not come from a browser.
  return (host, origin) => {
    const name = host.toLowerCase().replace(/:\d*$/, '');
    const isKnown = host === '' || name === 'localhost' || isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0;
    return (
      policy.check(host, origin) === undefined &&
      (isKnown || allowedHosts.includes(name) || allowedHosts.includes(host.toLowerCase()))
    );
  };
}

/** The body and the status of `/ready`. */
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
  isAdmitted: AdmitsHost,
  pagesAndChanges: PagesAndChanges,
): Promise<void> {
  let page: AdminPage;
  try {
    page = await pageFor(request, isAdmitted, pagesAndChanges);
  } catch (error) {
    page = jsonPage(500, { detail: error instanceof Error ? error.message : String(error) });
  }
  const { status, contentType, body } = page;
  const headers = { 'content-type': contentType, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) });
  response.end(request.method === 'HEAD' ? undefined : body);
}

type PagesAndChanges = Pick<AdminOptions, 'pages' | 'changes'>;

async function pageFor(
  request: IncomingMessage,
  isAdmitted: AdmitsHost,
  { pages, changes = {} }: PagesAndChanges,
): Promise<AdminPage> {
  const { method, url = '/', headers } = request;
  if (!isAdmitted(headers.host ?? '', headers.origin ?? ''))
    return jsonPage(403, {
      detail: 'Host or Origin not allowed: use an IP address, or a host in --allowed-hosts',
    });
  const [path, query] = splitAt(url, url.indexOf('?'));
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

function splitAt(text: string, at: number): readonly [string, string] {
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

/** Splits a path such as /requests/<id> into page and name; the name is `undefined` if it is missing or cannot be decoded. */
function splitPath(path: string): { readonly pagePath: string; readonly name: string | undefined } {
  const slash = path.indexOf('/', 1) + 1;
  if (slash > 1 && slash < path.length) return { pagePath: path.slice(0, slash), name: decodedName(path.slice(slash)) };
  return { pagePath: path, name: path.length > 1 && path.endsWith('/') ? undefined : '' };
}

function decodedName(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Reads the body of a change, which is short; one that is too long counts as empty. */
async function readBody(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) {
    body += String(chunk);
    if (body.length > ADMIN_BODY_CHARS_MAX) return '';
  }
  return body;
}
