// A downstream session: its owner, its upstream sessions, and its requests in flight. State that is not in its record
// (session/directory/session-record.ts) can be lost without harm.
import { ANY_TASK_CAPABILITY, LIST_CHANGES, PRESUMED_CAPABILITIES, canResume } from '../mcp/index.js';
import { type Account, type Deadline } from '../fair/index.js';
import { limits, KIB, refusals, type Refusal, rpcErrors } from '../shared/index.js';
import { type CompiledVirtualHost, isOlderConfig, isTaskReachable } from '../user-config/index.js';
import type { SessionRecord, UpstreamRecord } from './directory/session-record.js';
import { Subscriptions, allowListHashes } from './subscriptions.js';
import {
  BackendRequests,
  ScansInProgress,
  type RequestInFlight,
  RequestsInFlight,
  type SessionStream,
  type SlowRequests,
  type StreamAdapter,
  StreamKeeper,
} from '../streams/index.js';
import type { DirectoryEntry } from './directory-entry.js';
import { type SessionIdentity, SessionUpstreams } from './session-upstreams.js';
import { type IdSpan, OWN_INTRODUCTION, type UpstreamContext, type UpstreamSession } from '../upstream/index.js';
import type { AnswerOptions } from '../config/index.js';
import {
  answerError,
  type Caller,
  callerlessRequest,
  type Exchange,
  type ExchangeRequest,
  metadataFor,
  refuse,
} from '../exchange/index.js';
import { membersOf, needsLogLevel, sendOwnRequest } from './own-requests.js';
import { SessionMemory } from './session-memory.js';
import type { TaskOwnership } from '../messages/index.js';
import { LIST_CHANGED_METHODS, UnsolicitedMessages } from './unsolicited-messages.js';
import { NO_METADATA, type RequestMetadata } from '../http-client/index.js';

/** What a message to the process that this one replaced adds to the shares of session bytes, beside its body, until it is there. */
const FORWARDED_BYTES_EACH = KIB;

/** What the stream of a session's GET adds to the shares of session bytes. Beyond that, 429 or 503, as for a session. */
const SESSION_STREAM_BYTES_EACH = 4 * KIB;

/**
 * Requests in flight of one lease, as a multiple of the requests that its subject may still begin; and busy leases with the same headers,
 * as a multiple of the leases that the subject may have but that are not busy. 3 leaves a quarter to others. Beyond that, 429
 * `lease-requests-full`, `subject-leases-full`.
 */
export const LEASES_OF_FREE_FACTOR = 3;

/**
 * Forwards a request to the process that must serve it.
 * @param onGone called with a refusal if no answer comes; with `undefined` if nothing was sent, because no such process runs.
 */
export type ForwardRequest = (
  caller: Caller,
  exchange: Exchange,
  onGone: (refusal: Refusal | undefined) => void,
) => void;

export interface SessionContext {
  readonly slowRequests: SlowRequests;
  readonly answers: AnswerOptions;
  /** Sends cancellations and answers to the process that this one replaced, if their requests are not in flight here. */
  readonly sendToPredecessor?:
    ((identity: SessionIdentity, request: ExchangeRequest, onDone: () => void) => void) | undefined;
}

export class Session {
  readonly identity: SessionIdentity;
  readonly account: Account;
  readonly #memory: SessionMemory;
  readonly context: UpstreamContext;
  #scansInProgress: ScansInProgress | undefined;
  #subscriptions: Subscriptions | undefined;
  #streamKeeper: StreamKeeper | undefined;
  readonly #sessionContext: SessionContext;
  #unsolicited: UnsolicitedMessages | undefined;
  /**
   * In a lease, the streams of the clients that listen to its backends; each stream is in a session of its own. A lease that has any does not
   * idle out, but may be ended to make room. Changed only by `setListeningStreams`.
   */
  listeningStreams: ReadonlySet<SessionStream> | undefined = undefined;
  #backendRequests: BackendRequests | undefined;
  readonly upstreams: SessionUpstreams;
  /** The requests in flight. They keep the session from idling out, and end with it. `finish` must be called for each. */
  readonly inFlight: RequestsInFlight;
  #logLevel: Buffer | undefined;
  /** The session's entry in the directory, set by `Sessions`; `undefined` without a session directory. */
  entry: DirectoryEntry | undefined = undefined;
  /** The list changes that the client wants to know, as bits of `capability`; all, unless the client says which. */
  wantedChanges: number = LIST_CHANGES;
  isRetired = false;
  /** When the session began, for operators: by the deadline wheel's clock, not exact to the millisecond. */
  readonly beganAtMs: number;
  usedAtMs: number;
  forwardToOwner: ForwardRequest | undefined = undefined;
  onEnd: (() => void) | undefined = undefined;
  /** The deadline that fires when the session has been idle for too long. Set by `Sessions`. */
  idleDeadline: Deadline | undefined = undefined;
  #isInitialized = false;
  isEnded = false;

  constructor(context: UpstreamContext, identity: SessionIdentity, account: Account, sessionContext: SessionContext) {
    this.context = context;
    this.identity = identity;
    this.account = account;
    this.#memory = new SessionMemory(account, identity.introduction);
    this.upstreams = new SessionUpstreams(context, identity, this.#memory, {
      onOpened: (upstream, metadata) => this.#onUpstreamOpened(upstream, metadata),
      onDropped: (upstream) => {
        this.#unsolicited?.onDropped(upstream);
        this.#onChanged();
      },
      onProgress: (...progress) => this.inFlight.takeProgress(...progress),
      onListChanged: (method) => {
        if (!LIST_CHANGED_METHODS.has(method)) return;
        for (const stream of this.listeningStreams ?? []) stream.reportListChange(method);
      },
    });
    this.beganAtMs = this.usedAtMs = context.nowMs();
    this.#sessionContext = sessionContext;
    this.inFlight = new RequestsInFlight(account, sessionContext.slowRequests);
  }

  /** Sends a backend with a new session what this session has set: subscriptions and the log level. */
  #onUpstreamOpened(upstream: UpstreamSession, metadata: RequestMetadata): void {
    this.upstreams.listChangeReporter.onOpened(upstream);
    this.#unsolicited?.onOpened(upstream, metadata);
    this.#subscriptions?.replay(upstream, metadata);
    this.#onChanged();
    if (this.#logLevel === undefined || !needsLogLevel(upstream)) return;
    sendOwnRequest(upstream, 'logging/setLevel', membersOf(this.#logLevel), metadata);
  }

  forwardCancellation(request: ExchangeRequest): void {
    // A large body cannot be forwarded, because its memory is reused after the exchange.
    if (request.body.length < limits.countedFromBytes) this.#sendToPredecessor(request);
  }

  /** Sends an answer for which no request waits here to the process that this one replaced. @param bytes valid until this returns. */
  forwardStrayAnswer({ backend }: UpstreamSession, bytes: Buffer): void {
    if (bytes.length <= limits.readAtOnceBytesMax)
      this.#sendToPredecessor(callerlessRequest(this.identity.id, Buffer.from(bytes), { lastEventId: backend.name }));
  }

  #sendToPredecessor(request: ExchangeRequest): void {
    const { sendToPredecessor } = this.#sessionContext;
    const bytes = request.body.length + FORWARDED_BYTES_EACH;
    if (sendToPredecessor === undefined || !this.#memory.hasRoomFor(bytes)) return;
    this.#memory.keep(bytes);
    sendToPredecessor(this.identity, request, () => this.#memory.drop(bytes));
  }

  /** Whether something is going on: a request of either side, an open session stream, or the opening of an upstream session. */
  get isBusy(): boolean {
    if (!this.inFlight.isEmpty || this.#scansInProgress?.isEmpty === false) return true;
    if (this.#unsolicited?.stream.isOpen === true || this.#backendRequests?.isEmpty === false) return true;
    return this.upstreams.isAnyOpening;
  }

  get logLevel(): Buffer | undefined {
    return this.#logLevel;
  }

  set logLevel(params: Buffer | undefined) {
    this.#logLevel = params;
    this.#onChanged();
  }

  get scansInProgress(): ScansInProgress {
    return (this.#scansInProgress ??= new ScansInProgress());
  }

  get subscriptions(): Subscriptions {
    return (this.#subscriptions ??= new Subscriptions(this.#memory, () => {
      this.#unsolicited?.onSubscriptionsChanged();
      this.#onChanged();
    }));
  }

  /** The client's subscriptions; `undefined` if it has never subscribed. */
  get subscriptionsIfAny(): Subscriptions | undefined {
    return this.#subscriptions;
  }

  /**
   * Called before a `resources/subscribe` or `resources/unsubscribe` is sent; does nothing for other methods.
   * @returns a callback for the outcome, which may be called more than once; `full` when there is no room for another subscription.
   */
  onSubscribing(
    method: string,
    upstream: UpstreamSession,
    uri: string | undefined,
    metadata: RequestMetadata,
  ): ((isDone: boolean) => void) | 'full' | undefined {
    const { backend } = upstream;
    const { name } = backend;
    if (uri === undefined) return undefined;
    if (method === 'resources/unsubscribe') return (isDone) => isDone && this.subscriptions.delete(name, uri);
    if (method !== 'resources/subscribe') return undefined;
    const giveBack = this.subscriptions.reserve(name, uri);
    if (giveBack === undefined) return 'full';
    return (isDone) => {
      giveBack();
      // The outcome counts only for the same upstream session: meanwhile, the backend may have moved, or its allow-list may have changed.
      if (!isDone || this.upstreams.findUsed(name) !== upstream) return;
      this.subscriptions.add(name, uri);
      this.subscriptions.onReconfigured(upstream, backend, metadata);
      this.#unsolicited?.onSubscribed(upstream, metadata);
    };
  }

  get backendRequests(): BackendRequests {
    const { deadlines, options } = this.context;
    return (this.#backendRequests ??= new BackendRequests({
      sessionId: this.identity.id,
      account: this.account,
      memory: this.#memory,
      introduction: this.identity.introduction,
      deadlines,
      answerTimeoutMs: options.clientAnswerTimeoutMs,
      isTaskReachable: (backend, taskId) =>
        this.virtualHost === undefined || isTaskReachable(this.virtualHost, backend, taskId),
      // Without a directory entry, no other process can have asked the client anything.
      openUpstreams: () => (this.entry === undefined ? [] : this.upstreams.allOpen()),
    }));
  }

  /** How the ids of a backend's tasks are written; `undefined` for a backend without tasks. Hot path. */
  taskOwnership(upstream: UpstreamSession): TaskOwnership | undefined {
    return upstream.declares(ANY_TASK_CAPABILITY) ? this.backendRequests.taskOwnership(upstream) : undefined;
  }

  get virtualHost(): CompiledVirtualHost | undefined {
    return this.upstreams.virtualHost;
  }

  /** Leaves the session to another process, which gets the client's answers: requests here that wait for an answer fail. */
  retire(): void {
    this.isRetired = true;
    this.inFlight.retire();
  }

  /** Whether the caller owns the session. Others are answered as if there were no such session (X02, X03). */
  belongsTo(subject: string, virtualHostId: string): boolean {
    return this.identity.subject === subject && this.identity.virtualHostId === virtualHostId;
  }

  #onChanged(): void {
    // A session that is being restored has no entry yet, so no half-restored record is written.
    this.entry?.onChanged();
  }

  record(listeners: readonly string[] | undefined): SessionRecord {
    const subscriptions = this.#subscriptions?.recorded() ?? {};
    const { protocolVersion, introduction } = this.identity;
    return {
      protocolVersion,
      clientInfo: introduction.clientInfo,
      capabilities: introduction.capabilities,
      subscriptions,
      logLevel: this.#logLevel,
      upstreams: this.upstreams.recorded(),
      allowLists: allowListHashes(this.virtualHost?.backends, Object.keys(subscriptions)),
      askingSecret: this.acceptsRequests ? this.backendRequests.ids.secret : undefined,
      listeners,
    };
  }

  /** Restores a session that another process opened. @param virtualHost by the current config. */
  restore(record: SessionRecord, virtualHost: CompiledVirtualHost): void {
    this.#logLevel = record.logLevel;
    this.upstreams.announcedCapabilities = PRESUMED_CAPABILITIES;
    if (this.acceptsRequests) this.backendRequests.ids.secret = record.askingSecret ?? '';
    this.#takeOver(record, virtualHost, undefined, false);
  }

  merge(record: SessionRecord, base: readonly UpstreamRecord[], isChanged: boolean): void {
    if (!isChanged) this.#logLevel = record.logLevel;
    this.#takeOver(record, this.virtualHost, base, !isChanged);
  }

  /** Takes over the contents of the record. @param isComplete whether subscriptions that are not in the record have ended. */
  #takeOver(
    { upstreams, subscriptions, allowLists }: SessionRecord,
    virtualHost: CompiledVirtualHost | undefined,
    base: readonly UpstreamRecord[] | undefined,
    isComplete: boolean,
  ): void {
    const moved = this.upstreams.takeOver(virtualHost, upstreams, base, (upstream, restore) => {
      if (this.#unsolicited === undefined) restore();
      else this.#unsolicited.onReplaced(upstream, restore);
    });
    const isContinued = (name: string): boolean =>
      base !== undefined || (virtualHost?.backends.has(name) === true && !moved.has(name));
    const continued = Object.entries(subscriptions).filter(([name]) => isContinued(name));
    if (isComplete || continued.length > 0) this.subscriptions.merge(Object.fromEntries(continued), isComplete);
    for (const [name] of continued) {
      const backend = virtualHost?.backends.get(name);
      // The other process may have granted the subscriptions under another allow-list.
      if (backend !== undefined && backend.listHashes.resourceNames !== allowLists[name])
        this.subscriptions.endUngranted(this.upstreams.of(backend), NO_METADATA);
    }
  }

  /**
   * Applies the current config (specification 2.3): closes upstream sessions of backends that were removed or have moved; those of new
   * backends are opened on first use. Hot path: one comparison unless the config has changed.
   * @returns the config for the request: a newer one, if another request has already brought it.
   */
  applyConfig(virtualHost: CompiledVirtualHost, request: ExchangeRequest): CompiledVirtualHost {
    const current = this.upstreams.virtualHost;
    if (current === virtualHost) return virtualHost;
    if (current !== undefined && isOlderConfig(virtualHost, current)) return current;
    for (const { upstream, before } of this.upstreams.apply(virtualHost)) {
      const metadata = metadataFor(upstream.backend, request);
      if (before !== undefined) {
        this.#subscriptions?.onReconfigured(upstream, before, metadata);
      } else {
        this.#subscriptions?.forget(upstream.backend.name);
        upstream.close(metadata);
      }
    }
    this.#unsolicited?.onReconfigured(request);
    return virtualHost;
  }

  /** Whether the session lives and this is still the config applied last; for work that takes several turns of the event loop. */
  hasConfig(virtualHost: CompiledVirtualHost): boolean {
    return !this.isEnded && this.upstreams.virtualHost === virtualHost;
  }

  /** Keeps streams for resumption; `undefined` if the client cannot resume any, for example because of its protocol version (S42). */
  get streamKeeper(): StreamKeeper | undefined {
    if (this.#streamKeeper !== undefined) return this.#streamKeeper;
    // No client knows the id of a lease, or of the session for a `subscriptions/listen` (`OWN_INTRODUCTION`), to resume its streams.
    const { protocolVersion, introduction, era } = this.identity;
    if (introduction === OWN_INTRODUCTION || era === 'modern' || !canResume(protocolVersion)) return undefined;
    return (this.#streamKeeper = new StreamKeeper(this.account, this.context.deadlines, this.#sessionContext.answers));
  }

  /** Starts to receive the backends' unsolicited messages. @param adapter for a `subscriptions/listen`. */
  startListening(adapter?: StreamAdapter): UnsolicitedMessages | Refusal {
    if (this.#unsolicited !== undefined) return this.#unsolicited;
    const refusal = this.account.refusalOfBytes(SESSION_STREAM_BYTES_EACH);
    if (refusal !== undefined) return refusal;
    this.#memory.keep(SESSION_STREAM_BYTES_EACH);
    return (this.#unsolicited = new UnsolicitedMessages(this, this.#memory, adapter));
  }

  get isReady(): boolean {
    return this.#isInitialized || this.entry?.hasHadPeers === true;
  }

  /** Called when the client has said that it is ready, or already sends requests: its `notifications/initialized` may have been lost. */
  onReady(): void {
    if (this.#isInitialized) return;
    this.#isInitialized = true;
    this.#unsolicited?.stream.onReady();
  }

  onInitialized(request: ExchangeRequest): void {
    this.onReady();
    const unsolicited = this.#unsolicited === undefined && this.acceptsRequests ? this.startListening() : undefined;
    if (unsolicited instanceof UnsolicitedMessages) unsolicited.expect(request);
  }

  get acceptsRequests(): boolean {
    return this.identity.introduction.capabilities.length > '{}'.length && this.backendRequests.acceptsRequests;
  }

  /** Sets the streams that get list changes from the lease's backends. @param request of a client that begins to listen. */
  setListeningStreams(listeners: ReadonlySet<SessionStream> | undefined, request?: ExchangeRequest): void {
    this.listeningStreams = listeners;
    if (listeners === undefined) {
      if (!this.acceptsRequests) this.endStream(false);
      this.idleDeadline?.restart();
      return;
    }
    const unsolicited = this.startListening();
    if (request !== undefined && unsolicited instanceof UnsolicitedMessages) unsolicited.listenToOpen(request);
  }

  /** Ends the client's stream and those of the backends. @param isForGood false if the client may open its stream again. */
  endStream(isForGood = true): void {
    this.#unsolicited?.end(isForGood);
  }

  /** Whether another request may begin; if not, it has been refused. Hot path. */
  tryAdmit(exchange: Exchange, id: IdSpan): boolean {
    const isLease = this.identity.era === 'modern';
    const { isFull, count } = this.inFlight;
    if (isFull && !isLease) {
      answerError(exchange, id, rpcErrors.sessionRequestsFull);
      return false;
    }
    // A busy lease always leaves its subject some requests for other leases.
    const isLeaseFull = isLease && (isFull || count >= LEASES_OF_FREE_FACTOR * this.account.requests.room);
    const refusal = this.account.refusalOfRequest() ?? (isLeaseFull ? refusals.leaseRequestsFull : undefined);
    if (refusal !== undefined) refuse(exchange, refusal);
    return refusal === undefined;
  }

  finish(work: RequestInFlight): void {
    // The idle time begins anew: the client still has to read its answer, and perhaps to reconnect for it.
    if (this.inFlight.finish(work) && !this.isEnded) this.idleDeadline?.restart();
  }

  /** Whether the backend waits for the client's answer to a request that it sent on its own stream. Hot path. */
  awaitsClientAnswer(upstream: UpstreamSession): boolean {
    if (this.#unsolicited === undefined || this.#backendRequests === undefined) return false;
    return this.#backendRequests.isAsking(this.#unsolicited.stream, upstream);
  }

  /**
   * Ends the requests in flight and every upstream session.
   * @param request the DELETE that asked for it; `undefined` when the gateway ends the session by itself.
   */
  end(request: ExchangeRequest | undefined): void {
    for (const upstream of this.release())
      upstream.close(request === undefined ? NO_METADATA : metadataFor(upstream.backend, request));
  }

  /** Ends the requests in flight here; upstream sessions that other processes know may continue there. */
  abandon(): void {
    for (const upstream of this.release()) {
      const { record, backend } = upstream;
      if (record === undefined || this.entry?.isRecorded(backend.name, record.sessionId) === false)
        upstream.close(NO_METADATA);
    }
  }

  /**
   * Ends the session except for its upstream sessions.
   * @param isNow whether all its requests end in this turn of the event loop rather than over several.
   * @returns the upstream sessions, to be closed; none on a second call.
   */
  release(isNow = false): readonly UpstreamSession[] {
    if (this.isEnded) return [];
    this.isEnded = true;
    this.onEnd?.();
    this.inFlight.endAll(isNow ? undefined : this.identity.subject);
    this.#unsolicited?.end(true, true);
    this.#streamKeeper?.end();
    this.#backendRequests?.clear();
    const upstreams = this.upstreams.release();
    this.#memory.dropAll();
    return upstreams;
  }
}
