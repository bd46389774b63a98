// The path of a request through a worker, in the order of specification 2.1. Left: methods; right: checks, refusals.
//
//   onRequest      Host and Origin                    → 403
//                  token, user config, virtual host   → 401, 400, 500, 503, 404
//   #onAdmission   headers of the transport           → 406, 415, 400, 431
//                  overload                           → 429, 503
//   #onReceived    size of the body, memory for it    → 413, 429, 503
//                  forwarded headers are UTF-8        → 400
//                  scheduler, where many come at once → 429, 503
//   #passToOwner   here, or one hop to the worker that owns the session → 404, 429, 500, 503
//   relay.handle   session, JSON-RPC, backends        (relay/relay.ts)
//
// OPTIONS: `onPreflight` checks Host and Origin. Methods that MCP does not use: `onOtherMethod` checks Host, Origin and token, then answers
// 405. Once this worker has cached the token and the config, no step waits for a promise. The control plane's MCP endpoints have a pipeline
// of their own: `control-plane/mcp/mcp-pipeline.ts`.
import {
  type Endpoint,
  refusedHost,
  type HostPolicy,
  headerIn,
  headerUnreadable,
  refusals,
  type Refusal,
  type Logger,
} from '../shared/index.js';
import {
  metadataCorsHeaders,
  type ProtectedResource,
  type RequestOrigin,
  type EdgeExchange,
  type EdgeHandler,
  type BodyOutcome,
  refusedBodies,
} from '../edge/index.js';
import {
  refuse,
  type Exchange,
  type Caller,
  isBodyReceivedForId,
  withRequestId,
  wantedByHead,
  checkTransport,
} from '../exchange/index.js';
import type { Relay } from '../relay/index.js';
import type { ForwardRequest } from '../session/index.js';
import { wakeScheduler, type Overload, type LoadShedder } from '../fair/index.js';
import type { RequestScheduler } from './request-scheduler.js';
import type { RefusalDetails, RequestWatch } from '../observation/index.js';
import type { WorkerFigures } from './worker-figures.js';
import type { Admission, AdmissionOutcome, RefusedAdmission } from './admission.js';
import type { HopFailure } from './hop/call.js';
import type { ForwardedIdentity } from './hop/heads.js';
import type { Hops, RequestsAwaitingOwner } from './hop/hops.js';
import { ownerOf } from './session-id.js';

// Selects the headers that are forwarded to backends: those that the virtual host lists, unless `connection` names them. Hot path.

const NO_HEADERS: readonly string[] = Object.freeze([]);
const ASCII = /^[\x20-\x7e]*$/;

/**
 * @param headers lower-case name, value, …
 * @returns the listed headers, their values with one character per byte; or the name of a header that is not UTF-8, whose bytes are lost.
 */
export function selectHeaders(headers: readonly string[], names: ReadonlySet<string>): readonly string[] | string {
  if (names.size === 0) return NO_HEADERS;
  const connectionNames = namesForConnection(headers);
  const selected: string[] = [];
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i]!;
    const value = headers[i + 1]!;
    if (!names.has(name) || connectionNames?.has(name) === true) continue;
    // U+FFFD stands for bytes that are not UTF-8.
    if (value.includes('\ufffd')) return name;
    // The value was decoded as UTF-8. Backends get the same bytes, which Node.js writes from Latin-1.
    selected.push(name, ASCII.test(value) ? value : Buffer.from(value).toString('latin1'));
  }
  return selected;
}

/** The headers that `connection` names: they must not be forwarded (RFC 9110, 7.6.1). */
function namesForConnection(headers: readonly string[]): ReadonlySet<string> | undefined {
  let names: Set<string> | undefined;
  for (let i = 0; i + 1 < headers.length; i += 2) {
    if (headers[i] !== 'connection') continue;
    names ??= new Set();
    for (const name of (headers[i + 1] ?? '').split(',')) names.add(name.trim().toLowerCase());
  }
  return names;
}

export interface PipelineParts {
  readonly slot: number;
  readonly slotCount: number;
  readonly hosts: HostPolicy;
  readonly tlsHosts: HostPolicy;
  readonly admission: Admission;
  readonly resource: ProtectedResource;
  readonly pathPrefix: string;
  readonly overload: Overload;
  readonly loadShedder: LoadShedder;
  readonly scheduler: RequestScheduler;
  readonly relay: Relay;
  readonly hops: Hops;
  /** The requests that wait for their owner; `undefined` when sessions end with their worker, so that waiting is useless. */
  readonly requestsAwaitingOwner: RequestsAwaitingOwner | undefined;
  /** The observer of requests; `undefined` when their outcomes are neither logged, counted nor traced. */
  readonly watch: RequestWatch | undefined;
  /** The worker's figures; `undefined` when none are kept. */
  readonly figures: WorkerFigures | undefined;
  readonly logger: Logger;
}

export class Pipeline implements EdgeHandler {
  /** Whether the gateway is ready. Set by the primary. */
  isGatewayReady = false;
  readonly #parts: PipelineParts;
  #isRetired = false;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  get healthRefusal(): Refusal | undefined {
    return this.#parts.overload.healthRefusal ?? (this.isGatewayReady ? undefined : refusals.notReady);
  }

  /** Called when a successor has this worker's slot: requests that still arrive here are forwarded to it. */
  retire(): void {
    this.#isRetired = true;
  }

  onRequest(exchange: EdgeExchange): void {
    const { head } = exchange;
    if (!this.#checkHostOrRefuse(exchange)) return;
    const outcome = this.#parts.admission.admit(head.authorization, head.virtualHostId);
    if (outcome instanceof Promise) {
      exchange.incoming.awaitAdmission();
      void outcome.then((late) => wakeScheduler.run(late.subject ?? '', () => this.#onAdmission(exchange, late)));
    } else {
      this.#onAdmission(exchange, outcome);
    }
  }

  /** Refuses an HTTP method that MCP does not use; first for a missing token, because to clients a 405 means that no token is needed. */
  onOtherMethod(exchange: EdgeExchange): void {
    if (!this.#checkHostOrRefuse(exchange)) return;
    const { methodNotAllowed } = refusals;
    const refusal = this.#parts.admission.refusalOfToken(exchange.head.authorization);
    if (refusal instanceof Promise) {
      exchange.incoming.awaitAdmission();
      void refusal.then((late) => {
        const refused = late ?? { refusal: methodNotAllowed };
        wakeScheduler.run(refused.subject ?? '', () => this.#refuseRequest(exchange, refused));
      });
    } else {
      this.#refuseRequest(exchange, refusal ?? { refusal: methodNotAllowed });
    }
  }

  onRefused(exchange: EdgeExchange, refusal: Refusal): void {
    this.#refuse(exchange, refusal);
  }

  onPreflight(exchange: EdgeExchange): void {
    if (!this.#checkHostOrRefuse(exchange)) return;
    const requestedHeaders = headerIn(exchange.head.headers, 'access-control-request-headers') ?? '';
    exchange.respond(204, '', '', undefined, this.#parts.hosts.preflightHeaders(requestedHeaders));
  }

  onMetadataRequest(exchange: EdgeExchange, isPreflight: boolean): void {
    const { resource } = this.#parts;
    const { host } = exchange.head;
    // `Origin` is not checked, because pages of every origin may read the metadata.
    const refusal = this.#hostsOf(exchange).check(host, '');
    if (refusal !== undefined) return this.#refuseHost(exchange, refusal);
    if (isPreflight) return exchange.respond(204, '', '', undefined, metadataCorsHeaders);
    const metadata = resource.metadata(this.#resourcePath(exchange), this.#originOf(exchange));
    if (metadata === undefined) return this.#refuse(exchange, refusals.pathUnknown);
    return exchange.respond(200, 'application/json', metadata, undefined, metadataCorsHeaders);
  }

  onEndpointRequest(endpoint: Endpoint, exchange: EdgeExchange, parameter: string): void {
    if (!this.#checkHostOrRefuse(exchange)) return;
    exchange.incoming.receive((outcome) => {
      if (outcome !== 'complete') this.#refuse(exchange, refusedBodies[outcome]);
      else void this.#answerFrom(endpoint, exchange, parameter);
    });
  }

  /** Serves a request of a session that this worker owns, forwarded by another worker. */
  onHop(identity: ForwardedIdentity, exchange: Exchange): void {
    this.#admitForwarded(identity, (outcome) => this.#onHopAdmission(identity, exchange, outcome));
  }

  /** Serves a message from the successor about a request that is in flight in this retired worker, such as its cancellation. */
  onSuccessorMessage(identity: ForwardedIdentity, exchange: Exchange): void {
    exchange.request.isFromSuccessor = true;
    this.#admitForwarded(identity, (outcome) => {
      if ('refusal' in outcome) refuse(exchange, outcome.refusal);
      else this.#parts.relay.handle(outcome, exchange);
    });
  }

  #admitForwarded({ subject, virtualHostId }: ForwardedIdentity, next: (outcome: AdmissionOutcome) => void): void {
    const outcome = this.#parts.admission.admitSubject(subject, virtualHostId);
    if (outcome instanceof Promise) void outcome.then((late) => wakeScheduler.run(subject, () => next(late)));
    else next(outcome);
  }

  /** Checks Host and Origin, against DNS rebinding, and sets the CORS headers of the answer. */
  #checkHostOrRefuse(exchange: EdgeExchange): boolean {
    const { host, origin } = exchange.head;
    const hosts = this.#hostsOf(exchange);
    const refusal = hosts.check(host, origin);
    if (refusal !== undefined) {
      this.#refuseHost(exchange, refusal);
      return false;
    }
    if (origin !== '') exchange.allowOrigin(hosts.corsHeaders(origin));
    return true;
  }

  /** Refuses a request because of its `Host` or `Origin`. */
  #refuseHost(exchange: EdgeExchange, refusal: Refusal): void {
    this.#refuseRequest(exchange, { refusal, host: refusedHost(refusal, exchange.head.host) });
  }

  #onAdmission(exchange: EdgeExchange, caller: AdmissionOutcome): void {
    if (exchange.isAborted) return;
    if ('refusal' in caller) return this.#refuseRequest(exchange, caller);
    const { subject } = caller;
    const { request } = exchange;
    const typesOrRefusal = checkTransport(request, exchange.head);
    if (typeof typesOrRefusal !== 'string') return this.#refuseByHead(exchange, subject, typesOrRefusal);
    const { overload, loadShedder } = this.#parts;
    const refusal =
      overload.state === 'serving' ? undefined : loadShedder.refusalOf(request.method, wantedByHead(request), subject);
    if (refusal !== undefined) return this.#refuse(exchange, refusal, subject);
    const headers = selectHeaders(exchange.head.headers, caller.virtualHost.passthroughHeaders);
    const unreadable = typeof headers === 'string' ? headerUnreadable(headers) : undefined;
    exchange.incoming.admit(subject, typesOrRefusal, typeof headers === 'string' ? [] : headers);
    exchange.incoming.receive((body) => this.#onReceived(exchange, caller, unreadable, body));
  }

  /** Refuses with the request id from the body, which is received for that purpose if the worker is not overloaded. */
  #refuseByHead(exchange: EdgeExchange, subject: string, refusal: Refusal): void {
    const isReceived = isBodyReceivedForId(exchange.request.method, exchange.head);
    if (!isReceived || this.#parts.overload.state !== 'serving') return this.#refuse(exchange, refusal, subject);
    exchange.incoming.admit(subject, 'json', []);
    exchange.incoming.receive((body) =>
      this.#refuse(exchange, body === 'complete' ? withRequestId(refusal, exchange.request.body) : refusal, subject),
    );
  }

  /** Called when the body has ended. @param unreadable the refusal of a header that cannot be forwarded; `undefined` if all can. */
  #onReceived(exchange: EdgeExchange, caller: Caller, unreadable: Refusal | undefined, body: BodyOutcome): void {
    const { subject } = caller;
    if (body !== 'complete') this.#refuse(exchange, refusedBodies[body], subject);
    else if (unreadable !== undefined)
      this.#refuse(exchange, withRequestId(unreadable, exchange.request.body), subject);
    else if (this.#parts.scheduler.tryPass(caller.subject)) this.#passToOwner(caller, exchange);
    else this.#schedule(caller, exchange, () => this.#passToOwner(caller, exchange));
  }

  #schedule(caller: Caller, exchange: Exchange, serve: () => void): void {
    const { subject, virtualHost } = caller;
    const { scheduler, watch } = this.#parts;
    const refusal = scheduler.queue(subject, exchange, serve);
    if (refusal !== undefined) {
      this.#refuseAdmitted(exchange, { subject, virtualHostId: virtualHost.id }, refusal);
    } else if (this.#ownerOf(exchange) === this.#parts.slot && !this.#isRetired) {
      // The watch begins here, because the wait is part of the request's duration.
      watch?.watch(caller, exchange);
    }
  }

  #passToOwner(caller: Caller, exchange: Exchange): void {
    const owner = this.#ownerOf(exchange);
    if (owner === this.#parts.slot && !this.#isRetired) this.#passToRelay(caller, exchange);
    else this.#forward(owner, caller, exchange, (...failure) => this.#onHopFailure(owner, exchange, ...failure));
  }

  /** Forwards a request whose worker is known only from its body. @param onGone called when no answer will come. */
  forwardToSlot(slot: number, ...[caller, exchange, onGone]: Parameters<ForwardRequest>): void {
    this.#forward(slot, caller, exchange, (_identity, failure) => {
      this.#parts.figures?.failedHops.count(failure);
      this.#parts.watch?.watch(caller, exchange);
      onGone(failure === 'owner-absent' ? undefined : REFUSAL_BY_FAILURE[failure]);
    });
  }

  /** Forwards a request to its owner, which then watches it (`RequestWatch`) in place of this worker. */
  #forward(
    owner: number,
    { subject, virtualHost }: Caller,
    exchange: Exchange,
    onFailure: (identity: ForwardedIdentity, failure: HopFailure) => void,
  ): void {
    const { hops, figures, watch } = this.#parts;
    watch?.unwatch(exchange);
    if (figures !== undefined) figures.forwardedHops += 1;
    const identity = { subject, virtualHostId: virtualHost.id };
    // The failures are handled round robin by subject: thousands of requests may fail at once when the owner is lost.
    const fail = (failure: HopFailure): void => wakeScheduler.run(subject, () => onFailure(identity, failure));
    hops.forward(owner, identity, exchange, fail);
  }

  /** The owner of a request's session. A request without a session id is served here: `initialize` mints an id that this worker owns. */
  #ownerOf({ request: { sessionId } }: Exchange): number {
    const { slot, slotCount } = this.#parts;
    return sessionId === '' || slotCount === 1 ? slot : ownerOf(sessionId, slotCount);
  }

  /** Called when a hop has failed. @param firstAtMs when the request was first forwarded. */
  #onHopFailure(
    owner: number,
    exchange: Exchange,
    identity: ForwardedIdentity,
    failure: HopFailure,
    firstAtMs = performance.now(),
  ): void {
    const { hops, requestsAwaitingOwner, figures } = this.#parts;
    const isOwnerExpected = failure === 'owner-absent' && requestsAwaitingOwner !== undefined && !hops.isClosed;
    const retry = (): void =>
      hops.forward(owner, identity, exchange, (next) => this.#onHopFailure(owner, exchange, identity, next, firstAtMs));
    if (isOwnerExpected && requestsAwaitingOwner.tryWait(identity.subject, firstAtMs, retry)) return;
    figures?.failedHops.count(failure);
    const refusal = isOwnerExpected ? refusals.ownerStarting : REFUSAL_BY_FAILURE[failure];
    this.#refuseAdmitted(exchange, identity, withRequestId(refusal, exchange.request.body));
  }

  #refuseAdmitted(exchange: Exchange, { subject, virtualHostId }: ForwardedIdentity, refusal: Refusal): void {
    this.#parts.watch?.onRefused(exchange.request, virtualHostId, { refusal, subject });
    refuse(exchange, refusal);
  }

  #onHopAdmission(identity: ForwardedIdentity, exchange: Exchange, caller: AdmissionOutcome): void {
    if ('refusal' in caller) return this.#refuseAdmitted(exchange, identity, caller.refusal);
    const { request } = exchange;
    const refusal = this.#parts.loadShedder.refusalOf(request.method, wantedByHead(request), caller.subject);
    if (refusal !== undefined) this.#refuseAdmitted(exchange, identity, refusal);
    else if (this.#parts.scheduler.tryPass(caller.subject)) this.#startHop(caller, exchange);
    else this.#schedule(caller, exchange, () => this.#startHop(caller, exchange));
  }

  #startHop(caller: Caller, exchange: Exchange): void {
    // The request is forwarded to the successor: the worker that sent it here did not know yet that there is one.
    if (this.#isRetired) this.#passToOwner(caller, exchange);
    else this.#passToRelay(caller, exchange);
  }

  #passToRelay(caller: Caller, exchange: Exchange): void {
    const { relay, watch } = this.#parts;
    if (exchange.watcher === undefined) watch?.watch(caller, exchange);
    relay.handle(caller, exchange);
  }

  async #answerFrom(endpoint: Endpoint, exchange: EdgeExchange, parameter: string): Promise<void> {
    const { contentType } = exchange.head;
    try {
      const answer = await endpoint.handle({ parameter, contentType, body: exchange.request.body });
      exchange.respond(answer.status, answer.contentType, answer.body);
    } catch (error) {
      this.#parts.logger.error({ err: error, path: endpoint.path }, 'endpoint failed');
      exchange.respond(500, 'text/plain', 'Internal error: see the log');
    }
  }

  #refuse(exchange: EdgeExchange, refusal: Refusal, subject?: string): void {
    this.#refuseRequest(exchange, { refusal, subject });
  }

  #refuseRequest(exchange: EdgeExchange, details: RefusedAdmission & Pick<RefusalDetails, 'host'>): void {
    this.#parts.watch?.onRefused(exchange.request, exchange.head.virtualHostId ?? '', details);
    const path = this.#resourcePath(exchange);
    refuse(exchange, this.#parts.resource.challenge(details.refusal, path, this.#originOf(exchange)));
  }

  #hostsOf({ isTls }: EdgeExchange): HostPolicy {
    return isTls ? this.#parts.tlsHosts : this.#parts.hosts;
  }

  #originOf(exchange: EdgeExchange): RequestOrigin {
    const { isHostTrusted } = this.#hostsOf(exchange);
    return { isTls: exchange.isTls, host: exchange.head.host, isHostTrusted };
  }

  /** The path of the requested virtual host, whether it exists or not; `''` if the request names none. */
  #resourcePath({ head: { virtualHostId = '' } }: EdgeExchange): string {
    return virtualHostId === '' ? '' : `${this.#parts.pathPrefix}/servers/${encodeURIComponent(virtualHostId)}/mcp`;
  }
}

const REFUSAL_BY_FAILURE: Readonly<Record<HopFailure, Refusal>> = {
  // A slot whose process has ended has no sessions any more.
  'owner-absent': refusals.sessionUnknown,
  'owner-lost': refusals.ownerLost,
  'hop-failed': refusals.hopFailed,
  'answer-bytes-full': refusals.answerBytesFull,
};
