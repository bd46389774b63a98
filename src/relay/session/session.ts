// A downstream session: who it belongs to, its upstream sessions, and the calls in flight. What it holds beyond its record
// (session-directory/session-record.ts) can be lost without harm.
import { ANY_TASKS, LIST_CHANGES } from '../../protocol/capabilities.js';
import type { Account } from '../../shared/accounts.js';
import type { Deadline } from '../../shared/deadline-wheel.js';
import { limits } from '../../shared/limits.js';
import { canResume } from '../../protocol/protocol-versions.js';
import type { ShareBound } from '../../shared/share.js';
import type { CompiledBackend, CompiledVirtualHost } from '../../user-config/compiled-config.js';
import { isOlder } from '../../user-config/config-order.js';
import type { SessionRecord, UpstreamRecord } from '../../session-directory/session-record.js';
import { allowListHashes } from './allow-list-hash.js';
import { BackendRequests } from '../asking/backend-requests.js';
import type { DirectoryEntry } from './directory-entry.js';
import { recheckRecorded } from './recorded-subscriptions.js';
import { mergeUpstreams, restoreUpstreams } from './recorded-upstreams.js';
import { OWN_INTRODUCTION } from '../../upstream/session/client-introduction.js';
import type { Exchange, ExchangeRequest } from '../exchange/exchange.js';
import { isTold, sendLogLevel } from './log-level.js';
import { metadataFor } from '../exchange/passthrough.js';
import { ReadingsUnderWay } from '../in-flight/readings-under-way.js';
import type { RequestInFlight } from '../in-flight/request-in-flight.js';
import { RequestsInFlight } from '../in-flight/requests-in-flight.js';
import type { SessionIdentity, SessionMeans } from './session-plan.js';
import { SessionMemory } from './session-memory.js';
import { StreamKeeper, type EventId } from '../stream/stream-keeper.js';
import { Subscriptions } from './subscriptions.js';
import type { TaskForm } from '../message/task-ids.js';
import type { Unhonoured } from '../../protocol/listen-acknowledgement.js';
import { Unasked } from './unasked.js';
import type { UpstreamContext } from '../../upstream/upstream-context.js';
import type { UpstreamSession } from '../../upstream/session/upstream-session.js';
import { SessionUpstreams } from './session-upstreams.js';
import { NO_METADATA, type RequestMetadata } from '../../upstream/http/request-metadata.js';

export class Session {
  readonly identity: SessionIdentity;
  /** The subject's. */
  readonly account: Account;
  readonly #memory: SessionMemory;
  readonly #context: UpstreamContext;
  /** Made for the first large message. */
  #readings: ReadingsUnderWay | undefined;
  /** Made for the first of them. */
  #subscriptions: Subscriptions | undefined;
  /** Made for the first stream that can be gone on with. */
  #streamKeeper: StreamKeeper | undefined;
  readonly #means: SessionMeans;
  /** Made for the client's first GET, or when that is expected. */
  #unasked: Unasked | undefined;
  /** Made for the first request of a backend's. */
  #backendRequests: BackendRequests | undefined;
  readonly upstreams: SessionUpstreams;
  /** What is in flight in it. What begins must come to `finish`. */
  readonly inFlight: RequestsInFlight;
  #logLevel: Buffer | undefined;
  /** For `Sessions`: what other processes know of it; `undefined` without a directory. */
  entry: DirectoryEntry | undefined = undefined;
  /** For `Sessions`: since its entry was last renewed. */
  isUsed = true;
  isQuiet = false;
  isStale = false;
  /** Changes of lists that its client wants to hear of, as bits of `capability`: all, unless it says which. */
  wantedChanges: number = LIST_CHANGES;
  /** Whether another process goes on with it. */
  isRetired = false;
  /** For operators, on the wheel's clock; not to the millisecond. */
  readonly beganAtMs: number;
  usedAtMs: number;
  /** Called once, when it ends here. */
  onEnd: (() => void) | undefined = undefined;
  /** For `Sessions`: until it has idled for too long. */
  idleDeadline: Deadline | undefined = undefined;
  #isInitialized = false;
  #isEnded = false;
  #isRestoring = false;

  constructor(context: UpstreamContext, identity: SessionIdentity, account: Account, means: SessionMeans) {
    this.#context = context;
    this.identity = identity;
    this.account = account;
    this.#memory = new SessionMemory(account, identity.introduction);
    this.upstreams = new SessionUpstreams(context, identity, this.#memory, {
      onOpened: (upstream, metadata) => this.#onUpstreamOpened(upstream, metadata),
      onDropped: (upstream) => this.#onUpstreamDropped(upstream),
      onProgress: (...progress) => this.inFlight.hearProgress(...progress),
    });
    this.beganAtMs = this.usedAtMs = context.nowMs();
    this.#means = means;
    this.inFlight = new RequestsInFlight(account, means.slow);
  }

  #onUpstreamDropped(upstream: UpstreamSession): void {
    this.#unasked?.onDropped(upstream);
    this.#onChanged();
  }

  /** What the backend forgot, or never heard, it is told again. */
  #onUpstreamOpened(upstream: UpstreamSession, metadata: RequestMetadata): void {
    this.#unasked?.onOpened(upstream, metadata);
    this.#subscriptions?.replay(this.#context, upstream, metadata);
    this.#onChanged();
    if (this.#logLevel === undefined || !isTold(upstream)) return;
    sendLogLevel(this.#context, upstream, this.#logLevel, metadata, () => undefined);
  }

  /** A cancellation of what is not in flight here. */
  passBack(request: ExchangeRequest): void {
    // What is larger is in memory that is used again.
    if (request.body.length < limits.countedFromBytes) this.#means.passBack?.(this.identity, request);
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Whether something is under way in it: a request, or the opening of an upstream session. */
  get isBusy(): boolean {
    if (!this.inFlight.isEmpty || this.#readings?.isEmpty === false) return true;
    if (this.#unasked?.stream.isOpen === true || this.#backendRequests?.isEmpty === false) return true;
    return this.upstreams.isAnyOpening;
  }

  /** The params of the client's last `logging/setLevel`, as JSON. */
  get logLevel(): Buffer | undefined {
    return this.#logLevel;
  }

  set logLevel(params: Buffer | undefined) {
    this.#logLevel = params;
    this.#onChanged();
  }

  /** Large messages that are not read yet. */
  get readings(): ReadingsUnderWay {
    return (this.#readings ??= new ReadingsUnderWay());
  }

  get subscriptions(): Subscriptions {
    return (this.#subscriptions ??= new Subscriptions(this.#memory, () => {
      this.#unasked?.onSubscriptionsChanged();
      this.#onChanged();
    }));
  }

  /** The same; `undefined` as long as there was none. */
  get madeSubscriptions(): Subscriptions | undefined {
    return this.#subscriptions;
  }

  /** The backend has taken it. @param before the backend as it was when it was asked. */
  onSubscribed(upstream: UpstreamSession, before: CompiledBackend, uri: string, metadata: RequestMetadata): void {
    this.subscriptions.add(before.name, uri);
    this.subscriptions.onReconfigured(this.#context, upstream, before, metadata);
    this.#unasked?.onSubscribed(upstream, metadata);
  }

  /** What of that which it wants to hear the backend does not tell of, as far as it has said. */
  unhonouredBy(upstream: UpstreamSession): Unhonoured | undefined {
    return this.#unasked?.unhonouredBy(upstream);
  }

  /** What backends have asked of the client. */
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
      // Those of which another process may know.
      openUpstreams: () => (this.entry === undefined ? [] : this.upstreams.allOpen()),
    }));
  }

  /** How ids of tasks are written that a backend has; `undefined` for one without tasks. Hot. */
  taskForm(upstream: UpstreamSession): TaskForm | undefined {
    return upstream.declares(ANY_TASKS) ? this.backendRequests.taskForm(upstream) : undefined;
  }

  /** That of the config last obeyed. */
  get virtualHost(): CompiledVirtualHost | undefined {
    return this.upstreams.virtualHost;
  }

  /** Another process goes on with it from now on, and hears what its client answers: nothing that waits for that here goes on. */
  retire(): void {
    this.isRetired = true;
    this.inFlight.retire();
  }

  /** Whether this caller may use the session here. Others are answered as if there were no such session (X02, X03). */
  belongsTo(subject: string, virtualHostId: string): boolean {
    return this.identity.subject === subject && this.identity.virtualHostId === virtualHostId;
  }

  /** Something has changed that is in the record. */
  #onChanged(): void {
    // What is restored need not be written, least of all half of it.
    if (!this.#isRestoring) this.entry?.onChanged();
  }

  /** As it is now: what another process needs to go on with it. */
  record(listeners: readonly string[] | undefined): SessionRecord {
    const subscriptions = this.#subscriptions?.recorded() ?? {};
    return {
      protocolVersion: this.identity.protocolVersion,
      ...this.identity.introduction,
      subscriptions,
      logLevel: this.#logLevel,
      upstreams: this.upstreams.recorded(),
      allowLists: allowListHashes(this.virtualHost?.backends, Object.keys(subscriptions)),
      askingSecret: this.offersAnything ? this.backendRequests.secret : undefined,
      listeners,
    };
  }

  /**
   * Goes on with what another process has begun.
   * @param virtualHost as the config is now: what it has not, or elsewhere, is closed there.
   */
  restore(
    { logLevel, upstreams, subscriptions, allowLists, askingSecret = '' }: SessionRecord,
    virtualHost: CompiledVirtualHost,
  ): void {
    this.#logLevel = logLevel;
    if (this.offersAnything) this.backendRequests.secret = askingSecret;
    this.#isRestoring = true;
    const isThere = restoreUpstreams(this.#context, this, upstreams, virtualHost);
    const there = Object.entries(subscriptions).filter(([name]) => isThere(name));
    if (there.length > 0) this.subscriptions.merge(Object.fromEntries(there), false);
    recheckRecorded(this.#context, this, Object.fromEntries(there), allowLists, virtualHost);
    this.#isRestoring = false;
  }

  /** For `DirectoryEntry`. */
  merge(
    { logLevel, upstreams, subscriptions, allowLists }: SessionRecord,
    base: readonly UpstreamRecord[],
    isChanged: boolean,
  ): void {
    if (!isChanged) this.#logLevel = logLevel;
    mergeUpstreams(this.#context, this, upstreams, base, (upstream, restore) => {
      if (this.#unasked === undefined) restore();
      else this.#unasked.onReplaced(upstream, restore);
    });
    this.subscriptions.merge(subscriptions, !isChanged);
    recheckRecorded(this.#context, this, subscriptions, allowLists, this.virtualHost);
  }

  /**
   * Obeys the config as it is now (decisions 2.3): what was removed or has moved is closed; what is new is opened when
   * first needed. Hot: one comparison unless the config changed.
   * @returns the config to serve the request by: a newer one, where another request has brought that already.
   */
  applyConfig(virtualHost: CompiledVirtualHost, request: ExchangeRequest): CompiledVirtualHost {
    const current = this.upstreams.virtualHost;
    if (current === virtualHost) return virtualHost;
    if (current !== undefined && isOlder(virtualHost, current)) return current;
    for (const { upstream, before } of this.upstreams.apply(virtualHost)) {
      const metadata = metadataFor(upstream.backend, request);
      if (before !== undefined) {
        this.#subscriptions?.onReconfigured(this.#context, upstream, before, metadata);
      } else {
        this.#subscriptions?.forget(upstream.backend.name);
        upstream.close(metadata);
      }
    }
    this.#unasked?.onReconfigured(request);
    return virtualHost;
  }

  /** Whether it lives, and this is still the config that it obeyed last: for what takes several turns of the event loop. */
  hasConfig(virtualHost: CompiledVirtualHost): boolean {
    return !this.#isEnded && this.upstreams.virtualHost === virtualHost;
  }

  /** The upstream session with a backend of the config last obeyed; made on first use, not yet opened. Hot. */
  upstream(backend: CompiledBackend): UpstreamSession {
    return this.upstreams.of(backend);
  }

  /** Of the streams that the client can go on with; `undefined` when it speaks a version that knows none (S42). */
  get streamKeeper(): StreamKeeper | undefined {
    if (this.#streamKeeper !== undefined) return this.#streamKeeper;
    // Who has not introduced itself never learns the id of the session, nor does anybody of a lease's.
    const { protocolVersion, introduction, era } = this.identity;
    if (introduction === OWN_INTRODUCTION || era === 'modern' || !canResume(protocolVersion)) return undefined;
    return (this.#streamKeeper = new StreamKeeper(this.account, this.#context.deadlines, this.#means.answers));
  }

  /**
   * The client's GET.
   * @param id of the last event that it got; `undefined` when it did not say.
   * @returns which bound has no room for its stream, if so.
   */
  tryOpenStream(exchange: Exchange, id: EventId | undefined): ShareBound | undefined {
    const bound =
      this.#unasked === undefined ? this.account.sessionBytes.boundAgainst(limits.sessionStreamBytesEach) : undefined;
    // Of the stream that the session had in another process nothing is kept: it goes on from now.
    const isOwn = id !== undefined && id.stream === this.#streamKeeper?.sessionStreamNumber;
    if (bound === undefined) this.#makeUnasked().open(exchange, isOwn ? id.position : undefined);
    return bound;
  }

  /** Whether the client is ready, as it has said or shown: here, or for all that is known to another process. */
  get isReady(): boolean {
    return this.#isInitialized || this.entry?.wasShared === true;
  }

  /** The client is ready: it has said so, or asks for something already, as clients do whose word was lost. */
  onReady(): void {
    if (this.#isInitialized) return;
    this.#isInitialized = true;
    this.#unasked?.stream.onReady();
  }

  /** The client has said that it is ready. One that can be asked is about to open its stream. */
  onInitialized(request: ExchangeRequest): void {
    this.onReady();
    if (this.#unasked === undefined && this.hearQuestions()) this.#makeUnasked().expect(request);
  }

  /** What backends ask on streams of their own is heard from now on. @returns whether the client can be asked, and there is room. */
  hearQuestions(): boolean {
    const hasRoom = this.account.sessionBytes.boundAgainst(limits.sessionStreamBytesEach) === undefined;
    if (hasRoom && this.offersAnything) this.#makeUnasked();
    return this.#unasked !== undefined;
  }

  /** Whether the client can be asked for anything at all. */
  get offersAnything(): boolean {
    return this.identity.introduction.capabilities.length > '{}'.length && this.backendRequests.offersAnything;
  }

  #makeUnasked(): Unasked {
    if (this.#unasked !== undefined) return this.#unasked;
    this.#memory.keep(limits.sessionStreamBytesEach);
    return (this.#unasked = new Unasked(this.#context, this, this.#memory));
  }

  /** Streams that nothing else would end are: the process is about to end, or, not `isForGood`, the client may open another. */
  endStream(isForGood = true): void {
    this.#unasked?.end(isForGood);
  }

  /** A request is being worked on: it keeps the session from idling out, and the session's end ends it. */
  begin(work: RequestInFlight): void {
    this.inFlight.begin(work);
  }

  finish(work: RequestInFlight): void {
    // The client has its answer still to read, and perhaps to come for again.
    if (this.inFlight.finish(work) && !this.#isEnded) this.idleDeadline?.restart();
  }

  /** Whether the backend has asked the client on a stream of its own and waits for an answer. Hot. */
  isAskedUnasked(upstream: UpstreamSession): boolean {
    if (this.#unasked === undefined || this.#backendRequests === undefined) return false;
    return this.#backendRequests.isAsking(this.#unasked.stream, upstream);
  }

  /**
   * Ends what is in flight and every upstream session.
   * @param request the DELETE that asked for it, `undefined` when the gateway ends it by itself.
   */
  end(request: ExchangeRequest | undefined): void {
    for (const upstream of this.release())
      upstream.close(request === undefined ? NO_METADATA : metadataFor(upstream.backend, request));
  }

  /** Ends what is in flight here; the upstream sessions of which others know may go on elsewhere. */
  abandon(): void {
    for (const upstream of this.release()) {
      const { record, backend } = upstream;
      if (record === undefined || this.entry?.knows(backend.name, record.sessionId) === false)
        upstream.close(NO_METADATA);
    }
  }

  /**
   * Ends the session, `isNow` with all its requests in this turn, but for its upstream sessions.
   * @returns these, to be closed; the first time only.
   */
  release(isNow = false): readonly UpstreamSession[] {
    if (this.#isEnded) return [];
    this.#isEnded = true;
    this.onEnd?.();
    this.inFlight.endAll(isNow ? undefined : this.identity.subject);
    this.#unasked?.end();
    this.#streamKeeper?.end();
    this.#backendRequests?.clear();
    const upstreams = this.upstreams.release();
    this.#memory.dropAll();
    return upstreams;
  }
}
