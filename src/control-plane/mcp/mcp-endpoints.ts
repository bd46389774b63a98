// The MCP endpoints of the control plane: all active servers as one, and each composition as one. The relay behind them
// is the dataplane's, and so is the order of checks (decisions 2.1; worker/pipeline.ts), from where the doors of
// `http/admission.ts` have let a request in:
//
//   #serve           method                              → 405
//   #admit           the virtual host, from the store    → 503, 404
//   checkTransport   headers of the transport            → 406, 415, 400
//   receive          size of the body                    → 413
//   #refusalOutside  version and overload, first message → 400, 503
//   relay.handle     session, JSON-RPC, backends         (relay/relay.ts)
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { readClientMessage, readLargeClientMessage, type ClientReading } from '../../protocol/json-rpc.js';
import type {
  AnswerOptions,
  ConnectionOptions,
  EraOptions,
  ShareOptions,
  UpstreamOptions,
} from '../../config/dataplane-options.js';
import { refuse } from '../../relay/answers.js';
import { eraOfMessage } from '../../relay/era.js';
import { isClientMethod } from '../../relay/client-methods.js';
import { withRequestId } from '../../relay/refused-message.js';
import { Relay } from '../../relay/relay.js';
import { shareTable } from '../../relay/share-table.js';
import { checkTransport, type TransportHead } from '../../relay/transport.js';
import type { StoredSecrets } from '../../secrets/stored-secrets.js';
import type { UserGrants } from '../../secrets/user-grants.js';
import type { Overload } from '../../process/overload.js';
import { OverloadDoor } from '../../process/overload-door.js';
import type { Names } from '../../names/names.js';
import { BackendConnections } from '../../upstream/backend-connections.js';
import { Accounts } from '../../shared/accounts.js';
import { DeadlineWheel } from '../../shared/deadline-wheel.js';
import { limits } from '../../shared/limits.js';
import type { Logger } from '../../shared/logger.js';
import { PROTOCOL_VERSIONS } from '../../protocol/protocol-versions.js';
import { refusals, type Refusal } from '../../shared/refusals.js';
import type { RequestWatch } from '../../observation/request-watch.js';
import type { CompiledVirtualHost, Exposure } from '../../user-config/compiled-config.js';
import type { CurrentHost } from '../../user-config/current-host.js';
import type { Compositions } from '../compositions/compositions.js';
import type { Directory } from '../mirror/directory.js';
import { NodeExchange, type NodeExchangeContext } from './node-exchange.js';
import { VirtualHosts } from './virtual-hosts.js';

export interface McpEndpointsOptions {
  readonly overload: Overload;
  readonly directory: Directory;
  readonly compositions: Pick<Compositions, 'findHost'>;
  readonly upstream: UpstreamOptions;
  readonly answers: AnswerOptions;
  readonly eras: EraOptions;
  /** Of servers, in the store; without it those that want one are unavailable. */
  readonly storedSecrets?: StoredSecrets | undefined;
  readonly userGrants?: UserGrants | undefined;
  readonly shares: ShareOptions;
  readonly connections: ConnectionOptions;
  /** Finds the addresses of servers' hosts. */
  readonly names: Names;
  readonly sessionIdleTimeoutMs: number;
  readonly bodyBytesMax: number;
  /** `undefined` where nobody wants to know how requests come out. */
  readonly watch?: RequestWatch | undefined;
  readonly logger: Logger;
}

const relayedMethods = ['POST', 'DELETE', 'GET'] as const;
const METHOD_NOT_ALLOWED: Refusal = { ...refusals.methodNotAllowed, headers: ['allow', 'GET, POST, DELETE'] };
/** No composition's id is like these. A session belongs to the form in which it was opened: it would have other tools in the other one. */
const AGGREGATE_IDS: Readonly<Record<Exposure, string>> = { all: 'aggregate', search: 'aggregate?exposure=search' };
/** 256 random bits, as characters that a session id may have (S20). */
const SESSION_ID_BYTES = 32;

/**
 * For requests whose Host, Origin and token were checked. Of the request nothing but its head may have been read. The
 * answer is written to the response with everything that was set on it before (`response.setHeader`); nothing is thrown.
 */
export class McpEndpoints {
  readonly #options: McpEndpointsOptions;
  readonly #context: NodeExchangeContext;
  readonly #backends: BackendConnections;
  readonly #relay: Relay;
  readonly #door: OverloadDoor;
  readonly #virtualHosts: VirtualHosts;

  constructor(options: McpEndpointsOptions) {
    const { upstream, answers, eras, sessionIdleTimeoutMs, bodyBytesMax, logger } = options;
    const deadlines = new DeadlineWheel();
    this.#options = options;
    this.#context = { deadlines, bodyBytesMax, streamKeepAliveMs: answers.streamKeepAliveMs };
    this.#backends = new BackendConnections({
      connectTimeoutMs: upstream.connectTimeoutMs,
      pool: options.connections,
      names: options.names,
    });
    const accounts = new Accounts(shareTable(options.shares));
    this.#door = new OverloadDoor(options.overload, accounts);
    this.#relay = new Relay({
      http: this.#backends.calls,
      streams: this.#backends.streams,
      replies: this.#backends.replies,
      deadlines,
      upstream,
      answers,
      eras,
      storedSecrets: options.storedSecrets,
      userGrants: options.userGrants,
      accounts,
      sessionIdleTimeoutMs,
      mintSessionId: () => randomBytes(SESSION_ID_BYTES).toString('base64url'),
      isSessionOptional: true,
      readHost: (subject, virtualHostId) => this.#hostNow(subject, virtualHostId),
      logger,
    });
    this.#virtualHosts = new VirtualHosts(upstream.mode);
  }

  /** Any method on `/mcp`. @param exposure what its `tools/list` is to show. */
  handleAggregate(
    subject: string,
    request: IncomingMessage,
    response: ServerResponse,
    requestId = '',
    exposure: Exposure = 'all',
  ): void {
    const exchange = this.#exchangeOf(request, response, requestId);
    void this.#serve(subject, AGGREGATE_IDS[exposure], request, exchange, () => this.#findAggregate(exposure));
  }

  /** Any method on `/servers/{reference}/mcp`; the reference is a composition's id or name, percent-decoded. */
  handleComposition(
    reference: string,
    subject: string,
    request: IncomingMessage,
    response: ServerResponse,
    requestId = '',
  ): void {
    const exchange = this.#exchangeOf(request, response, requestId);
    void this.#serve(subject, reference, request, exchange, () => this.#findComposition(reference, subject));
  }

  /** A server has other lists, or there are others. */
  forgetLists(): void {
    this.#relay.forgetLists();
  }

  /** Ends the streams that would never end by themselves, and opens no more. */
  drain(): void {
    this.#relay.drain();
  }

  /** Ends every session and tells the servers, then closes every connection to them. For after the drain. */
  async stop(): Promise<void> {
    await this.#relay.stop();
    await this.#backends.close();
    this.#context.deadlines.stop();
  }

  #exchangeOf(request: IncomingMessage, response: ServerResponse, requestId: string): NodeExchange {
    return new NodeExchange(this.#context, request, response, relayedMethod(request), requestId);
  }

  async #serve(
    subject: string,
    hostName: string,
    request: IncomingMessage,
    exchange: NodeExchange,
    find: () => Promise<CompiledVirtualHost | undefined>,
  ): Promise<void> {
    const isRelayed = relayedMethod(request) !== undefined;
    const refusal = isRelayed ? await this.#take(subject, exchange, find) : METHOD_NOT_ALLOWED;
    if (refusal === undefined) return;
    this.#options.watch?.refused(exchange.request, hostName, { refusal, subject });
    refuse(exchange, refusal);
  }

  /** The steps behind the method. @returns why the request is refused; otherwise the relay has it. */
  async #take(
    subject: string,
    exchange: NodeExchange,
    find: () => Promise<CompiledVirtualHost | undefined>,
  ): Promise<Refusal | undefined> {
    const { head, request } = exchange;
    const virtualHost = await this.#admit(find);
    if ('status' in virtualHost) return virtualHost;
    const answerForms = checkTransport(request.method, head);
    if (typeof answerForms !== 'string') return this.#refusalByHead(exchange, answerForms);
    if ((await exchange.receive(answerForms)) === 'too-large') return refusals.bodyTooLarge;
    const refusal = await this.#refusalOutside(subject, head, request.body);
    if (refusal !== undefined) return refusal;
    const caller = { subject, virtualHost };
    this.#options.watch?.watch(caller, exchange);
    this.#relay.handle(caller, exchange);
    return undefined;
  }

  /** Under the id that is in the body of a POST, which is received for that. */
  async #refusalByHead(exchange: NodeExchange, refusal: Refusal): Promise<Refusal> {
    const { head, request } = exchange;
    const { contentLength } = head;
    const isShort = contentLength !== '' && Number(contentLength) <= limits.readAtOnceBytesMax;
    if (request.method !== 'POST' || head.isAmbiguous || !isShort) return refusal;
    if (this.#options.overload.state !== 'serving') return refusal;
    return (await exchange.receive('json')) === 'complete' ? withRequestId(refusal, request.body) : refusal;
  }

  async #admit(find: () => Promise<CompiledVirtualHost | undefined>): Promise<CompiledVirtualHost | Refusal> {
    try {
      return (await find()) ?? refusals.virtualHostUnknown;
    } catch (error) {
      this.#options.logger.error({ err: error }, 'an MCP request could not be looked up');
      return refusals.storeFailed;
    }
  }

  /** Inside a session the rules of the transport see to the version; what has no such method is the relay's to refuse. */
  async #refusalOutside(
    subject: string,
    { sessionId, protocolVersion }: TransportHead,
    body: Buffer,
  ): Promise<Refusal | undefined> {
    if (sessionId !== '') return undefined;
    const isForeign = protocolVersion !== '' && !PROTOCOL_VERSIONS.has(protocolVersion);
    if (this.#options.overload.state === 'serving' && !isForeign) return undefined;
    const message = await readMessage(subject, body);
    const { served } = this.#options.eras;
    if (served !== 'legacy' && eraOfMessage(message, protocolVersion) !== 'legacy') return undefined;
    if (served === 'modern') return undefined;
    if (typeof message !== 'string' && message.kind === 'request') {
      // Clients send the version that they hope for with it, whatever it is.
      if (message.method === 'initialize') return this.#door.refusalOf('POST', 'session', subject);
      if (!isClientMethod(message.method)) return undefined;
    }
    return isForeign ? withRequestId(refusals.protocolVersionUnsupported, body, message) : undefined;
  }

  async #hostNow(subject: string, virtualHostId: string): Promise<CurrentHost> {
    try {
      if (virtualHostId === AGGREGATE_IDS.all) return await this.#findAggregate('all');
      if (virtualHostId === AGGREGATE_IDS.search) return await this.#findAggregate('search');
      return (await this.#findComposition(virtualHostId, subject)) ?? 'gone';
    } catch {
      // Whoever asks next is told.
      return 'unknown';
    }
  }

  /** The store is asked for each request, so that it serves what the registry has now, whoever changed it. */
  async #findAggregate(exposure: Exposure): Promise<CompiledVirtualHost> {
    const { directory } = this.#options;
    await directory.sync();
    return this.#virtualHosts.compile(AGGREGATE_IDS[exposure], directory.servers.backends, exposure);
  }

  async #findComposition(reference: string, subject: string): Promise<CompiledVirtualHost | undefined> {
    const host = await this.#options.compositions.findHost(reference, subject);
    return host && this.#virtualHosts.compile(host.id, host.backends, host.exposure);
  }
}

function relayedMethod({ method }: IncomingMessage): (typeof relayedMethods)[number] | undefined {
  return relayedMethods.find((each) => each === method);
}

/** A large one in slices, with others' turns of the event loop between them. */
async function readMessage(subject: string, body: Buffer): Promise<ClientReading> {
  if (body.length <= limits.readAtOnceBytesMax) return readClientMessage(body);
  return new Promise((resolve) => void readLargeClientMessage(subject, body, resolve));
}
