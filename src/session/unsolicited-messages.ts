// Receives the messages that backends send unasked, while the client's session stream is open or about to be: on one stream for each backend
// that may send any. In a lease (modern/leases.ts) no client has a session stream: only requests that backends send during a call are
// received, and list changes if clients listen. Cold path.
import { capability, LIST_CHANGES, readBackendMessage, type BackendMessage } from '../mcp/index.js';
import {
  type RefusedSubscriptions,
  type MessageBudget,
  BackendStream,
  type BackendStreamPlan,
  ModernListening,
  type ModernListeningPlan,
  type UpstreamSession,
} from '../upstream/index.js';
import type { Deadline, DeadlineWheel } from '../fair/index.js';
import { adaptedForClient } from './backend-notifications.js';
import { visitAll, SessionStream, type StreamAdapter } from '../streams/index.js';
import { type Exchange, type ExchangeRequest, metadataFor } from '../exchange/index.js';
import { sendOwnRequest } from './own-requests.js';
import type { Session } from './session.js';
import { type UpstreamCall, type UpstreamHandler, type RequestMetadata } from '../http-client/index.js';
import { filterJson, listChanges, untaggedNotification } from '../messages/index.js';
import { Backoff, getOrMake, limits } from '../shared/index.js';

/** Time after which an open upstream session counts as steady: after its loss, the delays before reopening begin anew. */
const STEADY_SESSION_MS = 30_000;
/** How long a lost upstream session fails to reopen before the client learns that the backend's items are gone from the lists. */
const GONE_AFTER_MS = 30_000;

/**
 * Time that backends' streams stay open while their client is gone, or has not come yet. After that, they are closed; requests sent on them
 * are answered with an error.
 */
export const BACKEND_STREAMS_LINGER_MS = 10_000;

export const LIST_CHANGED_METHODS: ReadonlySet<string> = new Set(listChanges.map(({ method }) => method));

const UNASKED = capability.logging | LIST_CHANGES | capability.resourcesSubscribe | capability.tasks;

// Listens to one backend. A backend with sessions has one stream for everything that it sends unasked; a backend without sessions gets a
// filter with the wanted notifications. An upstream session that was lost, or could not be opened, is reopened here, because a client that
// only listens sends no request that would reopen it.

class BackendListener implements BackendStreamPlan, ModernListeningPlan {
  /** The stream; `undefined` until the upstream session is open. */
  stream: BackendStream | ModernListening | undefined;
  metadata: RequestMetadata;
  readonly deadlines: DeadlineWheel;
  readonly memory: MessageBudget;
  readonly #owner: UnsolicitedMessages;
  readonly #upstream: UpstreamSession;
  #record: UpstreamSession['record'];
  #backoff: Backoff | undefined;
  #openedAtMs = 0;
  #lostAtMs = 0;
  #delay: Deadline | undefined;
  /** Whether the upstream session was lost and is being reopened for the client that listens. */
  #isReopening = false;

  constructor(owner: UnsolicitedMessages, upstream: UpstreamSession, metadata: RequestMetadata) {
    this.deadlines = owner.deadlines;
    this.memory = owner.memory;
    this.#owner = owner;
    this.#upstream = upstream;
    this.metadata = metadata;
  }

  get #isModern(): boolean {
    return this.#record?.era === 'modern';
  }

  listen(): void {
    this.#stopReopening();
    this.#openedAtMs = this.deadlines.nowMs();
    this.#record = this.#upstream.record;
    this.stream = this.#isModern ? new ModernListening(this) : new BackendStream(this);
    for (const text of this.#upstream.takeEarlyNotifications()) {
      const bytes = Buffer.from(text);
      const message = readBackendMessage(bytes);
      if (message !== undefined) this.onMessage(bytes, message);
    }
  }

  close(): void {
    this.#stopReopening();
    this.stream?.close();
    this.stream = undefined;
    this.onOutcome();
  }

  /** Closes the stream once no call waits for an answer on it; until then, a stream of this process's successor may replace it. */
  leave(): void {
    const { strayAnswers } = this.#upstream;
    if (!(this.stream instanceof BackendStream) || strayAnswers?.isAwaited !== true) return this.close();
    this.stream.isClosedAtEnd = true;
    strayAnswers.onNoneAwaited = () => this.close();
  }

  reopen(): void {
    this.#lostAtMs = this.deadlines.nowMs();
    if (this.#lostAtMs - this.#openedAtMs >= STEADY_SESSION_MS) this.#backoff = undefined;
    this.#reopenLater();
  }

  #reopenLater(): void {
    this.#isReopening = true;
    this.#delay?.cancel();
    this.#backoff ??= new Backoff(limits.retryDelayMsMin, limits.retryDelayMsMax);
    this.#delay = this.deadlines.after(this.#backoff.nextDelayMs(), () => this.#open());
  }

  #open(): void {
    this.#upstream.whenOpen(this.metadata, (fault) => {
      if (!this.#isReopening) return;
      if (fault === undefined) this.#stopReopening();
      else if (this.#upstream.state !== 'closed') {
        if (this.deadlines.nowMs() - this.#lostAtMs >= GONE_AFTER_MS) this.#owner.onGone(this.#upstream);
        this.#reopenLater();
      }
    });
  }

  #stopReopening(): void {
    this.#delay?.cancel();
    this.#isReopening = false;
  }

  get isLeaving(): boolean {
    return this.stream instanceof BackendStream && this.stream.isClosedAtEnd;
  }

  filter(): string {
    return this.#owner.filterFor(this.#upstream);
  }

  /** Opens the stream. @param lastEventIdOrFilter the id of the last event; for a backend without sessions, the filter. */
  requestStream(lastEventIdOrFilter: string, handler: UpstreamHandler): UpstreamCall {
    return this.#upstream.listen(lastEventIdOrFilter, this.metadata, handler);
  }

  tryFollowRedirect(status: number, location: string): boolean {
    return this.#upstream.tryFollowRedirect(status, location);
  }

  onRequesting(): void {
    this.#upstream.delayRequests();
  }

  onOutcome(isStream = false): void {
    this.#upstream.releaseRequests();
    this.#upstream.setStrayAnswerMemory(isStream ? this.memory : undefined);
  }

  onAnswer(bytes: Buffer, message: BackendMessage): void {
    if (this.#upstream.strayAnswers?.take(bytes, message) === false) this.#owner.onStrayAnswer(this.#upstream, bytes);
  }

  onCut(): void {
    this.#upstream.strayAnswers?.onCut();
  }

  onLost(): void {
    this.#upstream.markLost(this.#record);
  }

  /** Called when the session may be lost. A backend that gave no session id has no session to lose: it merely has no such stream. */
  onUnclearStatus(): void {
    if (this.#record?.sessionId !== '') this.#owner.probe(this.#upstream, this.metadata);
  }

  onMessage(bytes: Buffer, message: BackendMessage): void {
    if (!this.#isModern) return this.#owner.onMessage(this.#upstream, this.metadata, bytes, message);
    const isAskedFor = LIST_CHANGED_METHODS.has(message.method) || message.method === 'notifications/resources/updated';
    const untagged = isAskedFor ? untaggedNotification(bytes, message) : undefined;
    const read = untagged && readBackendMessage(untagged);
    if (read === undefined || untagged === undefined) this.#upstream.noteListChange(message.method);
    else this.#owner.onMessage(this.#upstream, this.metadata, untagged, read);
  }
}

export class UnsolicitedMessages {
  readonly stream: SessionStream;
  readonly #session: Session;
  readonly memory: MessageBudget;
  readonly deadlines: DeadlineWheel;
  /** The listeners, created for the first backend that may send something unasked, or cannot be opened. */
  #listeners: Map<UpstreamSession, BackendListener> | undefined;
  readonly #isLease: boolean;
  /** The deadline at which the backends' streams are closed. It runs while the client has no connection but may come back. */
  #lingerDeadline: Deadline | undefined;
  #isOver = false;

  constructor(session: Session, memory: MessageBudget, adapter?: StreamAdapter) {
    this.#session = session;
    this.deadlines = session.context.deadlines;
    this.#isLease = session.identity.era === 'modern';
    this.memory = memory;
    const onClosed = (): void => {
      this.#linger();
      // A client that was listening gets its full idle timeout from now on, as after a call.
      if (!session.isEnded) session.idleDeadline?.restart();
    };
    this.stream = new SessionStream(session, this.deadlines, onClosed, adapter);
  }

  /**
   * Called when the client is about to open its stream. Backends are listened to from now on, because the first call may come before the
   * GET and make a backend send a request.
   */
  expect(request: ExchangeRequest, forMs: number = BACKEND_STREAMS_LINGER_MS): void {
    if (this.#isOver || this.stream.isHeard) return;
    this.stream.expect(forMs);
    this.#listenToAll(request);
    this.#linger(forMs);
  }

  /** Serves the client's GET. @param position,first as for `SessionStream.open`. */
  open(exchange: Exchange, position?: number, first?: Buffer): void {
    if (exchange.isAborted) return exchange.reset();
    this.#lingerDeadline?.cancel();
    this.stream.open(exchange, position, first);
    if (!this.stream.isOpen) return;
    this.#session.upstreams.listChangeReporter.reportOn(this.stream);
    this.#listenToAll(exchange.request);
  }

  listenToOpen(request: ExchangeRequest): void {
    for (const upstream of this.#session.upstreams.allOpen())
      this.onOpened(upstream, metadataFor(upstream.backend, request));
  }

  /** Called when the session has applied another config: backends that are new in it are listened to, too. */
  onReconfigured(request: ExchangeRequest): void {
    if (this.stream.isOpen) this.#listenToAll(request);
  }

  #listenToAll(request: ExchangeRequest): void {
    const { virtualHost, identity } = this.#session;
    if (virtualHost === undefined) return;
    visitAll(identity.subject, virtualHost.backends.values(), {
      visit: (backend) => {
        if (this.#isOver || !this.#session.hasConfig(virtualHost)) return;
        const metadata = metadataFor(backend, request);
        const upstream = this.#session.upstreams.of(backend);
        if (upstream.state === 'open') this.onOpened(upstream, metadata);
        else
          upstream.whenOpen(metadata, (fault) => {
            if (fault !== undefined) this.#reopen(upstream, metadata);
          });
      },
      onNoRoom: () => undefined,
    });
  }

  onOpened(upstream: UpstreamSession, metadata: RequestMetadata): void {
    if (this.#isOver || !(this.#isLease ? this.#isHeardInLease(upstream) : this.stream.isOpenOrExpected)) return;
    const listener = this.#listeners?.get(upstream);
    // A stream that is not over stays, and reconnects with the credentials of the new request. One that is leaving, or over, is replaced.
    if (listener?.stream?.isOver === false) {
      listener.metadata = metadata;
      if (!listener.isLeaving) return;
      listener.close();
    }
    const maySendUnasked = this.#maySendUnasked(upstream);
    // A backend that declares nothing may still ping its session, and end the session without an answer.
    if (!maySendUnasked && (upstream.isModern || upstream.record?.sessionId === '')) return;
    // Calls wait as if the upstream session were still being opened, until the stream below is open.
    if (maySendUnasked) upstream.delayRequests();
    this.#listenerOf(upstream, metadata).listen();
  }

  /** Whether a lease listens to the backend: not if it is without sessions, since it then asks only in responses to calls. */
  #isHeardInLease(upstream: UpstreamSession): boolean {
    return upstream.needsDelete && (this.#session.acceptsRequests || this.#session.listeningStreams !== undefined);
  }

  #listenerOf(upstream: UpstreamSession, metadata: RequestMetadata): BackendListener {
    this.#listeners ??= new Map();
    const listener = getOrMake(this.#listeners, upstream, () => new BackendListener(this, upstream, metadata));
    listener.metadata = metadata;
    return listener;
  }

  /** Called, perhaps more than once, when a lost upstream session could not be reopened for so long that the backend counts as gone. */
  onGone(upstream: UpstreamSession): void {
    this.#session.upstreams.listChangeReporter.onGone(upstream, true);
  }

  onStrayAnswer(upstream: UpstreamSession, answer: Buffer): void {
    this.#session.forwardStrayAnswer(upstream, answer);
  }

  probe(upstream: UpstreamSession, metadata: RequestMetadata): void {
    if (upstream.state === 'open') sendOwnRequest(upstream, 'ping', '', metadata);
  }

  /** The notifications that a backend without sessions is to send: a filter as JSON; `''` for none. */
  filterFor(upstream: UpstreamSession): string {
    const wanted = this.#session.wantedChanges;
    const changes = listChanges.filter(({ bit }) => (wanted & bit) !== 0 && upstream.declares(bit));
    const isSubscribable = upstream.declares(capability.resourcesSubscribe);
    const uris = isSubscribable ? (this.#session.subscriptionsIfAny?.of(upstream.backend.name) ?? []) : [];
    return changes.length === 0 && uris.length === 0 ? '' : filterJson({ changes, uris });
  }

  /** Sends backends without sessions a new filter, with the URIs of the current subscriptions. */
  onSubscriptionsChanged(): void {
    for (const { stream } of this.#listeners?.values() ?? []) if (stream instanceof ModernListening) stream.renew();
  }

  /** The wanted notifications that a backend without sessions has said it will not send. */
  refusedBy(upstream: UpstreamSession): RefusedSubscriptions | undefined {
    const stream = this.#listeners?.get(upstream)?.stream;
    return stream instanceof ModernListening ? stream.refusedSubscriptions : undefined;
  }

  /** Called when the backend has accepted a subscription. A backend that declares no subscriptions may not have been listened to before. */
  onSubscribed(upstream: UpstreamSession, metadata: RequestMetadata): void {
    if (upstream.state === 'open' && this.#listeners?.get(upstream)?.stream === undefined)
      this.onOpened(upstream, metadata);
  }

  /** Whether the backend may send anything unasked that the client would get. */
  #maySendUnasked(upstream: UpstreamSession): boolean {
    const { acceptsRequests, subscriptionsIfAny } = this.#session;
    return (
      upstream.declares(UNASKED) || acceptsRequests || (subscriptionsIfAny?.of(upstream.backend.name) ?? []).length > 0
    );
  }

  /** Called when another process has opened the upstream session anew: the backend is listened to in the new session. */
  onReplaced(upstream: UpstreamSession, replace: () => void): void {
    const listener = this.#listeners?.get(upstream);
    const isListening = listener?.stream !== undefined;
    replace();
    if (isListening) this.onOpened(upstream, listener.metadata);
  }

  onDropped(upstream: UpstreamSession): void {
    const listener = this.#listeners?.get(upstream);
    const isClosed = upstream.state === 'closed';
    if (listener === undefined || (listener.stream === undefined && !isClosed)) return;
    const isOffered = listener.stream?.isOffered;
    listener.close();
    if (isClosed) this.#listeners?.delete(upstream);
    else if (isOffered === true) this.#reopen(upstream, listener.metadata);
  }

  #reopen(upstream: UpstreamSession, metadata: RequestMetadata): void {
    const isPossible = upstream.state !== 'closed' && upstream.backend.obstacle === undefined;
    if (isPossible && this.stream.isOpenOrExpected && !this.#isOver) this.#listenerOf(upstream, metadata).reopen();
  }

  /** Ends the client's stream. @param isForGood false if it may be opened again. @param isNow whether no call's answer is awaited. */
  end(isForGood = true, isNow = false): void {
    this.#isOver ||= isForGood;
    this.#lingerDeadline?.cancel();
    if (isNow) this.#closeAll();
    else for (const listener of this.#listeners?.values() ?? []) listener.leave();
    this.stream.end();
  }

  /** Listens to backends a little while longer, although the client has no stream. */
  #linger(forMs: number = BACKEND_STREAMS_LINGER_MS): void {
    this.#lingerDeadline?.cancel();
    if (this.#isOver) return;
    this.#lingerDeadline = this.deadlines.after(forMs, () => {
      const isAwaited = [...(this.#listeners?.keys() ?? [])].some(({ strayAnswers }) => strayAnswers?.isAwaited);
      if (isAwaited) this.#linger(forMs);
      else if (!this.stream.isOpen) this.#closeAll();
    });
  }

  #closeAll(): void {
    for (const listener of this.#listeners?.values() ?? []) listener.close();
    this.#listeners = undefined;
  }

  onMessage(upstream: UpstreamSession, metadata: RequestMetadata, bytes: Buffer, message: BackendMessage): void {
    const { backendRequests } = this.#session;
    upstream.noteListChange(message.method);
    if (message.kind === 'request') {
      const askable = this.#isLease ? this.#session.inFlight.soleAskingStream(upstream) : undefined;
      backendRequests.ask(askable ?? this.stream, upstream, metadata, bytes, message);
    } else if (message.method === 'notifications/cancelled') backendRequests.withdraw(upstream, bytes, message);
    else if (LIST_CHANGED_METHODS.has(message.method)) this.stream.reportListChange(message.method, bytes);
    else if (
      message.method !== 'notifications/progress' ||
      !this.#session.inFlight.takeProgress(upstream, bytes, message)
    ) {
      // Progress that comes after its call's answer goes on this stream, but not in a lease: its token there is the gateway's, not the
      // client's.
      const parts = adaptedForClient(this.#session, upstream, bytes, message, !this.#isLease);
      if (parts !== undefined) this.stream.sendToClient(parts);
    }
  }
}
