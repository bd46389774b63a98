// The path of an MCP request through the control plane, in the order of specification 2.1. The steps correspond to those of
// `worker/pipeline.ts`, and follow the checks of `http/control-plane-admission.ts`:
//
//   before them      Host and Origin, rate, token            → 403, 400, 429, 401
//                    role, overload                          → 403, 503
//   #onAdmission     virtual host, from the store            → 503, 404
//                    headers of the transport                → 406, 415, 400
//   #onReceived      size of the body, room for it           → 413, 429, 503
//                    outside of sessions: version, overload  → 400, 429, 503
//   #passToRelay     there is no scheduler and there are no hops here
//   relay.handle     session, JSON-RPC, backends             (relay/relay.ts)
//
// Unlike in a worker, the steps are asynchronous, because each request reads the store. Sessions are optional, and only the body
// tells whether a request opens one: so overload is checked once more after the body.
import {
  readClientMessage,
  readLargeClientMessage,
  type ParsedClientMessage,
  LEGACY_VERSIONS,
} from '../../mcp/index.js';
import type { RequestWatch } from '../../observation/index.js';
import type { Overload, LoadShedder } from '../../fair/index.js';
import {
  refuse,
  type AcceptedTypes,
  type Caller,
  eraOfMessage,
  type ServedEras,
  isBodyReceivedForId,
  withRequestId,
  checkTransport,
} from '../../exchange/index.js';
import { isMethodOf } from '../../calls/index.js';
import type { Relay } from '../../relay/index.js';
import { limits, type Logger, refusals, type Refusal } from '../../shared/index.js';
import type { CompiledVirtualHost } from '../../user-config/index.js';
import { type BodyOutcome, type EdgeExchange, refusedBodies } from '../../edge/index.js';

interface McpPipelineDependencies {
  readonly overload: Overload;
  readonly loadShedder: LoadShedder;
  readonly served: ServedEras;
  readonly relay: Relay;
  readonly watch: RequestWatch | undefined;
  readonly logger: Logger;
}

export interface RequestedVirtualHost {
  readonly subject: string;
  /** The virtual host as the request names it, for logs and metrics. */
  readonly name: string;
  /** Finds the virtual host; resolves with `undefined` if the subject has none of this name. */
  readonly find: () => Promise<CompiledVirtualHost | undefined>;
}

export class McpPipeline {
  readonly #dependencies: McpPipelineDependencies;

  constructor(parts: McpPipelineDependencies) {
    this.#dependencies = parts;
  }

  async onRequest(requested: RequestedVirtualHost, exchange: EdgeExchange): Promise<void> {
    const refusal = await this.#onAdmission(requested, exchange);
    if (refusal === undefined) return;
    const { name, subject } = requested;
    this.#dependencies.watch?.onRefused(exchange.request, name, { refusal, subject });
    refuse(exchange, refusal);
  }

  /** @returns why the request is refused; `undefined` once the relay has it. `#onReceived` returns the same. */
  async #onAdmission(requested: RequestedVirtualHost, exchange: EdgeExchange): Promise<Refusal | undefined> {
    exchange.incoming.awaitAdmission();
    const virtualHost = await this.#admit(requested);
    if ('status' in virtualHost) return virtualHost;
    const acceptedTypes = checkTransport(exchange.request, exchange.head);
    if (typeof acceptedTypes !== 'string') return this.#withIdFromBody(exchange, requested.subject, acceptedTypes);
    const body = await receiveBody(exchange, requested.subject, acceptedTypes);
    return this.#onReceived(exchange, { subject: requested.subject, virtualHost }, body);
  }

  async #onReceived(exchange: EdgeExchange, caller: Caller, body: BodyOutcome): Promise<Refusal | undefined> {
    if (body !== 'complete') return refusedBodies[body];
    const refusal = await this.#refusalOutsideSession(exchange, caller);
    if (refusal === undefined) this.#passToRelay(caller, exchange);
    return refusal;
  }

  #passToRelay(caller: Caller, exchange: EdgeExchange): void {
    this.#dependencies.watch?.watch(caller, exchange);
    this.#dependencies.relay.handle(caller, exchange);
  }

  async #admit({ find }: RequestedVirtualHost): Promise<CompiledVirtualHost | Refusal> {
    try {
      return (await find()) ?? refusals.virtualHostUnknown;
    } catch (error) {
      this.#dependencies.logger.error({ err: error }, 'an MCP request could not be looked up');
      return refusals.storeFailed;
    }
  }

  /** Adds the request id to a refusal, from the body of a POST. Under overload, the body is not read for that. */
  async #withIdFromBody(exchange: EdgeExchange, subject: string, refusal: Refusal): Promise<Refusal> {
    const { head, request } = exchange;
    if (!isBodyReceivedForId(request.method, head) || this.#dependencies.overload.state !== 'serving') return refusal;
    const outcome = await receiveBody(exchange, subject, 'json');
    return outcome === 'complete' ? withRequestId(refusal, request.body) : refusal;
  }

  /** Checks version and overload for a request without a session. In a session, `checkTransport` checks the version. */
  async #refusalOutsideSession({ request }: EdgeExchange, { subject }: Caller): Promise<Refusal | undefined> {
    if (request.sessionId !== '') return undefined;
    const { protocolVersion } = request.mirror;
    const { served, overload, loadShedder } = this.#dependencies;
    const isVersionUnknown = protocolVersion !== '' && !LEGACY_VERSIONS.has(protocolVersion);
    if (overload.state === 'serving' && !isVersionUnknown) return undefined;
    const message = await parseMessage(subject, request.body);
    if (served !== 'legacy' && eraOfMessage(message, protocolVersion) !== 'legacy') return undefined;
    if (served === 'modern') return undefined;
    if (typeof message !== 'string' && message.kind === 'request') {
      // A client may send any version with `initialize`: the one that it hopes for.
      if (message.method === 'initialize') return loadShedder.refusalOf('POST', 'session', subject);
      if (!isMethodOf('legacy', message.method)) return undefined;
    }
    return isVersionUnknown ? withRequestId(refusals.protocolVersionUnsupported, request.body, message) : undefined;
  }
}

/** Reads the body. Never resolves if the caller disconnects. */
async function receiveBody(
  exchange: EdgeExchange,
  subject: string,
  acceptedTypes: AcceptedTypes,
): Promise<BodyOutcome> {
  return new Promise((resolve) => {
    if (exchange.isAborted) return;
    exchange.incoming.admit(subject, acceptedTypes, []);
    exchange.incoming.receive(resolve);
  });
}

/** Parses the message. A large body is parsed in slices, so that other requests get turns of the event loop. */
async function parseMessage(subject: string, body: Buffer): Promise<ParsedClientMessage> {
  if (body.length <= limits.readAtOnceBytesMax) return readClientMessage(body);
  return new Promise((resolve) => void readLargeClientMessage(subject, body, resolve));
}
