// A downstream session: whom it belongs to, its upstream sessions, and its requests in flight. State that is not in its record
// (session/directory/session-record.ts) can be lost without harm.
import { ANY_TASK_CAPABILITY, LIST_CHANGES, PRESUMED_CAPABILITIES, canResume } from '../mcp/index.js';
import { type Account, type Deadline } from '../fair/index.js';
import { limits, KIB, refusals, type Refusal, rpcErrors } from '../shared/index.js';
import { type CompiledBackend, type CompiledVirtualHost, isOlderConfig } from '../user-config/index.js';
import type { SessionRecord, UpstreamRecord } from './directory/session-record.js';
import { Subscriptions, allowListHashes, allowListHash } from './subscriptions.js';
import {
  BackendRequests,
  ScansInProgress,
  type RequestInFlight,
  RequestsInFlight,
  type SessionStream,
  type StreamAdapter,
  StreamKeeper,
} from '../streams/index.js';
import type { DirectoryEntry } from './directory-entry.js';
import { SessionUpstreams } from './session-upstreams.js';
import { type IdSpan, OWN_INTRODUCTION, type UpstreamContext, type UpstreamSession } from '../upstream/index.js';
import { answerError, type Exchange, type ExchangeRequest, metadataFor, refuse } from '../exchange/index.js';
import { needsLogLevel, sendLogLevel } from './own-requests.js';
import type { PassOn, SessionIdentity, SessionMeans } from './session-plan.js';
import { SessionMemory } from './session-memory.js';
import type { TaskOwnership } from '../messages/index.js';
import { LIST_CHANGED_METHODS, UnsolicitedMessages } from './unsolicited-messages.js';
import { NO_METADATA, type RequestMetadata } from '../http-client/index.js';

/** What the stream of a session's GET adds to the shares of session bytes. Beyond that, 429 or 503, as for a session. */
const SESSION_STREAM_BYTES_EACH = 4 * KIB;

/**
 * Requests in flight of one lease, as a multiple of those that its subject may still begin, and busy leases with the same headers for
 * backends, as a multiple of the subject's leases that are not busy, unopened ones included; 3 leaves a quarter to others. Beyond that, 429
 * `lease-requests-full`, `subject-leases-full`.
 */
export const LEASE_SHARE_OF_FREE = 3;

export class Session {
  readonly identity: SessionIdentity;
  /** The account of the session's subject. */
  readonly account: Account;
  readonly #memory: SessionMemory;
  readonly #context: UpstreamContext;
  /** Made for the first large message. */
  #readings: ScansInProgress | undefined;
  /** Made for the first subscription. */
  #subscriptions: Subscriptions | undefined;
  /** Made for the first stream that the client can resume. */
  #streamKeeper: StreamKeeper | undefined;
  readonly #means: SessionMeans;
  /** Made for the client's first GET, or when the GET is expected. */
  #unsolicited: UnsolicitedMessages | undefined;
  /** For a lease: the streams of its clients that listen, each in a session of its own; `undefined` if none does. Changed only here. */
  listeners: ReadonlySet<SessionStream> | undefined = undefined;
  /** Made for the first request from a backend. */
  #backendRequests: BackendRequests | undefined;
  readonly upstreams: SessionUpstreams;
  /** The session's requests in flight, which keep it from idling out, and end when it ends. Each that begins must come to `finish`. */
  readonly inFlight: RequestsInFlight;
  #logLevel: Buffer | undefined;
  /** For `Sessions`: the session's entry in the session directory; `undefined` without a directory. */
  entry: DirectoryEntry | undefined = undefined;
  /** The list changes that the client wants notifications for, as bits of `capability`: all, unless the client says which. */
  wantedChanges: number = LIST_CHANGES;
  /** Whether another process continues the session. */
  isRetired = false;
  /** For operators: on the deadline wheel's clock, not exact to the millisecond. */
  readonly beganAtMs: number;
  usedAtMs: number;
  /** For a lease that another process owns: passes a request on to that process. */
  passOn: PassOn | undefined = undefined;
  /** Called once, when the session ends in this process. */
  onEnd: (() => void) | undefined = undefined;
  /** For `Sessions`: fires when the session has been idle for too long. */
  idleDeadline: Deadline | undefined = undefined;
  #isInitialized = false;
  /** Changed only here. */
  isEnded = false;

  constructor(context: UpstreamContext, identity: SessionIdentity, account: Account, means: SessionMeans) {
    this.#context = context;
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
        for (const stream of this.listeners ?? []) stream.tellChanged(method);
      },
    });
    this.beganAtMs = this.usedAtMs = context.nowMs();
    this.#means = means;
    this.inFlight = new RequestsInFlight(account, means.slow);
  }

  /** Repeats to the backend what it has forgotten with its old session, or never heard. */
  #onUpstreamOpened(upstream: UpstreamSession, metadata: RequestMetadata): void {
    this.upstreams.listNews.onOpened(upstream);
    this.#unsolicited?.onOpened(upstream, metadata);
    this.#subscriptions?.replay(this.#context, upstream, metadata);
    this.#onChanged();
    if (this.#logLevel === undefined || !needsLogLevel(upstream)) return;
    sendLogLevel(this.#context, upstream, this.#logLevel, metadata, () => undefined);
  }

  /** Passes on a cancellation of a request that is not in flight here: the process that this one replaced may have it. */
  passBack(request: ExchangeRequest): void {
    // A large body cannot be kept for that: its memory is reused after the exchange.
    if (request.body.length < limits.countedFromBytes) this.#means.passBack?.(this.identity, request);
  }

  /** Whether anything is in progress: a request of either side, an open session stream, or the opening of an upstream session. */
  get isBusy(): boolean {
    if (!this.inFlight.isEmpty || this.#readings?.isEmpty === false) return true;
    if (this.#unsolicited?.stream.isOpen === true || this.#backendRequests?.isEmpty === false) return true;
    return this.upstreams.isAnyOpening;
  }

  /** For a lease: whether clients listen to its backends. Then it does not end when idle, but may be ended to make room. */
  get hasListeners(): boolean {
    return this.listeners !== undefined;
  }

  /** The params of the client's last `logging/setLevel`, as JSON. */
  get logLevel(): Buffer | undefined {
    return this.#logLevel;
  }

  set logLevel(params: Buffer | undefined) {
    this.#logLevel = params;
    this.#onChanged();
  }

  /** Large messages that are still being read. */
  get readings(): ScansInProgress {
    return (this.#readings ??= new ScansInProgress());
  }

  get subscriptions(): Subscriptions {
    return (this.#subscriptions ??= new Subscriptions(this.#memory, () => {
      this.#unsolicited?.onSubscriptionsChanged();
      this.#onChanged();
    }));
  }

  /** The subscriptions; `undefined` if there has never been one. */
  get madeSubscriptions(): Subscriptions | undefined {
    return this.#subscriptions;
  }

  /**
   * A backend is asked for a `resources/subscribe` or `resources/unsubscribe`; does nothing for other methods.
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
    const giveBack = this.subscriptions.tryReserve(name, uri);
    if (giveBack === undefined) return 'full';
    return (isDone) => {
      giveBack();
      // While it was asked, the backend may have moved, or its allow-list may have changed.
      if (isDone && this.upstreams.used(name) === upstream) this.#onSubscribed(upstream, backend, uri, metadata);
    };
  }

  /** The backend has accepted a subscription. @param before the backend as configured when it was asked. */
  #onSubscribed(upstream: UpstreamSession, before: CompiledBackend, uri: string, metadata: RequestMetadata): void {
    this.subscriptions.add(before.name, uri);
    this.subscriptions.onReconfigured(this.#context, upstream, before, metadata);
    this.#unsolicited?.onSubscribed(upstream, metadata);
  }

  /** The requests that backends have sent to the client. */
  get backendRequests(): BackendRequests {
    const { deadlines, options } = this.#context;
    return (this.#backendRequests ??= new BackendRequests({
      sessionId: this.identity.id,
      account: this.account,
      memory: this.#memory,
      introduction: this.identity.introduction,
      deadlines,
      answerTimeoutMs: options.clientAnswerTimeoutMs,
      isTaskReachable: (backend, taskId) => this.upstreams.isTaskReachable(backend, taskId),
      // Without a directory entry, no other process can have asked the client anything.
      openUpstreams: () => (this.entry === undefined ? [] : this.upstreams.allOpen()),
    }));
  }

  /** How the ids of a backend's tasks are written; `undefined` for a backend without tasks. Hot path. */
  taskOwnership(upstream: UpstreamSession): TaskOwnership | undefined {
    return upstream.declares(ANY_TASK_CAPABILITY) ? this.backendRequests.taskOwnership(upstream) : undefined;
  }

  /** The virtual host by the config applied last. */
  get virtualHost(): CompiledVirtualHost | undefined {
    return this.upstreams.virtualHost;
  }

  /** Another process continues the session and gets the client's answers from now on: whatever waits for one here cannot continue. */
  retire(): void {
    this.isRetired = true;
    this.inFlight.retire();
  }

  /** Whether this caller may use the session here. Other callers are answered as if there were no such session (X02, X03). */
  belongsTo(subject: string, virtualHostId: string): boolean {
    return this.identity.subject === subject && this.identity.virtualHostId === virtualHostId;
  }

  /** Something that the record contains has changed. */
  #onChanged(): void {
    // A session that is being restored has no entry yet, so that it is not written half restored.
    this.entry?.onChanged();
  }

  /** The current record: what another process needs to continue the session. */
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
      askingSecret: this.acceptsRequests ? this.backendRequests.secret : undefined,
      listeners,
    };
  }

  /** Restores a session that another process opened, from its record. @param virtualHost by the current config. */
  restore(record: SessionRecord, virtualHost: CompiledVirtualHost): void {
    this.#logLevel = record.logLevel;
    this.upstreams.told = PRESUMED_CAPABILITIES;
    if (this.acceptsRequests) this.backendRequests.secret = record.askingSecret ?? '';
    this.#takeOver(record, virtualHost, undefined, false);
  }

  /** For `DirectoryEntry`: takes over what another process has changed. */
  merge(record: SessionRecord, base: readonly UpstreamRecord[], isChanged: boolean): void {
    if (!isChanged) this.#logLevel = record.logLevel;
    this.#takeOver(record, this.virtualHost, base, !isChanged);
  }

  /** @param isComplete whether all subscriptions but the recorded ones are over. */
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
      // The other process may have passed them by another allow-list.
      if (backend !== undefined && allowListHash(backend) !== allowLists[name])
        this.subscriptions.endUngranted(this.#context, this.upstreams.of(backend), NO_METADATA);
    }
  }

  /**
   * Applies the current config (specification 2.3): upstream sessions of backends that were removed or have moved are closed; those of new
   * backends are opened when first needed. Hot path: one comparison unless the config has changed.
   * @returns the config to serve the request by: a newer one, if another request has already brought it.
   */
  applyConfig(virtualHost: CompiledVirtualHost, request: ExchangeRequest): CompiledVirtualHost {
    const current = this.upstreams.virtualHost;
    if (current === virtualHost) return virtualHost;
    if (current !== undefined && isOlderConfig(virtualHost, current)) return current;
    for (const { upstream, before } of this.upstreams.apply(virtualHost)) {
      const metadata = metadataFor(upstream.backend, request);
      if (before !== undefined) {
        this.#subscriptions?.onReconfigured(this.#context, upstream, before, metadata);
      } else {
        this.#subscriptions?.forget(upstream.backend.name);
        upstream.close(metadata);
      }
    }
    this.#unsolicited?.onReconfigured(request);
    return virtualHost;
  }

  /** Whether the session lives and this is still the config applied last: for work that takes several turns of the event loop. */
  hasConfig(virtualHost: CompiledVirtualHost): boolean {
    return !this.isEnded && this.upstreams.virtualHost === virtualHost;
  }

  /** Keeps the streams that the client can resume; `undefined` when it cannot, for example by its protocol version (S42). */
  get streamKeeper(): StreamKeeper | undefined {
    if (this.#streamKeeper !== undefined) return this.#streamKeeper;
    // A client that has not introduced itself never learns the id of its session, and nobody learns the id of a lease.
    const { protocolVersion, introduction, era } = this.identity;
    if (introduction === OWN_INTRODUCTION || era === 'modern' || !canResume(protocolVersion)) return undefined;
    return (this.#streamKeeper = new StreamKeeper(this.account, this.#context.deadlines, this.#means.answers));
  }

  /** Makes what hears the backends' unsolicited messages. @param adapter for a `subscriptions/listen`. @returns the refusal if full. */
  hear(adapter?: StreamAdapter): UnsolicitedMessages | Refusal {
    if (this.#unsolicited !== undefined) return this.#unsolicited;
    const refusal = this.account.refusalOfBytes(SESSION_STREAM_BYTES_EACH);
    if (refusal !== undefined) return refusal;
    this.#memory.keep(SESSION_STREAM_BYTES_EACH);
    return (this.#unsolicited = new UnsolicitedMessages(this.#context, this, this.#memory, adapter));
  }

  /** Whether the client has said or shown that it is ready: to this process, or possibly to another one. */
  get isReady(): boolean {
    return this.#isInitialized || this.entry?.wasShared === true;
  }

  /** The client is ready: it has said so, or already sends requests, as a client does whose `notifications/initialized` was lost. */
  onReady(): void {
    if (this.#isInitialized) return;
    this.#isInitialized = true;
    this.#unsolicited?.stream.onReady();
  }

  /** The client has sent `notifications/initialized`. A client that can be sent requests is about to open its stream. */
  onInitialized(request: ExchangeRequest): void {
    this.onReady();
    const heard = this.#unsolicited === undefined && this.acceptsRequests ? this.hear() : undefined;
    if (heard instanceof UnsolicitedMessages) heard.expect(request);
  }

  /** Whether the client accepts any kind of request from backends. */
  get acceptsRequests(): boolean {
    return this.identity.introduction.capabilities.length > '{}'.length && this.backendRequests.acceptsRequests;
  }

  /** Sets the streams that get list changes from the lease's upstream sessions. @param request of a client that begins to listen. */
  setListeners(listeners: ReadonlySet<SessionStream> | undefined, request?: ExchangeRequest): void {
    this.listeners = listeners;
    if (listeners === undefined) {
      if (!this.acceptsRequests) this.endStream(false);
      this.idleDeadline?.restart();
      return;
    }
    const heard = this.hear();
    if (request !== undefined && heard instanceof UnsolicitedMessages) heard.listenToOpen(request);
  }

  /** Ends the client's stream and those of the backends. @param isForGood false if the client may open its stream again. */
  endStream(isForGood = true): void {
    this.#unsolicited?.end(isForGood);
  }

  /** Whether another request may be in flight; if not, it has been refused. Hot path. */
  tryAdmit(exchange: Exchange, id: IdSpan): boolean {
    const isLease = this.identity.era === 'modern';
    if (this.inFlight.isFull && !isLease) {
      answerError(exchange, id, rpcErrors.sessionRequestsFull);
      return false;
    }
    const refusal =
      this.account.refusalOfRequest() ?? (isLease && this.#isLeaseFull ? refusals.leaseRequestsFull : undefined);
    if (refusal !== undefined) refuse(exchange, refusal);
    return refusal === undefined;
  }

  /** A lease may hold only a multiple of its subject's free room, so that a busy lease always leaves room for the others. */
  get #isLeaseFull(): boolean {
    return this.inFlight.isFull || this.inFlight.count >= LEASE_SHARE_OF_FREE * this.account.requests.room;
  }

  finish(work: RequestInFlight): void {
    // The client still has to read its answer, and perhaps to reconnect for it.
    if (this.inFlight.finish(work) && !this.isEnded) this.idleDeadline?.restart();
  }

  /** Whether the backend waits for the client's answer to a request that it sent on its own stream. Hot path. */
  awaitsClientAnswer(upstream: UpstreamSession): boolean {
    if (this.#unsolicited === undefined || this.#backendRequests === undefined) return false;
    return this.#backendRequests.isAsking(this.#unsolicited.stream, upstream);
  }

  /**
   * Ends what is in flight and every upstream session.
   * @param request the DELETE that asked for it, `undefined` when the gateway ends it by itself.
   */
  end(request: ExchangeRequest | undefined): void {
    for (const upstream of this.release())
      upstream.close(request === undefined ? NO_METADATA : metadataFor(upstream.backend, request));
  }

  /** Ends what is in flight here; upstream sessions that other processes know may continue there. */
  abandon(): void {
    for (const upstream of this.release()) {
      const { record, backend } = upstream;
      if (record === undefined || this.entry?.knows(backend.name, record.sessionId) === false)
        upstream.close(NO_METADATA);
    }
  }

  /**
   * Ends the session except for its upstream sessions.
   * @param isNow whether all its requests end in this turn of the event loop; otherwise some may end in later turns.
   * @returns the upstream sessions, to be closed; none on a second call.
   */
  release(isNow = false): readonly UpstreamSession[] {
    if (this.isEnded) return [];
    this.isEnded = true;
    this.onEnd?.();
    this.inFlight.endAll(isNow ? undefined : this.identity.subject);
    this.#unsolicited?.end();
    this.#streamKeeper?.end();
    this.#backendRequests?.clear();
    const upstreams = this.upstreams.release();
    this.#memory.dropAll();
    return upstreams;
  }
}
