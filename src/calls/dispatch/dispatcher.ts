// Passes each message of a session to the code for its method. Methods are told apart in this order: requests for one backend, lists,
// methods that the gateway answers itself, and methods that only a backend may know. Hot path.
import {
  listKindOf,
  type ListKind,
  readClientMessage,
  readLargeClientMessage,
  type ClientMessage,
  type ParsedClientMessage,
  type ModernEnvelope,
  isMcpMethod,
} from '../../mcp/index.js';
import { idKey } from '../../bytes/index.js';
import { limits, type Logger, refusals, type Refusal, rpcErrors } from '../../shared/index.js';
import type { UpstreamContext } from '../../upstream/index.js';
import type { CompiledVirtualHost, CompiledBackend } from '../../user-config/index.js';
import {
  accept,
  answer,
  answerError,
  idSpanOf,
  refuse,
  resultMessage,
  type Caller,
  type Exchange,
  metadataFor,
  refuseMessage,
  refuseInvalid,
} from '../../exchange/index.js';
import { answerBatch } from './batch.js';
import {
  backendOfMethod,
  backendsWithUnknownMethods,
  trySetLogLevel,
  type Session,
  cancelRequest,
  sendToPeers,
  whenOpened,
} from '../../session/index.js';
import { answerToolError, findTools, readToolQuery } from '../find-tools.js';
import { Gate } from '../gate.js';
import { ListInFlight, readAndMergeLists } from '../listing.js';
import type { ListMerger } from '../../lists/index.js';
import { CALL_TOOL, FIND_TOOLS, unwrapCall } from '../../messages/index.js';
import { RelayedRequest } from '../relayed-request.js';
import { answerOwnError, type ServedRequest, LEGACY_RULES } from '../era-rules.js';
import { isForSearchTool } from '../search-tools.js';
import { isTargetMethodOf, readTarget, type Target, type TargetMethod, type TargetOutcome } from '../targets.js';
import { visitAll } from '../../streams/index.js';

// Messages of clients that are no requests: cancellations, progress, responses to backends' requests, changed roots, the status of the
// client's own tasks. Cold path.

const ROOTS_CHANGED = Buffer.from('{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}');

/** Serves a notification or response. The calling function answers the exchange: with the returned refusal, or by accepting. */
function serveNonRequest(session: Session, exchange: Exchange, message: ClientMessage): Refusal | undefined {
  if (message.kind === 'response') return serveResponse(session, exchange, message);
  switch (message.method) {
    case 'notifications/cancelled':
      cancelRequest(session, exchange, message);
      break;
    case 'notifications/progress':
      session.backendRequests.onProgress(exchange, message);
      break;
    case 'notifications/tasks/status':
      session.backendRequests.onTaskStatus(exchange, message);
      break;
    case 'notifications/roots/list_changed':
      tellRootsChanged(session, exchange);
      break;
    // This notification is not forwarded: the gateway sends each backend an `initialized` of its own.
    case 'notifications/initialized':
      session.onInitialized(exchange.request);
      break;
    default:
    // Nobody receives other notifications.
  }
  return undefined;
}

function serveResponse(session: Session, exchange: Exchange, message: ClientMessage): Refusal | undefined {
  const { body, lastEventId, isFromSuccessor } = exchange.request;
  if (isFromSuccessor === true) return void session.upstreams.findOpen(lastEventId)?.strayAnswers?.take(body, message);
  const outcome = session.backendRequests.onAnswer(exchange.request, message);
  if (outcome !== 'asked-elsewhere') return outcome;
  const key = idKey(body, message.idStart, message.idEnd);
  sendToPeers(session, { kind: 'answered', key });
  return undefined;
}

function tellRootsChanged(session: Session, exchange: Exchange): void {
  const { virtualHost } = session;
  if (virtualHost === undefined || !session.backendRequests.offersRoots) return;
  const { length } = exchange.request.body;
  // A large body is replaced by a short one, because its memory would not be counted while it waits to be sent.
  const body = length < limits.countedFromBytes ? exchange.request.body : ROOTS_CHANGED;
  visitAll(session.identity.subject, virtualHost.backends.values(), {
    visit: (backend) => {
      const upstream = session.upstreams.findOpen(backend.name);
      upstream?.notifyRootsChanged(body, metadataFor(backend, exchange.request));
    },
    onNoRoom: () => undefined,
  });
}

type ModernHandler = (caller: Caller, exchange: Exchange, message: ClientMessage, envelope: ModernEnvelope) => void;

export class Dispatcher {
  readonly #context: UpstreamContext;
  readonly #merger: ListMerger;
  readonly #logger: Logger;
  /** The handler of modern messages that arrive with a session id; without a handler, they are served as legacy messages. */
  onModern: ModernHandler | undefined = undefined;
  /** Virtual hosts whose unreachable tools have already been logged. */
  readonly #reportedUnreachable = new WeakSet<CompiledVirtualHost>();

  constructor(context: UpstreamContext, merger: ListMerger, logger: Logger) {
    this.#context = context;
    this.#merger = merger;
    this.#logger = logger;
  }

  servePost(caller: Caller, session: Session, exchange: Exchange): void {
    const { body } = exchange.request;
    if (body.length > limits.readAtOnceBytesMax) return this.#serveLargePost(caller, session, exchange);
    const message = readClientMessage(body);
    if (typeof message === 'string') return this.#onMessage(caller, session, exchange, message);
    const virtualHost = session.applyConfig(caller.virtualHost, exchange.request);
    const current = virtualHost === caller.virtualHost ? caller : { ...caller, virtualHost };
    this.#onMessage(current, session, exchange, message);
  }

  /** Parses a large message. Meanwhile, other messages of the session are served, and may change its config or end it. */
  #serveLargePost({ subject, virtualHost }: Caller, session: Session, exchange: Exchange): void {
    session.applyConfig(virtualHost, exchange.request);
    const number = session.scansInProgress.begin(exchange.isBatchPart);
    readLargeClientMessage(subject, exchange.request.body, (message) => {
      exchange.onMessageParsed(message);
      if (session.isEnded) refuseMessage(exchange, refusals.sessionUnknown, message);
      else this.#onMessage({ subject, virtualHost: session.virtualHost ?? virtualHost }, session, exchange, message);
      session.scansInProgress.end(number);
    });
  }

  #onMessage(caller: Caller, session: Session, exchange: Exchange, message: ParsedClientMessage): void {
    if (typeof message === 'string') refuseInvalid(exchange, message);
    else if (message.kind !== 'batch' && message.envelope !== undefined && this.onModern !== undefined)
      this.onModern(caller, exchange, message, message.envelope);
    else if (message.kind === 'request') this.serveRequest(caller, session, exchange, message);
    else if (message.kind === 'batch')
      answerBatch(this.#context.answerMemory, session, exchange, message, (part, virtualHost = caller.virtualHost) =>
        this.servePost({ ...caller, virtualHost }, session, part),
      );
    else this.#serveNonRequest(session, exchange, message);
  }

  serveRequest(caller: Caller, session: Session, exchange: Exchange, message: ClientMessage): void {
    const { method } = message;
    if (method !== 'ping') session.onReady();
    const hasSearchTools = caller.virtualHost.exposure === 'search';
    if (hasSearchTools && isForSearchTool(exchange.request.body, message, CALL_TOOL)) {
      this.#unwrap(caller, session, exchange, message);
      return;
    }
    const incoming = { virtualHost: caller.virtualHost, session, exchange, message, rules: LEGACY_RULES };
    if (isTargetMethodOf('legacy', method)) return this.relayRequest(method, incoming);
    const kind = listKindOf(method);
    if (kind !== undefined) return this.serveList(kind, incoming);
    switch (method) {
      case 'ping':
        exchange.watcher?.onIdentified('ping', '', '');
        answer(exchange, resultMessage(idSpanOf(exchange, message), '{}'));
        break;
      case 'initialize':
        refuseMessage(exchange, refusals.alreadyInitialized, message);
        break;
      case 'logging/setLevel':
        this.#setLogLevel(incoming);
        break;
      default:
        this.relayExtraMethod(incoming);
    }
  }

  /** Serves a call through `call_tool`. As in `#serveLargePost`, other messages are served while a large one is parsed again. */
  #unwrap(caller: Caller, session: Session, exchange: Exchange, message: ClientMessage): void {
    const number = session.scansInProgress.begin(exchange.isBatchPart);
    unwrapCall(caller.subject, exchange, message, (call) => {
      if (session.isEnded) refuseMessage(exchange, refusals.sessionUnknown, message);
      else if (typeof call === 'string') answerToolError(exchange, message, call, LEGACY_RULES);
      else {
        const virtualHost = session.virtualHost ?? caller.virtualHost;
        this.relayRequest('tools/call', { virtualHost, session, exchange, message: call, rules: LEGACY_RULES });
      }
      session.scansInProgress.end(number);
    });
  }

  /**
   * Relays a method that MCP does not define to the backend that declares it. Unopened backends are opened first, to learn what they
   * declare.
   * @param areOpened whether the backends have already been opened for this request.
   */
  relayExtraMethod(incoming: ServedRequest, areOpened = false): void {
    const { virtualHost, session, exchange, message, rules } = incoming;
    const { method } = message;
    const id = idSpanOf(exchange, message);
    const isRefused = isMcpMethod(method) || this.#context.options.unknownMethods === 'refuse';
    if (!isRefused && tryForward(incoming, virtualHost.backends.values(), () => this.relayExtraMethod(incoming)))
      return;
    const backend = isRefused ? undefined : backendOfMethod(session, virtualHost, method);
    const backends = backendsWithUnknownMethods(session.upstreams, virtualHost);
    if (backend !== undefined) {
      const outgoing = { body: exchange.request.body };
      const target: Target = { backend, outgoing, bareName: '', gate: undefined, uriLocations: 0, taskLocations: 0 };
      this.#relayTo(target, NO_NAME, incoming);
    } else if (isRefused || areOpened || backends.size === 0) {
      exchange.watcher?.onIdentified(method, '', '');
      answerOwnError(exchange, id, rpcErrors.methodNotFound(method), rules);
    } else if (session.tryAdmit(exchange, id)) {
      const ending = rpcErrors.methodSearchSessionEnded;
      whenOpened({ session, virtualHost, exchange, id, sessionEndedError: ending, backends }, () =>
        // The session's current config is used, because the config may have changed meanwhile.
        this.relayExtraMethod({ ...incoming, virtualHost: session.virtualHost ?? virtualHost }, true),
      );
    }
  }

  #setLogLevel({ virtualHost, session, exchange, message }: ServedRequest): void {
    exchange.watcher?.onIdentified(message.method, '', '');
    const id = idSpanOf(exchange, message);
    if (!session.tryAdmit(exchange, id)) return;
    if (!trySetLogLevel(session, virtualHost, exchange, message))
      answerError(exchange, id, rpcErrors.methodNotFound(message.method));
  }

  #serveNonRequest(session: Session, exchange: Exchange, message: ClientMessage): void {
    exchange.watcher?.onIdentified(message.method, '', '');
    const refusal = serveNonRequest(session, exchange, message);
    // A notification in a batch is not refused: clients that reject an error without an id would lose the whole batch.
    if (refusal === undefined || exchange.isBatchPart) accept(exchange);
    else refuse(exchange, refusal);
  }

  serveList(kind: ListKind, incoming: ServedRequest): void {
    const { virtualHost, session, exchange, message, rules } = incoming;
    exchange.watcher?.onIdentified(kind.method, '', '');
    const id = idSpanOf(exchange, message);
    if (message.cursorStart !== -1) {
      // Merged lists are complete, so the gateway has never issued a cursor (S35).
      answerOwnError(exchange, id, rpcErrors.cursorInvalid, rules);
      return;
    }
    if (tryForward(incoming, virtualHost.backends.values(), () => this.serveList(kind, incoming))) return;
    if (!session.tryAdmit(exchange, id)) return;
    const work = new ListInFlight(id, exchange, rules);
    session.inFlight.begin(work);
    readAndMergeLists(this.#context, this.#merger, { kind, session, virtualHost, exchange, work }, (list) => {
      session.finish(work);
      if (typeof list === 'string') {
        const error = list === 'undeclared' ? rpcErrors.methodNotFound(kind.method) : rpcErrors.listNotMerged;
        if (!work.isEndedWithSession) work.fail(session.isEnded ? rpcErrors.listSessionEnded : error);
        return;
      }
      this.#reportUnreachable(virtualHost, list.unreachableNames);
      if (work.isEndedWithSession) list.drop();
      else list.respondTo(exchange, work.isStreaming);
    });
  }

  relayRequest(method: TargetMethod, incoming: ServedRequest): void {
    const { virtualHost, session, exchange, message, rules } = incoming;
    const hasSearchTools = virtualHost.exposure === 'search' && method === 'tools/call';
    if (hasSearchTools && this.#tryAnswerSearch(incoming)) return;
    const outcome = readTarget(method, virtualHost, exchange.request.body, message, session.upstreams);
    const { target } = outcome;
    if ('error' in target) {
      // The lease's owner may find a target: it may have read the lists that name the tools and resources of apps.
      if (tryForward(incoming, virtualHost.backends.values(), () => this.relayRequest(method, incoming))) return;
      exchange.watcher?.onIdentified(method, '', outcome.name, outcome.nameKind);
      const isUndeclared = target.capability !== 0 && session.upstreams.declares(target.capability) === 'no';
      const error = isUndeclared ? rpcErrors.methodNotFound(method) : target.error;
      answerOwnError(exchange, idSpanOf(exchange, message), error, rules);
      return;
    }
    this.#relayTo(target, outcome, incoming);
  }

  /** With exposure `search`: answers `find_tools`, and a call through `call_tool` for an unknown tool. @returns whether it did. */
  #tryAnswerSearch(incoming: ServedRequest): boolean {
    const { virtualHost, exchange, message, rules } = incoming;
    const { body } = exchange.request;
    if (isForSearchTool(body, message, FIND_TOOLS)) {
      this.#findTools(incoming);
      return true;
    }
    if (exchange.request.isWrapped !== true) return false;
    const { target, name, nameKind } = readTarget('tools/call', virtualHost, body, message);
    if (!('error' in target) || target.isUnknownTool !== true) return false;
    exchange.watcher?.onIdentified(message.method, '', name, nameKind);
    const text = `There is no tool named ${name}. Use ${FIND_TOOLS} to find the available tools.`;
    answerToolError(exchange, message, text, rules);
    return true;
  }

  #findTools(incoming: ServedRequest): void {
    const { virtualHost, session, exchange, message, rules } = incoming;
    exchange.watcher?.onIdentified(message.method, '', FIND_TOOLS, 'tool');
    const id = idSpanOf(exchange, message);
    const toolQuery = readToolQuery(exchange.request.body, message);
    if (typeof toolQuery === 'string') return answerToolError(exchange, message, toolQuery, rules);
    if (tryForward(incoming, virtualHost.backends.values(), () => this.#findTools(incoming))) return;
    if (!session.tryAdmit(exchange, id)) return;
    const work = new ListInFlight(id, exchange, rules);
    session.inFlight.begin(work);
    const onUnreachable = (tools: readonly string[]): void => this.#reportUnreachable(virtualHost, tools);
    findTools(this.#context, this.#merger, { session, virtualHost, exchange, work, toolQuery, onUnreachable });
  }

  #relayTo(target: Target, { name, nameKind }: TargetName, incoming: ServedRequest): void {
    const { session, exchange, message, rules } = incoming;
    const { backend, outgoing, bareName, gate, uriLocations, taskLocations } = target;
    const { method } = message;
    const id = idSpanOf(exchange, message);
    exchange.watcher?.onIdentified(method, backend.name, name, nameKind);
    if (!session.tryAdmit(exchange, id)) return;
    const upstream = session.upstreams.of(backend);
    const metadata = metadataFor(backend, exchange.request);
    const onSettled = gate && session.onSubscribing(method, upstream, gate.uri, metadata);
    if (onSettled === 'full') return answerError(exchange, id, rpcErrors.sessionSubscriptionsFull);
    const request = new RelayedRequest({
      context: this.#context,
      id,
      merger: this.#merger,
      session,
      upstream,
      exchange,
      message,
      outgoing,
      bareName,
      gate: gate && new Gate(this.#context, this.#merger, session, gate),
      onSettled,
      uriLocations,
      taskLocations,
      metadata,
      rules,
    });
    if (session.forwardToOwner === undefined || upstream.isSessionless) request.start();
    else tryForward(incoming, [backend], request.start.bind(request));
  }

  #reportUnreachable(virtualHost: CompiledVirtualHost, tools: readonly string[]): void {
    if (tools.length === 0 || this.#reportedUnreachable.has(virtualHost)) return;
    this.#reportedUnreachable.add(virtualHost);
    this.#logger.warn(
      { virtualHost: virtualHost.id, tools },
      'omitted from a list: name conflict with another backend or a renamed item, or item too large',
    );
  }
}

type TargetName = Pick<TargetOutcome, 'name' | 'nameKind'>;
const NO_NAME: TargetName = { name: '', nameKind: '' };

// Requests in a lease for backends with sessions are served by one process, the lease's owner, so that there is one upstream session. Other
// processes forward such requests until the owner tells them, with a forwarded request or after a backend was opened for it, that the
// backend keeps no sessions. They open no session to find out: they would have to end it at once, which some servers do not expect.

/**
 * Forwards the request if the lease has another owner and any of these backends may keep a session.
 * @param serve serves the request here; called later if the owner's process is not running.
 * @returns whether the request was forwarded.
 */
export function tryForward(
  { session, exchange, message }: ServedRequest,
  backends: Iterable<CompiledBackend>,
  serve: () => void,
): boolean {
  const { forwardToOwner } = session;
  const { onSessionless } = exchange;
  if (forwardToOwner === undefined && onSessionless === undefined) return false;
  const upstreams = [...backends].map((backend) => session.upstreams.of(backend));
  if (forwardToOwner === undefined) {
    for (const { isSessionless, url } of upstreams) if (isSessionless) onSessionless?.(url);
    return false;
  }
  const withSessions = upstreams.filter(({ isSessionless }) => !isSessionless);
  if (withSessions.length === 0) return false;
  const { subject } = session.identity;
  const virtualHost = session.virtualHost!;
  exchange.onSessionless = (url) => {
    for (const upstream of withSessions) if (upstream.url === url) upstream.endpoint.onModernOpen(false);
  };
  forwardToOwner({ subject, virtualHost }, exchange, (refusal) => {
    if (refusal !== undefined) return refuseMessage(exchange, refusal, message);
    session.forwardToOwner = undefined;
    serve();
    session.forwardToOwner = forwardToOwner;
  });
  return true;
}
