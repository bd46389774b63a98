// Offers over `node:http` what the edge uses of uWebSockets.js, for programs that do not or cannot load it; and exchanges over the control
// plane's server. Refuses what uWebSockets.js refuses: oversized heads, HTTP/1.0, pipelining, slow heads and bodies.
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { Server as NetServer, type Socket } from 'node:net';
import { limits, refusals, type Refusal } from '../shared/index.js';
import type { HttpHandler, HttpLibrary, HttpListener, HttpRouter, RoutedMethod, TlsFiles } from './http-library.js';
import { NodeRequest, NodeResponse, NODE_SILENCE_MS_MAX } from './node-response.js';
import type { MessageMemories } from '../fair/index.js';
import type { EdgeContext } from './incoming-request.js';
import { EdgeExchange, statusLine } from './edge-exchange.js';
import { readHead } from './request-head.js';

/** Time from a request's first byte to its last. After that, the connection is closed. */
const NODE_REQUEST_MS_MAX = 300_000;

const SERVER_OPTIONS: ServerOptions = {
  maxHeaderSize: limits.requestHeaderBytesMax,
  headersTimeout: NODE_SILENCE_MS_MAX,
  requestTimeout: NODE_REQUEST_MS_MAX,
  keepAliveTimeout: NODE_SILENCE_MS_MAX,
  connectionsCheckingInterval: NODE_SILENCE_MS_MAX / 4,
};

/** Whether several processes can share a port, with `reusePort`. */
export function canReusePort(version: string = process.versions.node, platform: string = process.platform): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isKnown = major >= 24 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12);
  return isKnown && (platform === 'linux' || platform === 'freebsd');
}

export const nodeLibrary: HttpLibrary = {
  copiesAtOnce: false,
  createListener: (tls) => new NodeListener(tls),
};

interface Route {
  readonly method: RoutedMethod;
  readonly path: RegExp;
  readonly handler: HttpHandler;
}

class NodeListener implements HttpListener, HttpRouter {
  readonly #server: Server;
  readonly #routes: Route[] = [];
  readonly #unanswered = new WeakMap<Socket, NodeResponse>();

  constructor(tls: TlsFiles | undefined) {
    const onRequest = (req: IncomingMessage, res: ServerResponse): void => this.#onRequest(req, res);
    this.#server =
      tls === undefined
        ? createServer(SERVER_OPTIONS, onRequest)
        : createTlsServer(
            {
              ...SERVER_OPTIONS,
              cert: readFileSync(tls.certificatePath),
              key: readFileSync(tls.privateKeyPath),
              handshakeTimeout: NODE_SILENCE_MS_MAX,
            },
            onRequest,
          );
    // Before the end of the handshake, an error closes the connection: nothing can be answered.
    this.#server
      .removeAllListeners('tlsClientError')
      .on('tlsClientError', (_error, socket: Socket) => socket.destroy());
    // No limit: beyond one, Node would drop headers silently. `#onRequest` refuses a request that has too many.
    this.#server.maxHeadersCount = 0;
    // A silent connection is closed, unless its caller waits for an answer.
    this.#server.setTimeout(NODE_SILENCE_MS_MAX, (socket: Socket) => {
      if (this.#unanswered.get(socket)?.isBodyLate !== false) socket.destroy();
    });
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
      this.#onUnreadable(error, socket as Socket),
    );
  }

  get router(): HttpRouter {
    return this;
  }

  route(method: RoutedMethod, pattern: string, handler: HttpHandler): void {
    const escaped = pattern.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
    const source = escaped.replace(/\*$/, '.*').replace(/:[^/]+/g, '([^/]+)');
    this.#routes.push({ method, path: new RegExp(`^${source}$`, 's'), handler });
  }

  onConnection(onChange: (change: number) => void): void {
    this.#server.on('connection', (socket: Socket) => {
      onChange(1);
      socket.once('close', () => onChange(-1));
    });
  }

  listen(host: string, port: number): Promise<(() => void) | undefined> {
    const server = this.#server;
    return new Promise((resolve) => {
      server.once('error', () => resolve(undefined));
      const options = { host, port, reusePort: canReusePort() };
      server.listen(options, () => {
        // The server of `net` is closed: `http.Server.close` would end idle connections, on which a request may be on its way.
        resolve(() => NetServer.prototype.close.call(server));
      });
    });
  }

  #onRequest(req: IncomingMessage, res: ServerResponse): void {
    const { socket, url = '' } = req;
    // Pipelining is refused: any number of requests could be queued behind an unanswered one.
    if (this.#unanswered.has(socket)) {
      socket.destroy();
      return;
    }
    if (req.httpVersion !== '1.1' || !(url.startsWith('/') || url === '*')) return void refuseSocket(socket, 505);
    if (req.rawHeaders.length > 2 * limits.nodeHeadersMax) return void refuseSocket(socket, 431);
    const method = (req.method ?? '').toLowerCase();
    const query = url.indexOf('?');
    const path = query < 0 ? url : url.slice(0, query);
    const response = new NodeResponse(req, res, () => this.#unanswered.delete(socket));
    this.#unanswered.set(socket, response);
    for (const route of this.#routes) {
      if (route.method !== 'any' && route.method !== method) continue;
      const match = route.path.exec(path);
      if (match === null) continue;
      route.handler(response, new NodeRequest(req, method, match[1]));
      return;
    }
    socket.destroy();
  }

  #onUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
    const isSilent = error.code === 'ECONNRESET' || error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
    const response = this.#unanswered.get(socket);
    const isBegun = response !== undefined && !response.tryAbandon();
    if (isSilent || !socket.writable || isBegun) {
      socket.destroy();
      return;
    }
    switch (error.code) {
      case 'HPE_HEADER_OVERFLOW':
        return refuseSocket(socket, 431);
      case 'HPE_INVALID_VERSION':
        return refuseSocket(socket, 505);
      case 'HPE_INVALID_METHOD':
        return isRequestLine(error) ? refuseSocket(socket, 405, refusals.methodNotAllowed) : refuseSocket(socket, 400);
      case 'HPE_UNEXPECTED_CONTENT_LENGTH':
      case 'HPE_INVALID_TRANSFER_ENCODING':
        return refuseSocket(socket, refusals.headAmbiguous.status, refusals.headAmbiguous);
      default:
        return refuseSocket(socket, 400);
    }
  }
}

/** Whether the bytes are an HTTP/1.1 request with an unknown method. */
function isRequestLine({ rawPacket }: NodeJS.ErrnoException & { readonly rawPacket?: Buffer }): boolean {
  const start = rawPacket?.toString('latin1', 0, limits.requestHeaderBytesMax) ?? '';
  return /^[!#$%&'*+\-.^_`|~\w]+ \S+ HTTP\/1\.1\r\n/.test(start);
}

/** Refuses a request before an exchange exists for it: writes the response to the socket, and closes the connection. */
function refuseSocket(socket: Socket, status: number, refusal?: Refusal): void {
  const { body = '', headers = [] } = refusal ?? {};
  const head = [
    `HTTP/1.1 ${statusLine(status)}`,
    ...(refusal === undefined ? [] : [`content-type: ${refusal.contentType}`]),
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  for (let index = 0; index < headers.length; index += 2) head.push(`${headers[index]}: ${headers[index + 1]}`);
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

/**
 * Exchanges over the control plane's server of `node:http`, which has admitted the caller. Headers of the response that are already set
 * are sent. Slow readers have no timeout.
 */
export class NodeExchanges {
  readonly #context: EdgeContext;

  constructor(
    dependencies: Pick<EdgeContext, 'deadlines' | 'bodyBytesMax' | 'streamKeepAliveMs' | 'logger'>,
    memories: MessageMemories,
  ) {
    this.#context = {
      ...dependencies,
      requestMemory: memories.requests,
      answerMemory: memories.answers,
      // Ids are made by the control plane's own server.
      requestIds: { of: (given) => given },
      isTraced: true,
      isCopiedAtOnce: false,
      slowReaderTimeoutMs: Infinity,
      isDraining: false,
      openGets: new Set(),
      openExchangeCount: 0,
      onIdle: undefined,
    };
  }

  /** Opens the exchange of a request. @param message with the method GET, DELETE or POST. */
  open(message: IncomingMessage, response: ServerResponse, requestId: string): EdgeExchange {
    const { method = '' } = message;
    const relayMethod = method === 'GET' || method === 'DELETE' ? method : 'POST';
    const head = readHead(new NodeRequest(message, method, undefined), relayMethod);
    head.request.requestId = requestId;
    const nodeResponse = new NodeResponse(message, response, () => {});
    return new EdgeExchange(this.#context, nodeResponse, false, head, method === 'HEAD');
  }
}
