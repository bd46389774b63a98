// The MCP multiplexer: takes the exchange of an admitted caller and passes it to the code for its session and method. It depends on no
// HTTP server and no token.
import { randomBytes } from 'node:crypto';
import {
  readClientMessage,
  readLargeClientMessage,
  type ClientMessage,
  type ParsedClientMessage,
  type ModernEnvelope,
  LATEST_LEGACY_VERSION,
  LEGACY_VERSIONS,
} from '../mcp/index.js';
import type { Accounts } from '../fair/index.js';
import { limits, type Logger, methodUnknown, refusals, type Refusal, rpcErrors } from '../shared/index.js';
import {
  answerError,
  idSpanOf,
  refuse,
  eraOfMessage,
  type ServedEras,
  type Exchange,
  type Caller,
  refuseMessage,
  refuseInvalid,
} from '../exchange/index.js';
import { isMethodOf, Dispatcher } from '../calls/index.js';
import {
  UpstreamTerminations,
  type TerminationCount,
  ConfigPoll,
  openSession,
  openStream,
  type SessionDirectory,
  Adoption,
  Sessions,
  Session,
} from '../session/index.js';
import { ListCache, ListMerger } from '../lists/index.js';
import {
  SuspendedCalls,
  type SuspendedCallsOptions,
  Leases,
  ListenRequests,
  versionIn,
  ModernHandler,
  httpStatusOf,
} from '../modern/index.js';
import { type RelayOptions, createUpstreamContext } from './relay-options.js';
import { SlowRequests } from '../streams/index.js';
import { OWN_INTRODUCTION, type LastFault, type OriginView, type UpstreamContext } from '../upstream/index.js';

/**
 * Time for telling backends of the end of sessions, if `stop` is called without a time. The backends not told by then are counted and
 * logged.
 */
export const TERMINATIONS_MS_MAX = 4_000;

/** Every modern body contains this word. */
const VERSION_WORD = Buffer.from('protocolVersion');
const POST_ONLY_REFUSAL: Refusal = { ...refusals.methodNotAllowed, headers: ['allow', 'POST, OPTIONS'] };

const SECRET_BYTES = 32;

export class Relay {
  readonly #context: UpstreamContext;
  readonly #accounts: Accounts;
  readonly #sessions: Sessions;
  readonly #merger: ListMerger;
  readonly #dispatcher: Dispatcher;
  readonly #directory: SessionDirectory | undefined;
  readonly #adoption: Adoption | undefined;
  readonly #isSessionOptional: boolean;
  readonly #eras: ServedEras;
  /** The handler of modern messages; `undefined` if the modern era is not served. */
  readonly #modernHandler: ModernHandler | undefined;
  readonly #configPoll: ConfigPoll | undefined;
  #isDraining = false;
  #isRetired = false;
  readonly #logger: Logger;

  constructor(options: RelayOptions) {
    const { deadlines, logger } = options;
    const { listCacheMs } = options.upstream;
    const lists = listCacheMs === 0 ? undefined : new ListCache(listCacheMs, deadlines, () => deadlines.nowMs());
    this.#merger = new ListMerger(deadlines, options.accounts, logger, lists);
    this.#context = createUpstreamContext(options, this.#merger);
    this.#accounts = options.accounts;
    this.#sessions = new Sessions(this.#context, {
      idleTimeoutMs: options.sessionIdleTimeoutMs,
      directory: options.directory,
      sessionContext: {
        slowRequests: new SlowRequests(deadlines, options.answers.slowAnswerMs),
        answers: options.answers,
        sendToPredecessor: options.sendToPredecessor,
      },
      mintId: () => options.mintSessionId(),
    });
    this.#directory = options.directory;
    this.#adoption = options.directory && new Adoption(options.directory, this.#sessions, options.accounts);
    this.#dispatcher = new Dispatcher(this.#context, this.#merger, logger);
    this.#isSessionOptional = options.isSessionOptional ?? false;
    this.#eras = options.eras.served;
    this.#configPoll = options.readHost && new ConfigPoll(deadlines, options.readHost);
    this.#modernHandler = this.#createModernHandler(options);
    this.#logger = logger;
  }

  #createModernHandler(options: RelayOptions): ModernHandler | undefined {
    const { accounts, eras, deadlines, siblings = noSiblings() } = options;
    if (eras.served === 'legacy') return undefined;
    const dispatcher = this.#dispatcher;
    const leases = new Leases(this.#sessions, accounts, eras.leaseIdleTimeoutMs, siblings);
    const [context, sessions, configPoll] = [this.#context, this.#sessions, this.#configPoll];
    const handler = new ModernHandler({
      context,
      leases,
      dispatcher,
      suspendedCalls: new SuspendedCalls({ deadlines, ...siblings }),
      listenRequests: new ListenRequests({ context, sessions, accounts, dispatcher, leases, configPoll }),
      eras: eras.served,
    });
    dispatcher.onModern = (caller, exchange, message, envelope) => {
      // A modern message must not be a member of a batch (M03).
      if (exchange.isBatchPart) refuseMessage(exchange, refusals.batchRefused, message);
      else handler.handle(caller, exchange, message, envelope);
    };
    return handler;
  }

  forgetLists(): void {
    this.#merger.forgetLists();
  }

  get sessionCount(): number {
    return this.#sessions.count;
  }

  get sessions(): Iterable<Session> {
    return this.#sessions.values();
  }

  /** The origins of backends, for the admin views. */
  get origins(): readonly OriginView[] {
    return this.#context.endpoints.origins;
  }

  lastFaultOf(origin: string): LastFault | undefined {
    return this.#context.log.lastFaultOf(origin);
  }

  get nowMs(): number {
    return this.#context.nowMs();
  }

  /** Takes a completely received request. The exchange gets exactly one answer, now or later. */
  handle(caller: Caller, exchange: Exchange): void {
    const { sessionId, method, mirror } = exchange.request;
    const { protocolVersion } = mirror;
    // Whether the header names a version that no session can have.
    const hasSessionlessVersion = protocolVersion !== '' && !LEGACY_VERSIONS.has(protocolVersion);
    const isPost = method === 'POST';
    if (isPost && (sessionId === '' || hasSessionlessVersion || this.#eras === 'modern'))
      this.#parseMessage(caller, exchange, (message) => this.#handleOutsideSession(caller, exchange, message));
    else if (!isPost && this.#eras === 'modern') refuse(exchange, POST_ONLY_REFUSAL);
    else if (sessionId === '') refuse(exchange, refusals.sessionMissing);
    else this.#findSession(caller, exchange);
  }

  #findSession(caller: Caller, exchange: Exchange): void {
    const { sessionId, method, body } = exchange.request;
    const session = this.#sessions.find(sessionId, caller.subject, caller.virtualHost.id);
    // A retired process uses even a stale session: the requests in flight here belong to it.
    if (session !== undefined && (this.#isRetired || session.entry?.isStale !== true))
      this.#handleInSession(caller, session, exchange);
    else if (session === undefined && method === 'POST' && body.includes(VERSION_WORD)) {
      this.#parseMessage(caller, exchange, (message) => {
        if (!this.#tryHandleModern(caller, exchange, message)) this.#adopt(caller, undefined, exchange);
      });
    } else this.#adopt(caller, session, exchange);
  }

  /** Continues a session here. @param stale this process's outdated copy of it, if any: another process has changed it. */
  #adopt(caller: Caller, stale: Session | undefined, exchange: Exchange): void {
    const { sessionId } = exchange.request;
    if (this.#adoption === undefined || this.#isRetired) refuseMessage(exchange, refusals.sessionUnknown);
    else {
      this.#adoption.find(sessionId, caller, stale, (found) => {
        if (found instanceof Session) this.#handleInSession(caller, found, exchange);
        else refuseMessage(exchange, found);
      });
    }
  }

  #handleInSession(caller: Caller, session: Session, exchange: Exchange): void {
    const { method } = exchange.request;
    if (method === 'POST') this.#dispatcher.servePost(caller, session, exchange);
    else if (method === 'GET') this.#openStream(caller, session, exchange);
    else this.#deleteSession(session, exchange);
  }

  /** Ends the streams that belong to no request, and opens no more: for a process that waits for its last answers. */
  drain(): void {
    this.#isDraining = true;
    this.#modernHandler?.drain();
    this.#sessions.endStreams();
  }

  /** Drains a process that has a successor, which owns the sessions that have a record from now on. */
  retire(): void {
    this.drain();
    this.#isRetired = true;
    this.#sessions.retire();
  }

  /**
   * Ends every session, and answers all requests in flight at once.
   * @param withinMs the time for telling the backends.
   * @param areSessionsKept whether sessions that have a record continue without this process.
   */
  async stop(
    withinMs: number = TERMINATIONS_MS_MAX,
    areSessionsKept = this.#isRetired || (this.#directory?.outlivesGateway ?? false),
  ): Promise<TerminationCount> {
    const { deadlines, endpoints, oneWayRequests, replies } = this.#context;
    const endMs = deadlines.nowMs() + withinMs;
    // With very many sessions, `releaseAll` takes a part of this time.
    const terminations = new UpstreamTerminations(this.#sessions.releaseAll(areSessionsKept));
    const count = await terminations.sendAll(deadlines, Math.max(0, endMs - deadlines.nowMs()));
    if (count.untold > 0) this.#logger.warn(count, 'not every backend could be notified of the end of its sessions');
    endpoints.stop();
    const leftMs = endMs - deadlines.nowMs();
    await Promise.all([oneWayRequests.whenSettled(leftMs), replies.whenSettled(leftMs), this.#merger.close()]);
    return count;
  }

  #parseMessage({ subject }: Caller, exchange: Exchange, done: (message: ParsedClientMessage) => void): void {
    const { body } = exchange.request;
    if (body.length <= limits.readAtOnceBytesMax) done(readClientMessage(body));
    else readLargeClientMessage(subject, body, done);
  }

  /**
   * Takes a message without a session, or whose header names a version that no session can have. If only the modern era is served, it takes
   * every message.
   */
  #handleOutsideSession(caller: Caller, exchange: Exchange, message: ParsedClientMessage): void {
    if (this.#tryHandleModern(caller, exchange, message)) return;
    const { sessionId } = exchange.request;
    if (sessionId === '') this.#handleLegacyOutsideSession(caller, exchange, message);
    else refuseMessage(exchange, refusals.protocolVersionUnsupported, message);
  }

  /** Serves a modern message. @returns whether the message has been dealt with: it was modern, or only the modern era is served here. */
  #tryHandleModern(caller: Caller, exchange: Exchange, message: ParsedClientMessage): boolean {
    const handler = this.#modernHandler;
    if (handler === undefined) return false;
    const { mirror } = exchange.request;
    const era = eraOfMessage(message, mirror.protocolVersion, mirror.method);
    if (era === 'legacy' && this.#eras !== 'modern') return false;
    if (typeof message === 'string' || message.kind === 'batch') refuseInvalid(exchange, message);
    else if (message.kind === 'response') refuseMessage(exchange, refusals.notJsonRpc, message);
    else if (message.envelope !== undefined) handler.handle(caller, exchange, message, message.envelope);
    else handler.refuse(exchange, message, era === 'unclaimed' ? era : 'legacy');
    return true;
  }

  #handleLegacyOutsideSession(caller: Caller, exchange: Exchange, message: ParsedClientMessage): void {
    if (typeof message === 'string' || message.kind === 'batch') refuseInvalid(exchange, message);
    else if (message.kind !== 'request') refuse(exchange, refusals.sessionMissing);
    else if (message.envelope !== undefined) this.#refuseModern(exchange, message, message.envelope);
    else if (message.method === 'initialize') openSession(this.#accounts, this.#sessions, caller, exchange, message);
    else if (!isMethodOf('legacy', message.method)) {
      // Clients of later revisions first try a method that is unknown here, and fall back to `initialize`.
      exchange.watcher?.onIdentified(message.method, '', '');
      refuseMessage(exchange, methodUnknown(message.method), message);
    } else if (this.#isSessionOptional) this.#serveInOwnSession(caller, exchange, message);
    else refuseMessage(exchange, refusals.sessionMissing, message);
  }

  /** Refuses a modern message. The error lists the supported versions, as the revision requires (M11). */
  #refuseModern(exchange: Exchange, message: ClientMessage, envelope: ModernEnvelope): void {
    exchange.watcher?.onIdentified(message.method, '', '');
    const error = rpcErrors.versionUnsupported(versionIn(exchange.request.body, envelope), [...LEGACY_VERSIONS]);
    answerError(exchange, idSpanOf(exchange, message), error, httpStatusOf(error.code));
  }

  /** Serves a request in a session of its own. Nobody learns the session's id, so it ends when the caller goes away (unlike S12). */
  #serveInOwnSession(caller: Caller, exchange: Exchange, message: ClientMessage): void {
    if (exchange.isAborted) {
      answerError(exchange, idSpanOf(exchange, message), rpcErrors.listSessionEnded);
      return;
    }
    const account = this.#accounts.of(caller.subject);
    const session = this.#sessions.create({
      account,
      virtualHost: caller.virtualHost,
      protocolVersion: LATEST_LEGACY_VERSION,
      introduction: OWN_INTRODUCTION,
    });
    if (!(session instanceof Session)) {
      refuse(exchange, session);
      return;
    }
    session.applyConfig(caller.virtualHost, exchange.request);
    const end = (): void => void this.#sessions.end(session, exchange.request);
    exchange.onDone = end;
    this.#dispatcher.serveRequest(caller, session, exchange, message);
    // `onAbort` is called if the caller goes away before the answer; during the answer, `onDone` is.
    const { onAbort } = exchange;
    exchange.onAbort = () => {
      onAbort?.();
      end();
    };
  }

  #openStream(caller: Caller, session: Session, exchange: Exchange): void {
    exchange.watcher?.onIdentified('GET', '', '');
    if (this.#isDraining) {
      // The stream is ended at once, like all open streams: a client that reconnects reaches another process.
      exchange.openStream();
      exchange.end();
      return;
    }
    session.applyConfig(caller.virtualHost, exchange.request);
    this.#configPoll?.add(session, exchange);
    openStream(session, exchange);
  }

  #deleteSession(session: Session, exchange: Exchange): void {
    exchange.watcher?.onIdentified('DELETE', '', '');
    const removed = this.#sessions.end(session, exchange.request);
    // The status is not 202, because SDKs would report that the session could not be ended.
    if (removed === undefined) exchange.respond(200, '', '');
    else this.#answerOnceRemoved(removed, exchange);
  }

  /** Answers a DELETE once the record is removed, so that other machines answer 404 from then on, or after a timeout. */
  #answerOnceRemoved(removed: Promise<void>, exchange: Exchange): void {
    let isDue = true;
    const answer = (): void => {
      if (isDue) exchange.respond(200, '', '');
      isDue = false;
    };
    const deadline = this.#context.deadlines.after(limits.peerAnswerMsMax, answer);
    void removed.then(() => {
      deadline.cancel();
      answer();
    });
  }
}

function noSiblings(): Omit<SuspendedCallsOptions, 'deadlines'> {
  return { secret: randomBytes(SECRET_BYTES), slot: 0 };
}
