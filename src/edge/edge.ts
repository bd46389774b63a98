// The listeners of one worker, plain and TLS: their routes and their drain. Answers health checks, and passes every other request to its
// handler, the pipeline, which also sends the refusals.
import { setImmediate as endOfTurn, setTimeout as sleep } from 'node:timers/promises';
import type { DataplaneOptions, ListenAddress } from '../config/index.js';
import type { ExchangeRequest } from '../exchange/index.js';
import type { DeadlineWheel, MessageMemories } from '../fair/index.js';
import { type Endpoint, type Logger, refusals, type Refusal } from '../shared/index.js';
import { EdgeExchange } from './edge-exchange.js';
import type { HttpLibrary, HttpListener, HttpRequest, HttpResponse, HttpRouter } from './http-library.js';
import type { EdgeContext } from './incoming-request.js';
import { readHead, RequestIds } from './request-head.js';

/** A turn of the event loop of at most this duration is quiet: after it, almost no connection waits to be accepted. */
const QUIET_TURN_MICROSECONDS_MAX = 100;
/** After this many turns, a quiet turn is no longer awaited. */
const QUIET_TURNS_TRIED_MAX = 200;

async function untilQuietTurn(): Promise<void> {
  // Waits for the next poll for events first, because this turn has already polled.
  await endOfTurn();
  for (let turns = 0; turns < QUIET_TURNS_TRIED_MAX; turns++) {
    const beganAtMs = performance.now();
    await endOfTurn();
    if (1_000 * (performance.now() - beganAtMs) < QUIET_TURN_MICROSECONDS_MAX) return;
  }
}

/**
 * Time that a replaced worker waits for requests on kept-alive connections: the library closes a connection after 10 s without a request,
 * and checks every 4 s.
 */
const KEPT_CONNECTION_MS_MAX = 15_000;
/** Interval between checks whether every request is answered. */
const ANSWERED_CHECK_MS = 250;
/** Interval between checks whether a kept-alive connection is still open. */
const DRAIN_CHECK_MS = 50;

/** What the edge does with requests. */
export interface EdgeHandler {
  /** Called when the head of an MCP request has arrived, and perhaps its body. */
  onRequest(exchange: EdgeExchange): void;
  /** Called for an MCP path with an HTTP method that MCP does not use. */
  onOtherMethod(exchange: EdgeExchange): void;
  onPreflight(exchange: EdgeExchange): void;
  /** Called when a client asks where to get a token. */
  onMetadataRequest(exchange: EdgeExchange, isPreflight: boolean): void;
  /** Called for a request that the edge has refused for its path, or because the process may end at any time. */
  onRefused(exchange: EdgeExchange, refusal: Refusal): void;
  /** Called when the head of a request to an endpoint of an optional feature has arrived. */
  onEndpointRequest(endpoint: Endpoint, exchange: EdgeExchange, parameter: string): void;
  /** What a health check gets instead of `healthy`. */
  readonly healthRefusal: Refusal | undefined;
}

export class Edge {
  readonly #library: HttpLibrary;
  readonly #options: DataplaneOptions;
  readonly #handler: EdgeHandler;
  readonly #endpoints: readonly Endpoint[];
  readonly #context: EdgeContext;
  #closeFunctions: (() => void)[] = [];
  /** The open connections, counted only if a drain will wait for them. */
  #connectionCount = 0;
  #isDrainAnnounced = false;
  #isRetired = false;
  #isDrained = false;

  constructor(
    library: HttpLibrary,
    options: DataplaneOptions,
    deadlines: DeadlineWheel,
    memories: MessageMemories,
    handler: EdgeHandler,
    endpoints: readonly Endpoint[],
    logger: Logger,
  ) {
    this.#library = library;
    this.#options = options;
    this.#handler = handler;
    this.#endpoints = endpoints;
    this.#context = {
      requestIds: new RequestIds(options.requestIds),
      isTraced: options.traces !== undefined,
      deadlines,
      requestMemory: memories.requests,
      answerMemory: memories.answers,
      bodyBytesMax: options.bodyBytesMax,
      isCopiedAtOnce: library.copiesAtOnce,
      slowReaderTimeoutMs: options.slowReaderTimeoutMs,
      streamKeepAliveMs: options.answers.streamKeepAliveMs,
      logger,
      isDraining: false,
      openGets: new Set(),
      openExchangeCount: 0,
      onIdle: undefined,
    };
  }

  /** Opens the listeners. Rejects with an error that names the address. */
  async listen(): Promise<void> {
    const { address, tls } = this.#options;
    await this.#listenOn(this.#library.createListener(), false, address);
    if (tls === undefined) return;
    await this.#listenOn(this.#library.createListener(tls), true, tls.address);
  }

  /**
   * Makes health checks fail, so that load balancers remove this process, and every answer close its connection. All requests are still
   * served.
   */
  announceDrain(): void {
    this.#isDrainAnnounced = true;
    this.#context.isDraining = true;
  }

  /**
   * Stops accepting connections, and resolves when every request has its whole answer. After an announcement, also waits for kept-alive
   * connections, as long as the announcement took, but at most half of the drain timeout. Later requests are refused, because the process
   * may end at any time.
   */
  async drain(): Promise<void> {
    const { drainNoticeMs, drainTimeoutMs } = this.#options;
    const keptUntilMs = performance.now() + Math.min(drainNoticeMs, drainTimeoutMs / 2);
    await this.#closeListeners();
    const hasKeptConnections = (): boolean => this.#connectionCount > 0 && performance.now() < keptUntilMs;
    while (this.#context.openExchangeCount > 0 || hasKeptConnections()) {
      if (this.#context.openExchangeCount > 0) await new Promise<void>((resolve) => (this.#context.onIdle = resolve));
      else await sleep(DRAIN_CHECK_MS);
    }
    this.#isDrained = true;
  }

  /**
   * Stops accepting connections. Resolves when the library has closed the idle ones, and every request is answered.
   * @param onLeft called when no more connections are accepted.
   */
  async retire(onLeft: () => void): Promise<void> {
    this.#isRetired = true;
    await this.#closeListeners();
    onLeft();
    this.#endStreamsForSuccessor();
    await sleep(KEPT_CONNECTION_MS_MAX);
    while (this.#context.openExchangeCount > 0) {
      this.#endStreamsForSuccessor();
      await sleep(ANSWERED_CHECK_MS);
    }
  }

  /** Ends streams that answer GETs, which would stay open until their clients disconnect. */
  #endStreamsForSuccessor(): void {
    for (const exchange of this.#context.openGets) exchange.endForSuccessor();
  }

  /** Closes the listeners after a quiet turn, because Linux resets connections that wait in a listener's accept queue. */
  async #closeListeners(): Promise<void> {
    this.#context.isDraining = true;
    await untilQuietTurn();
    for (const close of this.#closeFunctions) close();
    this.#closeFunctions = [];
  }

  async #listenOn(listener: HttpListener, isTls: boolean, { host, port }: ListenAddress): Promise<void> {
    this.#route(listener.router, isTls);
    if (this.#options.drainNoticeMs > 0) listener.onConnection((change) => void (this.#connectionCount += change));
    const close = await listener.listen(host, port);
    if (close === undefined) {
      throw new Error(`cannot listen on ${host}:${port}: the address is in use or not of this machine`);
    }
    this.#closeFunctions.push(close);
  }

  #route(router: HttpRouter, isTls: boolean): void {
    const { pathPrefix } = this.#options;
    const onMcp = (res: HttpResponse, req: HttpRequest): void => this.#onMcp(res, req, isTls);
    const onHealth = (res: HttpResponse, req: HttpRequest): void =>
      this.#onHealth(this.#createExchange(res, req, isTls));
    for (const path of this.#mcpPaths) router.route('any', path, onMcp);
    for (const prefix of new Set([pathPrefix, ''])) {
      for (const method of ['get', 'head'] as const) router.route(method, `${prefix}/health`, onHealth);
    }
    if (this.#options.protectedResource.authorizationServers.length > 0) this.#routeMetadata(router, isTls);
    for (const endpoint of this.#endpoints) {
      const pattern = `${pathPrefix}${endpoint.path}/:parameter`;
      const onEndpointRequest = (res: HttpResponse, req: HttpRequest): void => {
        const parameter = req.getParameter(0)!;
        this.#handler.onEndpointRequest(endpoint, this.#createExchange(res, req, isTls), parameter);
      };
      router.route(endpoint.method === 'GET' ? 'get' : 'post', pattern, onEndpointRequest);
      if (endpoint.method === 'GET') router.route('head', pattern, onEndpointRequest);
    }
    router.route('any', '/*', (res, req) => {
      this.#handler.onRefused(this.#createExchange(res, req, isTls), refusals.pathUnknown);
    });
  }

  /** The paths of MCP, with and without a slash at the end, because people paste both. */
  get #mcpPaths(): readonly string[] {
    const path = `${this.#options.pathPrefix}/servers/:virtualHostId/mcp`;
    return [path, `${path}/`];
  }

  #routeMetadata(router: HttpRouter, isTls: boolean): void {
    const onMetadataRequest = (res: HttpResponse, req: HttpRequest): void =>
      this.#handler.onMetadataRequest(this.#createExchange(res, req, isTls), req.getMethod() === 'options');
    for (const path of ['', ...this.#mcpPaths]) {
      const pattern = `${METADATA_PATH}${path}`;
      for (const method of ['get', 'head', 'options'] as const) router.route(method, pattern, onMetadataRequest);
    }
  }

  #onMcp(res: HttpResponse, req: HttpRequest, isTls: boolean): void {
    const exchange = this.#createExchange(res, req, isTls);
    if (this.#isDrained) return this.#handler.onRefused(exchange, refusals.draining);
    switch (req.getMethod()) {
      case 'get':
        this.#context.openGets.add(exchange);
        return this.#handler.onRequest(exchange);
      case 'post':
      case 'delete':
        return this.#handler.onRequest(exchange);
      case 'options':
        return this.#handler.onPreflight(exchange);
      default:
        return this.#handler.onOtherMethod(exchange);
    }
  }

  #onHealth(exchange: EdgeExchange): void {
    // A retired worker does not refuse: it has a successor, and so the gateway is healthy.
    const isRefusing = (this.#context.isDraining && !this.#isRetired) || this.#isDrainAnnounced;
    const refusal = isRefusing ? refusals.draining : this.#handler.healthRefusal;
    exchange.respond(refusal?.status ?? 200, 'application/json', refusal?.body ?? '{"status":"healthy"}');
  }

  #createExchange(res: HttpResponse, req: HttpRequest, isTls: boolean): EdgeExchange {
    const method = req.getMethod();
    const head = readHead(req, SHOWN_METHODS.get(method) ?? 'other');
    return new EdgeExchange(this.#context, res, isTls, head, method === 'head');
  }
}

/** The method that logs and figures show; `other` for the rest. */
const SHOWN_METHODS: ReadonlyMap<string, ExchangeRequest['method']> = new Map([
  ['post', 'POST'],
  ['delete', 'DELETE'],
  ['get', 'GET'],
  ['head', 'GET'],
]);

export const METADATA_PATH = '/.well-known/oauth-protected-resource';

interface ProtectedResourceOptions {
  /** Scheme, host and port that callers use; `undefined` for those of the request, if its host is trusted. */
  readonly publicUrl: string | undefined;
  /** The authorization servers; if there are none, no metadata is served. */
  readonly authorizationServers: readonly string[];
}

export interface RequestOrigin {
  readonly isTls: boolean;
  readonly host: string;
  /** Whether callers cannot choose the host. */
  readonly isHostTrusted: boolean;
}

/** Headers that let pages of any origin read the metadata: it is the same for everybody. */
export const metadataCorsHeaders: readonly string[] = [
  ...['access-control-allow-origin', '*', 'access-control-allow-methods', 'GET, HEAD, OPTIONS'],
  ...['access-control-allow-headers', 'accept, content-type, mcp-protocol-version', 'access-control-max-age', '86400'],
];

/** Tells clients where to get a token (RFC 9728), in metadata and in a header of refusals. Cold path. */
export class ProtectedResource {
  readonly #options: ProtectedResourceOptions;

  constructor(options: ProtectedResourceOptions) {
    this.#options = options;
  }

  /** The metadata as JSON; `undefined` when there is none. @param path of the resource, percent-encoded; `''` for the whole program. */
  metadata(path: string, origin: RequestOrigin): string | undefined {
    const resource = this.#resource(path, origin);
    if (resource === undefined) return undefined;
    return JSON.stringify({
      resource: path === '' ? resource.origin : resource.href,
      authorization_servers: this.#options.authorizationServers,
      bearer_methods_supported: ['header'],
    });
  }

  /** Adds the metadata's address to a refusal because of a missing, invalid or insufficient token. */
  challenge<Code extends string>(refusal: Refusal<Code>, path: string, origin: RequestOrigin): Refusal<Code> {
    const resource = refusal.status === 401 || refusal.status === 403 ? this.#resource(path, origin) : undefined;
    if (resource === undefined) return refusal;
    const address = `${resource.origin}${METADATA_PATH}${path === '' ? '' : resource.pathname}`;
    const headers = refusal.headers.map((value, index) =>
      refusal.headers[index - 1] === 'www-authenticate' ? `${value}, resource_metadata="${address}"` : value,
    );
    return { ...refusal, headers };
  }

  #resource(path: string, { isTls, host, isHostTrusted }: RequestOrigin): URL | undefined {
    if (this.#options.authorizationServers.length === 0) return undefined;
    const requested = isHostTrusted && host !== '' ? `${isTls ? 'https' : 'http'}://${host}` : undefined;
    const url = `${this.#options.publicUrl ?? requested ?? ''}${path}`;
    return URL.canParse(url) ? new URL(url) : undefined;
  }
}
