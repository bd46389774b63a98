// The way of an MCP request through the control plane, in the order of decisions 2.1. Its steps are those of
// `worker/pipeline.ts`, under the same names, from where the doors of `http/admission.ts` have let the request in:
//
//   http/admission   Host and Origin, rate, token            → 403, 400, 429, 401
//                    role, overload                          → 403, 503
//   #onAdmission     virtual host, from the store            → 503, 404
//                    (another method: 405)
//                    headers of the transport                → 406, 415, 400
//   #onReceived      size of the body                        → 413
//                    outside of sessions: version, overload  → 400, 429, 503
//   #toRelay         there are no turns and no hops here
//   relay.handle     session, JSON-RPC, backends             (relay/relay.ts)
//
// What differs has a reason. Here the store is asked for each request, so each step may wait for the one before, and says with
// what it returns whether there is a next one. And because requests need no session here, what is not read yet cannot say
// whether it opens one: overload, which refuses new sessions first, comes behind the body.
import { readClientMessage, readLargeClientMessage, type ClientReading } from '../../protocol/json-rpc.js';
import { PROTOCOL_VERSIONS } from '../../protocol/protocol-versions.js';
import type { RequestWatch } from '../../observation/request-watch.js';
import type { Overload } from '../../process/overload.js';
import type { OverloadDoor } from '../../process/overload-door.js';
import { refuse } from '../../relay/exchange/answers.js';
import type { Caller } from '../../relay/exchange/caller.js';
import { isClientMethod } from '../../relay/dispatch/client-methods.js';
import { eraOfMessage, type ServedEras } from '../../relay/exchange/era.js';
import { hasReadableId, withRequestId } from '../../relay/exchange/refused-message.js';
import type { Relay } from '../../relay/relay.js';
import { checkTransport } from '../../relay/exchange/transport.js';
import { limits } from '../../shared/limits.js';
import type { Logger } from '../../shared/logger.js';
import { refusals, type Refusal } from '../../shared/refusals.js';
import type { CompiledVirtualHost } from '../../user-config/compiled-config.js';
import type { NodeExchange } from './node-exchange.js';

export interface McpPipelineParts {
  readonly overload: Overload;
  readonly door: OverloadDoor;
  readonly served: ServedEras;
  readonly relay: Relay;
  /** `undefined` where nobody wants to know how requests come out. */
  readonly watch: RequestWatch | undefined;
  readonly logger: Logger;
}

/** The virtual host that a request is for. */
export interface AskedHost {
  readonly subject: string;
  /** As the request has it; for those who watch. */
  readonly name: string;
  /** As it is now; `undefined` when there is none for the subject. */
  readonly find: () => Promise<CompiledVirtualHost | undefined>;
}

const METHOD_NOT_ALLOWED: Refusal = { ...refusals.methodNotAllowed, headers: ['allow', 'GET, POST, DELETE'] };

export class McpPipeline {
  readonly #parts: McpPipelineParts;

  constructor(parts: McpPipelineParts) {
    this.#parts = parts;
  }

  /** Resolved when the relay has the request, or it is refused. */
  async onRequest(asked: AskedHost, exchange: NodeExchange): Promise<void> {
    const refusal = await this.#onAdmission(asked, exchange);
    if (refusal !== undefined) this.#refuse(asked, exchange, refusal);
  }

  onOtherMethod(asked: AskedHost, exchange: NodeExchange): void {
    this.#refuse(asked, exchange, METHOD_NOT_ALLOWED);
  }

  /** @returns why the request is refused, as the next ones; otherwise the relay has it. */
  async #onAdmission(asked: AskedHost, exchange: NodeExchange): Promise<Refusal | undefined> {
    const virtualHost = await this.#admit(asked);
    if ('status' in virtualHost) return virtualHost;
    const forms = checkTransport(exchange.request.method, exchange.head);
    if (typeof forms !== 'string') return this.#refusalByHead(exchange, forms);
    const body = await exchange.receive(forms);
    return this.#onReceived(exchange, { subject: asked.subject, virtualHost }, body);
  }

  async #onReceived(
    exchange: NodeExchange,
    caller: Caller,
    body: 'complete' | 'too-large',
  ): Promise<Refusal | undefined> {
    if (body !== 'complete') return refusals.bodyTooLarge;
    const refusal = await this.#refusalOutside(exchange, caller);
    if (refusal === undefined) this.#toRelay(caller, exchange);
    return refusal;
  }

  #toRelay(caller: Caller, exchange: NodeExchange): void {
    this.#parts.watch?.watch(caller, exchange);
    this.#parts.relay.handle(caller, exchange);
  }

  async #admit({ find }: AskedHost): Promise<CompiledVirtualHost | Refusal> {
    try {
      return (await find()) ?? refusals.virtualHostUnknown;
    } catch (error) {
      this.#parts.logger.error({ err: error }, 'an MCP request could not be looked up');
      return refusals.storeFailed;
    }
  }

  /** Under the id that is in the body of a POST, which is received for that where there is time and room. */
  async #refusalByHead(exchange: NodeExchange, refusal: Refusal): Promise<Refusal> {
    const { head, request } = exchange;
    if (!hasReadableId(request.method, head) || this.#parts.overload.state !== 'serving') return refusal;
    return (await exchange.receive('json')) === 'complete' ? withRequestId(refusal, request.body) : refusal;
  }

  /** Inside a session the rules of the transport see to the version; what has no such method is the relay's to refuse. */
  async #refusalOutside({ head, request }: NodeExchange, { subject }: Caller): Promise<Refusal | undefined> {
    const { sessionId, protocolVersion } = head;
    if (sessionId !== '') return undefined;
    const { served, overload, door } = this.#parts;
    const isForeign = protocolVersion !== '' && !PROTOCOL_VERSIONS.has(protocolVersion);
    if (overload.state === 'serving' && !isForeign) return undefined;
    const message = await readMessage(subject, request.body);
    if (served !== 'legacy' && eraOfMessage(message, protocolVersion) !== 'legacy') return undefined;
    if (served === 'modern') return undefined;
    if (typeof message !== 'string' && message.kind === 'request') {
      // Clients send the version that they hope for with it, whatever it is.
      if (message.method === 'initialize') return door.refusalOf('POST', 'session', subject);
      if (!isClientMethod(message.method)) return undefined;
    }
    return isForeign ? withRequestId(refusals.protocolVersionUnsupported, request.body, message) : undefined;
  }

  #refuse({ name, subject }: AskedHost, exchange: NodeExchange, refusal: Refusal): void {
    this.#parts.watch?.refused(exchange.request, name, { refusal, subject });
    refuse(exchange, refusal);
  }
}

/** A large one in slices, with others' turns of the event loop between them. */
async function readMessage(subject: string, body: Buffer): Promise<ClientReading> {
  if (body.length <= limits.readAtOnceBytesMax) return readClientMessage(body);
  return new Promise((resolve) => void readLargeClientMessage(subject, body, resolve));
}
