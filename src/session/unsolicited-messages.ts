// The messages that the backends of one session send unasked, on streams that are open as long as the client's session stream is: one
// for each backend that may send any. A backend that loses its session meanwhile gets a new one. In a lease (modern/leases.ts) no
// client has a session stream: only requests that backends send during a call are heard, and list changes if clients listen. Cold path.
import { capability, LIST_CHANGES, readBackendMessage, type BackendMessage } from '../mcp/index.js';
import {
  type RefusedSubscriptions,
  type SessionShare,
  BackendStream,
  type BackendStreamPlan,
  ModernListening,
  type ModernListeningPlan,
  type UpstreamContext,
  type UpstreamSession,
} from '../upstream/index.js';
import type { Deadline, DeadlineWheel } from '../fair/index.js';
import { clientsNotification } from './backend-notifications.js';
import { type AskingStream, visitBackends, SessionStream, type StreamAdapter } from '../streams/index.js';
import { type Exchange, type ExchangeRequest, metadataFor } from '../exchange/index.js';
import { probeSession } from './own-requests.js';
import type { Session } from './session.js';
import { type UpstreamCall, type UpstreamHandler, type RequestMetadata } from '../http-client/index.js';
import { filterJson, listChanges, untaggedNotification } from '../messages/index.js';
import { Backoff, limits } from '../shared/index.js';

/** An upstream session that was open for so long is steady: when it is lost, the delays before reopening begin anew. */
const STEADY_MS = 30_000;
/** Time for which a lost upstream session cannot be reopened before the client is told that the backend's lists are gone. */
const GONE_AFTER_MS = 30_000;

/**
 * Time that backends' streams stay open while their client is gone, or has not come yet. After that, they are closed; requests sent on them
 * are answered with an error.
 */
export const BACKEND_STREAMS_LINGER_MS = 10_000;

export const LIST_CHANGED_METHODS: ReadonlySet<string> = new Set([
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
]);

const UNASKED = capability.logging | LIST_CHANGES | capability.resourcesSubscribe | capability.tasks;

// A backend that is listened to: a single object per backend, because there are many. A backend with sessions has one stream for all that
// it sends unasked; a backend without is told which notifications are wanted. An upstream session that was lost, or could not be opened, is
// reopened, because no request would open it while its client only listens. The delay before that grows while sessions do not last.

class HeardBackend implements BackendStreamPlan, ModernListeningPlan {
  /** `undefined` until the upstream session is open. */
  stream: BackendStream | ModernListening | undefined;
  /** The headers for the backend, from the client's latest GET. */
  metadata: RequestMetadata;
  readonly #listener: UnsolicitedMessages;
  readonly #upstream: UpstreamSession;
  #record: UpstreamSession['record'];
  #backoff: Backoff | undefined;
  #openedAtMs = 0;
  #lostAtMs = 0;
  #delay: Deadline | undefined;
  /** From the loss of the upstream session until it is open again, or nobody listens any more. */
  #isReopening = false;

  constructor(listener: UnsolicitedMessages, upstream: UpstreamSession, metadata: RequestMetadata) {
    this.#listener = listener;
    this.#upstream = upstream;
    this.metadata = metadata;
  }

  get deadlines(): DeadlineWheel {
    return this.#listener.deadlines;
  }

  get memory(): SessionShare {
    return this.#listener.memory;
  }

  get #isModern(): boolean {
    return this.#record?.era === 'modern';
  }

  /** The upstream session is open. */
  listen(): void {
    this.#stopReopening();
    this.#openedAtMs = this.deadlines.nowMs();
    this.#record = this.#upstream.record;
    this.stream = this.#isModern ? new ModernListening(this) : new BackendStream(this);
  }

  close(): void {
    this.#stopReopening();
    this.stream?.close();
    this.stream = undefined;
    this.#upstream.releaseRequests();
  }

  /** The upstream session was lost, or could not be opened. */
  reopen(): void {
    this.#lostAtMs = this.deadlines.nowMs();
    if (this.#lostAtMs - this.#openedAtMs >= STEADY_MS) this.#backoff = undefined;
    this.#wait();
  }

  #wait(): void {
    this.#isReopening = true;
    this.#delay?.cancel();
    this.#backoff ??= new Backoff(limits.retryDelayMsMin, limits.retryDelayMsMax);
    this.#delay = this.deadlines.after(this.#backoff.next(), () => this.#open());
  }

  #open(): void {
    this.#upstream.whenOpen(this.metadata, (fault) => {
      if (!this.#isReopening) return;
      if (fault === undefined) this.#stopReopening();
      else if (this.#upstream.state !== 'closed') {
        if (this.deadlines.nowMs() - this.#lostAtMs >= GONE_AFTER_MS) this.#listener.onGone(this.#upstream);
        this.#wait();
      }
    });
  }

  #stopReopening(): void {
    this.#delay?.cancel();
    this.#isReopening = false;
  }

  filter(): string {
    return this.#listener.filterFor(this.#upstream);
  }

  /** @param from the id of the last event, or the filter of a backend without sessions. */
  ask(from: string, handler: UpstreamHandler): UpstreamCall {
    return this.#upstream.listen(from, this.metadata, handler);
  }

  tryFollow(status: number, location: string): boolean {
    return this.#upstream.tryFollow(status, location);
  }

  onAsking(): void {
    this.#upstream.delayRequests();
  }

  onAnswered(): void {
    this.#upstream.releaseRequests();
  }

  onLost(): void {
    this.#upstream.markLost(this.#record);
  }

  /** A backend that gave no session id has no session to lose: it merely has no such stream. */
  onSessionDoubtful(): void {
    if (this.#record?.sessionId !== '') this.#listener.probe(this.#upstream, this.metadata);
  }

  onMessage(bytes: Buffer, message: BackendMessage): void {
    if (!this.#isModern) return this.#listener.onMessage(this.#upstream, this.metadata, bytes, message);
    // No other notifications were asked for.
    const isAskedFor = LIST_CHANGED_METHODS.has(message.method) || message.method === 'notifications/resources/updated';
    const untagged = isAskedFor ? untaggedNotification(bytes, message) : undefined;
    const read = untagged && readBackendMessage(untagged);
    if (read === undefined || untagged === undefined) this.#upstream.noteListChange(message.method);
    else this.#listener.onMessage(this.#upstream, this.metadata, untagged, read);
  }
}

export class UnsolicitedMessages {
  readonly stream: SessionStream;
  readonly #context: UpstreamContext;
  readonly #session: Session;
  readonly memory: SessionShare;
  get deadlines(): DeadlineWheel {
    return this.#context.deadlines;
  }

  /** Made for the first backend that may send something unasked, or cannot be opened. */
  #heard: Map<UpstreamSession, HeardBackend> | undefined;
  readonly #isLease: boolean;
  /** Runs while the client has no connection but may come back; then the backends' streams are closed. */
  #lingering: Deadline | undefined;
  #isOver = false;

  constructor(context: UpstreamContext, session: Session, memory: SessionShare, adapter?: StreamAdapter) {
    this.#context = context;
    this.#session = session;
    this.#isLease = session.identity.era === 'modern';
    this.memory = memory;
    const onClosed = (): void => {
      this.#linger();
      // A client that has been listening now gets its full idle timeout, as after a call.
      if (!session.isEnded) session.idleDeadline?.restart();
    };
    this.stream = new SessionStream(session, context.deadlines, onClosed, adapter);
  }

  /**
   * The client is about to open its stream. Backends are listened to from now on, so that a request which the first call makes one of
   * them send is heard even if the call arrives before the GET.
   */
  expect(request: ExchangeRequest, forMs: number = BACKEND_STREAMS_LINGER_MS): void {
    if (this.#isOver || this.stream.isHeard) return;
    this.stream.expect(forMs);
    this.#listenToAll(request);
    this.#linger(forMs);
  }

  /** The client's GET. @param position,first as for `SessionStream.open`. */
  open(exchange: Exchange, position?: number, first?: Buffer): void {
    if (exchange.isAborted) return exchange.reset();
    this.#lingering?.cancel();
    this.stream.open(exchange, position, first);
    if (!this.stream.isOpen) return;
    this.#session.upstreams.listNews.reportOn(this.stream);
    this.#listenToAll(exchange.request);
  }

  /** For a lease: listens to the backends that it has opened. */
  listenToOpen(request: ExchangeRequest): void {
    for (const upstream of this.#session.upstreams.allOpen())
      this.onOpened(upstream, metadataFor(upstream.backend, request));
  }

  /** The session has applied another config: backends that are new in it are listened to, too. */
  onReconfigured(request: ExchangeRequest): void {
    if (this.stream.isOpen) this.#listenToAll(request);
  }

  #listenToAll(request: ExchangeRequest): void {
    const { virtualHost, identity } = this.#session;
    if (virtualHost === undefined) return;
    visitBackends(identity.subject, virtualHost.backends, {
      visit: (backend) => {
        // The session may have ended since, or have applied another config.
        if (this.#isOver || !this.#session.hasConfig(virtualHost)) return;
        const metadata = metadataFor(backend, request);
        const upstream = this.#session.upstreams.of(backend);
        if (upstream.state === 'open') this.onOpened(upstream, metadata);
        // `onOpened` is called when it is open.
        else
          upstream.whenOpen(metadata, (fault) => {
            if (fault !== undefined) this.#reopen(upstream, metadata);
          });
      },
      onNoRoom: () => undefined,
    });
  }

  /** An upstream session is open. */
  onOpened(upstream: UpstreamSession, metadata: RequestMetadata): void {
    if (this.#isOver || !(this.#isLease ? this.#isHeardInLease(upstream) : this.stream.isOpenOrExpected)) return;
    const known = this.#heard?.get(upstream);
    // A live stream uses the credentials of the new GET from now on; a stream that was refused is tried again with them.
    if (known?.stream?.isOver === false) {
      known.metadata = metadata;
      return;
    }
    const maySpeak = this.#maySpeak(upstream);
    // A backend that declares nothing may still ask whether its session is alive, and end it if nobody answers.
    if (!maySpeak && (upstream.isModern || upstream.record?.sessionId === '')) return;
    // Calls wait as if the upstream session were still being opened; the stream opened below ends the hold.
    if (maySpeak) upstream.delayRequests();
    this.#heardOf(upstream, metadata).listen();
  }

  /** A backend without sessions asks in the response to a call, or not at all, and each listener hears it for itself. */
  #isHeardInLease(upstream: UpstreamSession): boolean {
    return upstream.hasToBeTold && (this.#session.acceptsRequests || this.#session.listeners !== undefined);
  }

  #heardOf(upstream: UpstreamSession, metadata: RequestMetadata): HeardBackend {
    this.#heard ??= new Map();
    let heard = this.#heard.get(upstream);
    if (heard === undefined) this.#heard.set(upstream, (heard = new HeardBackend(this, upstream, metadata)));
    heard.metadata = metadata;
    return heard;
  }

  /** The backend could not be opened for so long that it counts as gone; perhaps called more than once. */
  onGone(upstream: UpstreamSession): void {
    this.#session.upstreams.listNews.onGone(upstream, true);
  }

  probe(upstream: UpstreamSession, metadata: RequestMetadata): void {
    if (upstream.state === 'open') probeSession(this.#context, upstream, metadata);
  }

  /** The notifications that the session wants from a backend without sessions, as JSON; `''` for none. */
  filterFor(upstream: UpstreamSession): string {
    const wanted = this.#session.wantedChanges;
    const changes = listChanges.filter(({ bit }) => (wanted & bit) !== 0 && upstream.declares(bit));
    const isSubscribable = upstream.declares(capability.resourcesSubscribe);
    const uris = isSubscribable ? (this.#session.madeSubscriptions?.of(upstream.backend.name) ?? []) : [];
    return changes.length === 0 && uris.length === 0 ? '' : filterJson({ changes, uris });
  }

  /** Sends backends without sessions a new `subscriptions/listen` with the URIs that are now subscribed to. */
  onSubscriptionsChanged(): void {
    for (const { stream } of this.#heard?.values() ?? []) if (stream instanceof ModernListening) stream.renew();
  }

  /** The part of the wanted notifications that a backend without sessions has said it will not send. */
  unhonouredBy(upstream: UpstreamSession): RefusedSubscriptions | undefined {
    const stream = this.#heard?.get(upstream)?.stream;
    return stream instanceof ModernListening ? stream.unhonoured : undefined;
  }

  /** The backend has accepted a subscription. If it does not declare them, it may not have been listened to before. */
  onSubscribed(upstream: UpstreamSession, metadata: RequestMetadata): void {
    if (upstream.state === 'open' && this.#heard?.get(upstream)?.stream === undefined)
      this.onOpened(upstream, metadata);
  }

  /** Whether the backend may send anything unasked that the client would be sent. */
  #maySpeak(upstream: UpstreamSession): boolean {
    const { acceptsRequests, madeSubscriptions } = this.#session;
    return (
      upstream.declares(UNASKED) || acceptsRequests || (madeSubscriptions?.of(upstream.backend.name) ?? []).length > 0
    );
  }

  /** Another process has opened the upstream session anew: from now on the backend is listened to in the new session. */
  onReplaced(upstream: UpstreamSession, replace: () => void): void {
    const heard = this.#heard?.get(upstream);
    const isHeard = heard?.stream !== undefined;
    replace();
    if (isHeard) this.onOpened(upstream, heard.metadata);
  }

  /** An upstream session is lost or closed. */
  onDropped(upstream: UpstreamSession): void {
    const heard = this.#heard?.get(upstream);
    const isClosed = upstream.state === 'closed';
    if (heard === undefined || (heard.stream === undefined && !isClosed)) return;
    const isOffered = heard.stream?.isOffered;
    heard.close();
    if (isClosed) this.#heard?.delete(upstream);
    else if (isOffered === true) this.#reopen(upstream, heard.metadata);
  }

  #reopen(upstream: UpstreamSession, metadata: RequestMetadata): void {
    const isPossible = upstream.state !== 'closed' && upstream.backend.obstacle === undefined;
    if (isPossible && this.stream.isOpenOrExpected && !this.#isOver) this.#heardOf(upstream, metadata).reopen();
  }

  /** Ends with the session; not `isForGood`, only until the client opens its stream here again. */
  end(isForGood = true): void {
    this.#isOver ||= isForGood;
    this.#lingering?.cancel();
    this.#closeAll();
    this.stream.end();
  }

  /** The client is not listening now: backends are listened to for a little while longer. */
  #linger(forMs: number = BACKEND_STREAMS_LINGER_MS): void {
    this.#lingering?.cancel();
    if (this.#isOver) return;
    this.#lingering = this.#context.deadlines.after(forMs, () => {
      if (!this.stream.isOpen) this.#closeAll();
    });
  }

  #closeAll(): void {
    for (const heard of this.#heard?.values() ?? []) heard.close();
    this.#heard = undefined;
  }

  /** The stream on which the client gets the backend's requests. */
  #streamFor(upstream: UpstreamSession): AskingStream {
    return (this.#isLease ? this.#session.inFlight.soleAskable(upstream) : undefined) ?? this.stream;
  }

  onMessage(upstream: UpstreamSession, metadata: RequestMetadata, bytes: Buffer, message: BackendMessage): void {
    const { backendRequests } = this.#session;
    upstream.noteListChange(message.method);
    if (message.kind === 'request') backendRequests.ask(this.#streamFor(upstream), upstream, metadata, bytes, message);
    else if (message.method === 'notifications/cancelled') backendRequests.withdraw(upstream, bytes, message);
    else if (LIST_CHANGED_METHODS.has(message.method)) this.stream.tellChanged(message.method, bytes);
    else if (
      message.method !== 'notifications/progress' ||
      !this.#session.inFlight.takeProgress(upstream, bytes, message)
    ) {
      // Progress that comes after its call's answer is sent here, but not in a lease: there its token is the gateway's, not the client's.
      const parts = clientsNotification(this.#session, upstream, bytes, message, !this.#isLease);
      if (parts !== undefined) this.stream.tell(parts);
    }
  }
}
