// One MCP session with one backend, on behalf of one downstream session. It opens itself when first needed, tells
// whoever waits, tries again after a failure with a growing delay, and forgets what the backend has forgotten. Whether
// the backend can be reached is known by all sessions together: see `reach/endpoint.ts`.
//
//   state        open asked      handshake done   handshake failed   lost by backend   restored   close
//   idle         opening         -                -                  -                 open       closed
//   opening      (joins)         open             unavailable        -                 -          closed
//   open         (at once)       -                -                  idle              open       closed
//   unavailable  opening, when   -                -                  -                 open       closed
//                the delay is over
//   closed       (refused)       -                -                  -                 -          -
import { createHash } from 'node:crypto';
import type { CompiledBackend } from '../user-config/compiled-config.js';
import { isLimited, mayHaveTasks } from '../user-config/list-rules.js';
import type { Era } from '../protocol/protocol-versions.js';
import { ANY_TASKS, type ExperimentalCapability } from '../protocol/capabilities.js';
import type { BackendMessage } from '../protocol/json-rpc.js';
import { Backoff } from '../shared/backoff.js';
import { limits } from '../shared/limits.js';
import type { ClientIntroduction } from './client-introduction.js';
import { Credentials } from './credentials/credentials.js';
import { Hold } from './hold.js';
import { openInEra } from './era-opening.js';
import { listeningHeaders, sessionHeaders, type Handshake, type HandshakeResult } from './handshake.js';
import { plainRequest, type OutgoingMessage, type UpstreamCall, type UpstreamHandler } from './http-upstream.js';
import type { Endpoint } from './reach/endpoint.js';
import type { UpstreamContext } from './upstream-context.js';
import { isUnauthorized, upstreamFault, type UpstreamFault } from './upstream-fault.js';
import { RpcRequest, type IdSpan, type RequestHandler } from './rpc-request.js';
import { openSse } from './sse/sse-opening.js';
import type { SseStream } from './sse/sse-stream.js';
import { answerMessage, cancelledNotice, NOT_OFFERED, plainOwnRequest, type AnswerError } from './own-messages.js';
import { envelopeOf, modernRequest, withoutTasks } from './modern-request.js';
import { KeptRecord } from './kept-record.js';
import { KnownMirrors } from './known-mirrors.js';
import type { MirroredParam, ToolMirrors } from '../protocol/tool-mirrors.js';
import { RepeatedNotice } from './repeated-notice.js';
import type { UpstreamSessionRecord, WordMemory } from './upstream-session-record.js';
import type { RequestMetadata } from './request-metadata.js';

export type UpstreamSessionState = 'idle' | 'opening' | 'open' | 'unavailable' | 'closed';

const TRANSITIONS: Readonly<Record<UpstreamSessionState, readonly UpstreamSessionState[]>> = {
  idle: ['opening', 'open', 'closed'],
  opening: ['open', 'unavailable', 'closed'],
  open: ['idle', 'closed'],
  unavailable: ['opening', 'open', 'closed'],
  closed: [],
};

/** Called once: with nothing when the session is open, with the fault when it cannot be opened now. */
export type OpenWaiter = (fault: UpstreamFault | undefined) => void;

const NO_ANSWER = upstreamFault('answer-timeout', true);
const NONE: readonly ExperimentalCapability[] = [];
const NO_HEADERS: readonly string[] = [];

export class UpstreamSession {
  /** Called each time it was opened, before those who wait for it. */
  onOpened: ((upstream: UpstreamSession, metadata: RequestMetadata) => void) | undefined = undefined;
  /** Called each time it was lost, or closed. */
  onDropped: ((upstream: UpstreamSession) => void) | undefined = undefined;
  /** Progress on the one stream of a backend of transport SSE, while nobody listens. @returns whether somebody waits for it. */
  onProgress: ((upstream: UpstreamSession, bytes: Buffer, message: BackendMessage) => boolean) | undefined = undefined;
  readonly #context: UpstreamContext;
  /** On whose behalf. */
  readonly subject: string;
  /** The caller's own words of its `initialize` (decisions 2.4). */
  readonly #introduction: ClientIntroduction;
  /** The caller's, in which its backend is asked first. */
  readonly #era: Era;
  readonly #kept: KeptRecord;
  readonly #memory: WordMemory;
  /** Made for the first tool that has some. */
  #mirrors: KnownMirrors | undefined;
  #backend: CompiledBackend;
  readonly #endpoint: Endpoint;
  readonly #credentials: Credentials | undefined;
  #state: UpstreamSessionState = 'idle';
  #headers: readonly string[] = [];
  /** Of a backend of transport SSE: all of the open session is on it. */
  #stream: SseStream | undefined;
  #waiters: OpenWaiter[] = [];
  /** Until the backend's stream is open; `undefined` unless that is being opened. */
  #hold: Hold | undefined;
  #answersUnderWay = 0;
  /** Made when the client first says that its roots have changed. */
  #rootsNotice: RepeatedNotice | undefined;
  /** Made for the first request that needs it. */
  #envelope: Buffer | undefined;
  #handshake: Handshake | undefined;
  #openedAtMs = 0;
  #isOpenedAgain = false;
  #isTrial = false;
  #lastFault: UpstreamFault = upstreamFault('session-ended');
  /** Made for the first failure. */
  #backoff: Backoff | undefined;
  #retryAtMs = 0;

  constructor(
    context: UpstreamContext,
    subject: string,
    backend: CompiledBackend,
    introduction: ClientIntroduction,
    memory: WordMemory,
    era: Era = 'legacy',
  ) {
    this.#context = context;
    this.subject = subject;
    this.#backend = backend;
    this.#endpoint = context.endpoints.of(backend.target);
    this.#credentials = Credentials.of(backend.auth, backend, subject, context.credentials);
    this.#introduction = introduction;
    this.#era = era;
    this.#kept = new KeptRecord(memory);
    this.#memory = memory;
  }

  get backend(): CompiledBackend {
    return this.#backend;
  }

  get state(): UpstreamSessionState {
    return this.#state;
  }

  /** Why it could not be opened last; `undefined` unless it is `unavailable`. */
  get fault(): UpstreamFault | undefined {
    return this.#state === 'unavailable' ? this.#lastFault : undefined;
  }

  /** Whether it is being opened although the backend has answered nobody of late: nobody should wait for it for long. */
  get isTrial(): boolean {
    return this.#isTrial && this.#state === 'opening';
  }

  /** What the backend said of itself; `undefined` unless the session is open. */
  get record(): UpstreamSessionRecord | undefined {
    return this.#kept.record;
  }

  /** What the backend declared when it was last opened, as bits of `capability`; no tasks where callers can have none. */
  get knownCapabilities(): number | undefined {
    const known = this.#kept.capabilities;
    return known === undefined || mayHaveTasks(this.#backend) ? known : known & ~ANY_TASKS;
  }

  /**
   * What else the backend declared when it was last opened. Nothing where the config keeps something of it from callers: nobody
   * knows what a method reaches that is in no list.
   */
  get experimental(): readonly ExperimentalCapability[] {
    const { experimental } = this.#kept;
    return experimental === undefined || isLimited(this.#backend) ? NONE : experimental;
  }

  /** Whether a bit of `capability` is among these. */
  declares(bit: number): boolean {
    return ((this.knownCapabilities ?? 0) & bit) !== 0;
  }

  /** The backend has listed its tools. @param tools those that have parameters with headers. */
  learnMirrors(tools: readonly ToolMirrors[]): void {
    if (tools.length > 0) this.#mirrors ??= new KnownMirrors(this.#memory);
    this.#mirrors?.learn(tools);
  }

  /** @param tool as the backend calls it. @returns its parameters with headers; `undefined` where none are known. */
  mirrorsOf(tool: string): readonly MirroredParam[] | undefined {
    return this.#mirrors?.of(tool);
  }

  /** Whether its backend keeps a session that only a word of ours ends. */
  get hasToBeTold(): boolean {
    return this.record !== undefined && this.record.sessionId !== '';
  }

  /** Whether it is open without a session of the backend's: then each request says of itself what a session knows. Hot. */
  get isModern(): boolean {
    return this.record?.era === 'modern';
  }

  /** What each such request says in its `_meta`: its members. */
  get envelope(): Buffer {
    const introduction = this.#introduction;
    return (this.#envelope ??= envelopeOf(this.#era === 'legacy' ? withoutTasks(introduction) : introduction));
  }

  /**
   * A request of the gateway's own, as the backend wants it.
   * @param id as JSON. @param members of its params, as JSON.
   */
  ownRequest(id: Buffer, method: string, members = ''): OutgoingMessage {
    return this.isModern ? modernRequest(id, method, members, this.envelope) : plainOwnRequest(id, method, members);
  }

  /** A newer config of the same backend at the same address: lists may have changed, the session goes on. */
  reconfigure(backend: CompiledBackend): void {
    this.#backend = backend;
  }

  /**
   * Opens the session unless it is open. `waiter` is called from within when the outcome is known already.
   * @param metadata of the request on whose behalf it is opened, here and below.
   */
  whenOpen(metadata: RequestMetadata, waiter: OpenWaiter): void {
    const shown = this.#credentials?.refresh(metadata);
    if (shown instanceof Promise) void shown.then((fault) => this.#whenShown(fault, metadata, waiter));
    else this.#whenShown(shown, metadata, waiter);
  }

  /** @param credentialFault why the backend's auth cannot be satisfied, if so. */
  #whenShown(credentialFault: UpstreamFault | undefined, metadata: RequestMetadata, waiter: OpenWaiter): void {
    const fault = this.#tryFault(credentialFault);
    if (fault !== undefined) waiter(fault);
    else if (this.#state === 'open') waiter(undefined);
    else {
      this.#waiters.push(waiter);
      if (this.#state !== 'opening') this.#open(metadata);
    }
  }

  /**
   * The same for a request during which the backend may ask something on its own stream: waits also until that stream is
   * open, where it is being opened, since many servers lose what they say before. Not for long. Hot.
   */
  whenReady(metadata: RequestMetadata, waiter: OpenWaiter): void {
    if (this.#state === 'open' && this.#hold === undefined) this.whenOpen(metadata, waiter);
    else this.whenOpen(metadata, (fault) => this.#holdBack(metadata, waiter, fault));
  }

  #holdBack(metadata: RequestMetadata, waiter: OpenWaiter, fault: UpstreamFault | undefined): void {
    if (fault === undefined && this.#hold !== undefined) this.#hold.wait(() => this.whenOpen(metadata, waiter));
    else waiter(fault);
  }

  /** The backend's own stream is being opened: whoever asks `whenReady` waits until `endHold`, or a little while. */
  hold(): void {
    this.#hold ??= new Hold(this.#context.deadlines, limits.backendStreamPatienceMs, () => (this.#hold = undefined));
  }

  endHold(): void {
    this.#hold?.end();
  }

  /**
   * Sends a JSON-RPC request in the open session.
   * @param message the whole of it; `id` stands in it or in what it was made of.
   */
  request(
    { body, leftOut, putIn, trace, head }: OutgoingMessage,
    id: IdSpan,
    metadata: RequestMetadata,
    deadlineMs: number,
    isSilenceDeadline: boolean,
    handler: RequestHandler,
  ): RpcRequest {
    const headers = this.#headersWith(metadata);
    const stream = this.#stream;
    return new RpcRequest(
      stream === undefined ? this.#context.http : stream.wayOf(id),
      this.#context.deadlines,
      {
        subject: this.subject,
        memory: this.#context.answerMemory,
        target: this.#backend.target,
        endpoint: this.#endpoint,
        headers,
        body,
        leftOut,
        putIn,
        requestId: metadata.requestId,
        trace,
        head,
        id,
        deadlineMs,
        isSilenceDeadline,
        carriesSession: stream !== undefined || this.hasToBeTold,
        era: this.record?.era,
        // What is broken off without a session is lost.
        streams: stream !== undefined || this.isModern ? undefined : this.#context.streams,
        hasTasks: this.declares(ANY_TASKS),
        isUnauthorizedFault: this.#credentials !== undefined,
      },
      handler,
    );
  }

  /**
   * Sends a notification or a response; nobody waits for how that goes. A backend without sessions takes neither.
   * @param onDone called once.
   */
  send(message: OutgoingMessage, metadata: RequestMetadata, onDone?: () => void): void {
    if (this.isModern) {
      onDone?.();
      return;
    }
    const shown = this.#credentials?.refresh(metadata);
    if (shown instanceof Promise) void shown.then(() => this.#sendNow(message, metadata, onDone));
    else this.#sendNow(message, metadata, onDone);
  }

  #sendNow(message: OutgoingMessage, metadata: RequestMetadata, onDone: (() => void) | undefined): void {
    if (this.#state !== 'open') {
      onDone?.();
      return;
    }
    const headers = this.#headersWith(metadata);
    const target = this.#stream?.target ?? this.#backend.target;
    this.#context.replies.send(this.subject, target, 'POST', headers, message, onDone);
  }

  /**
   * Asks for what the backend says unasked (C04): in the open session.
   * @param lastEventId where to go on; `''` for nowhere.
   */
  listen(lastEventId: string, metadata: RequestMetadata, handler: UpstreamHandler): UpstreamCall {
    if (this.#stream !== undefined) return this.#stream.listen(handler);
    // What has changed since the last time is here, or will be at the next.
    void this.#credentials?.refresh(metadata);
    const headers = listeningHeaders(this.record, lastEventId);
    const shown = this.#credentials?.addTo(headers, metadata) ?? [...headers, ...metadata.headers];
    return this.#context.streams.dispatch(plainRequest(this.subject, this.#backend.target, 'GET', shown), handler);
  }

  /**
   * The same of a backend without sessions.
   * @param filter what is wanted of it: an object, as JSON.
   */
  listenFor(filter: string, metadata: RequestMetadata, handler: UpstreamHandler): UpstreamCall {
    void this.#credentials?.refresh(metadata);
    const { body, head } = this.ownRequest(
      this.#context.ids.next(),
      'subscriptions/listen',
      `"notifications":${filter}`,
    );
    const headers = this.#headersWith(metadata);
    const request = plainRequest(this.subject, this.#backend.target, 'POST', headers, body);
    return this.#context.streams.dispatch({ ...request, head }, handler);
  }

  /** Tells that the client's roots have changed: once more if that is being told already, however often it comes. */
  tellRootsChanged(body: Buffer, metadata: RequestMetadata): void {
    (this.#rootsNotice ??= new RepeatedNotice()).send((onDone) => this.send({ body }, metadata, onDone));
  }

  /** Tells the backend that nobody waits for a request any more (S36, C16). */
  cancel(id: IdSpan, reason: string, metadata: RequestMetadata): void {
    this.send({ body: cancelledNotice(id, reason) }, metadata);
  }

  /** Answers a request of the backend's own where nobody can be asked: `ping` (C18), and that no other is offered (C19). */
  answer(bytes: Buffer, message: BackendMessage, metadata: RequestMetadata): void {
    if (message.kind !== 'request') return;
    const id = bytes.subarray(message.idStart, message.idEnd);
    this.answerInstead(id, message.method === 'ping' ? undefined : NOT_OFFERED, metadata);
  }

  /**
   * Answers a request of the backend's own in place of the client.
   * @param id as JSON.
   * @param error `undefined` answers an empty result.
   */
  answerInstead(id: Buffer, error: AnswerError | undefined, metadata: RequestMetadata): void {
    // A backend that asks without end must not have a connection for each of its requests.
    if (this.#answersUnderWay >= limits.backendRequestsUnderWayMax) return;
    this.#answersUnderWay += 1;
    this.send({ body: answerMessage(id, error) }, metadata, () => {
      this.#answersUnderWay -= 1;
    });
  }

  /**
   * Goes on with a session that another process has opened, in place of one that is open here. Nobody is told: the backend's side
   * of it is as it was.
   */
  restore(record: UpstreamSessionRecord): void {
    if (this.#state === 'open') this.#dropRecord();
    else if (this.#state === 'opening' || !this.#transition('open')) return;
    this.#kept.keep(record);
    this.#headers = sessionHeaders(record.sessionId, record.protocolVersion);
  }

  /**
   * A request that was sent in a session has come to this.
   * @returns whether the backend has refused it without a look at what it is about, because it does not know the session or does not
   * speak the era any more: then the session is lost, and the era is found out again.
   */
  tryMarkLost(fault: UpstreamFault, sentIn: UpstreamSessionRecord | undefined): boolean {
    const isEraRefused = fault.kind === 'era-refused';
    if (!isEraRefused && fault.kind !== 'session-lost') return false;
    if (isEraRefused) this.#endpoint.eras.forget();
    this.markLost(sentIn);
    return true;
  }

  /** The backend no longer knows the session: the next need opens a new one (C11). */
  markLost(lost: UpstreamSessionRecord | undefined): void {
    // Several calls may hear of one loss; only the session they were sent in is given up, not its successor.
    if (this.record !== lost || !this.#transition('idle')) return;
    // What it has forgotten may be that it spoke so.
    if (lost?.era === 'modern') this.#endpoint.eras.forget();
    this.#context.onChanged?.(this.#backend, '');
    this.#dropRecord();
  }

  /** The backend has sent this notification. Hot. */
  hear(method: string): void {
    const { onChanged } = this.#context;
    if (onChanged !== undefined && method.endsWith('/list_changed')) onChanged(this.#backend, method);
  }

  /**
   * What its backend goes by when it says what it has: what it is shown with a request, what it was told of the client, and in
   * which version. Callers that differ in nothing of this get the same of it, as far as it knows.
   */
  shown(metadata: RequestMetadata): string {
    const { capabilities, clientInfo } = this.#introduction;
    const headers = this.shownHeaders(metadata);
    const { era, protocolVersion } = this.record ?? {};
    const hash = createHash('sha256').update(JSON.stringify([era, protocolVersion, capabilities.length, headers]));
    return hash.update(capabilities).update(clientInfo).digest('base64');
  }

  /** The headers that make the difference, as far as they are known by now. */
  shownHeaders(metadata: RequestMetadata): readonly string[] {
    return this.#credentials?.addTo(NO_HEADERS, metadata) ?? metadata.headers;
  }

  /** A request in the session has failed; for the log. */
  reportFailure(fault: UpstreamFault): void {
    const isSilent = this.#stream?.hasBeenSilentFor(this.#context.options.callIdleTimeoutMs) === true;
    if (isSilent && fault.kind === 'answer-timeout') this.markLost(this.record);
    this.#context.onFailure(this.#backend, fault);
  }

  /**
   * Ends the session for good and tells the backend (C12). Who waits hears `session-ended`.
   * @param onTold called once, later, if the session is one that `hasToBeTold`.
   */
  close(metadata: RequestMetadata, onTold?: (isTold: boolean) => void): void {
    const { hasToBeTold } = this;
    const isTrial = this.isTrial;
    if (!this.#transition('closed')) return;
    if (isTrial) this.#endpoint.onTrialOver(this.subject);
    this.#handshake?.abort();
    if (hasToBeTold) this.#sayFarewell(metadata, onTold);
    this.#dropRecord();
    this.#kept.dropAll();
    this.#mirrors?.drop();
    this.#tell(upstreamFault('session-ended', true));
  }

  #sayFarewell(metadata: RequestMetadata, onTold: ((isTold: boolean) => void) | undefined): void {
    const { target } = this.#backend;
    const own = this.#headers;
    const tell = (): void => {
      const headers = this.#credentials?.addTo(own, metadata) ?? [...own, ...metadata.headers];
      this.#context.notices.send(this.subject, target, 'DELETE', headers, undefined, onTold);
    };
    const shown = this.#credentials?.refresh(metadata);
    if (shown instanceof Promise) void shown.then(tell);
    else tell();
  }

  /** Why the session cannot be opened or used now, if so. One that can be opened must be. */
  #tryFault(credentialFault: UpstreamFault | undefined): UpstreamFault | undefined {
    if (this.#backend.obstacle !== undefined) return upstreamFault(this.#backend.obstacle, true);
    if (this.#state === 'closed') return upstreamFault('session-ended', true);
    if (credentialFault !== undefined) return this.#refused(credentialFault);
    const { circuit } = this.#endpoint;
    if (circuit.fault !== undefined) {
      circuit.onNeeded();
      return this.#refused(circuit.fault);
    }
    if (this.#state === 'open' || this.#state === 'opening') return undefined;
    const nowMs = this.#context.nowMs();
    if (this.#state === 'unavailable' && nowMs < this.#retryAtMs) return this.#lastFault;
    const admission = this.#endpoint.admit(this.subject, nowMs);
    this.#isTrial = admission === 'trial';
    return admission === 'refused' ? this.#refused(NO_ANSWER) : undefined;
  }

  #refused(fault: UpstreamFault): UpstreamFault {
    if (this.#state !== 'open') this.#context.onUnavailable(this.#backend, fault);
    return fault;
  }

  #headersWith(metadata: RequestMetadata): readonly string[] {
    const headers = this.#headers;
    if (this.#credentials !== undefined) return this.#credentials.addTo(headers, metadata);
    return metadata.headers.length === 0 ? headers : [...headers, ...metadata.headers];
  }

  #open(metadata: RequestMetadata): void {
    this.#transition('opening');
    this.#openedAtMs = this.#context.nowMs();
    this.#isOpenedAgain = false;
    this.#startHandshake(metadata);
  }

  #startHandshake(metadata: RequestMetadata): void {
    const { target, transport } = this.#backend;
    const open = transport === 'SSE' ? openSse : openInEra;
    this.#handshake = open(
      this.#context,
      {
        subject: this.subject,
        target,
        endpoint: this.#endpoint,
        introduction: this.#introduction,
        headers: this.#credentials?.addTo(NO_HEADERS, metadata) ?? metadata.headers,
        isUnauthorizedFault: this.#credentials !== undefined,
        era: this.#era,
      },
      {
        onOpen: (result) => this.#onOpen(result, metadata),
        onFault: (fault) => this.#tryOpenAgain(fault, metadata) || this.#onOpenFault(fault),
      },
    );
  }

  /** Once, where other credentials may be had than those that the backend does not take. */
  #tryOpenAgain(fault: UpstreamFault, metadata: RequestMetadata): boolean {
    if (this.#isOpenedAgain || !this.tryRenewCredentials(fault, metadata)) return false;
    this.#isOpenedAgain = true;
    const goOn = (credentialFault: UpstreamFault | undefined): void => {
      if (this.#state !== 'opening') return;
      if (credentialFault === undefined) this.#startHandshake(metadata);
      else this.#onOpenFault(credentialFault);
    };
    void Promise.resolve(this.#credentials?.refresh(metadata)).then(goOn);
    return true;
  }

  /**
   * A request has come to this.
   * @returns whether the backend has not taken what it was shown, so that nothing was executed, and it is worth another try.
   */
  tryRenewCredentials(fault: UpstreamFault, metadata: RequestMetadata): boolean {
    return isUnauthorized(fault) && this.#credentials?.refuse(metadata) === true;
  }

  #onOpen(result: HandshakeResult, metadata: RequestMetadata): void {
    if (!this.#transition('open')) {
      result.stream?.close();
      return;
    }
    this.#handshake = undefined;
    this.#kept.keep(result.record);
    this.#headers = result.headers;
    if (result.stream !== undefined) this.#take(result.stream, result.record, metadata);
    this.#backoff?.reset();
    this.#context.onAvailable(this.#backend);
    this.onOpened?.(this, metadata);
    this.#tell(undefined);
  }

  /** All of the session is on this stream from now on, and ends with it. */
  #take(stream: SseStream, record: UpstreamSessionRecord, metadata: RequestMetadata): void {
    this.#stream = stream;
    const lost = this.record ?? record;
    stream.owner = {
      onUnheard: (bytes, message) => this.#hearUnheard(bytes, message),
      onUnasked: (bytes, message) => this.answer(bytes, message, metadata),
      onLost: () => this.markLost(lost),
    };
  }

  #hearUnheard(bytes: Buffer, message: BackendMessage): boolean {
    this.hear(message.method);
    return message.method === 'notifications/progress' && this.onProgress?.(this, bytes, message) === true;
  }

  #dropRecord(): void {
    const stream = this.#stream;
    this.#stream = undefined;
    this.onDropped?.(this);
    this.#kept.drop();
    stream?.close();
  }

  #onOpenFault(fault: UpstreamFault): void {
    if (!this.#transition('unavailable')) return;
    this.#handshake = undefined;
    this.#lastFault = fault;
    const nowMs = this.#context.nowMs();
    if (this.#endpoint.onOpenFault(this.subject, fault, this.#openedAtMs, nowMs)) {
      // The endpoint says when the next try may be.
      this.#retryAtMs = nowMs;
    } else {
      this.#backoff ??= new Backoff(limits.upstreamRetryDelayMsMin, limits.upstreamRetryDelayMsMax);
      this.#retryAtMs = nowMs + this.#backoff.next();
    }
    this.#context.onOpenFault(this.#backend, fault);
    this.#context.onUnavailable(this.#backend, fault);
    this.#tell(fault);
  }

  #tell(fault: UpstreamFault | undefined): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) waiter(fault);
  }

  #transition(to: UpstreamSessionState): boolean {
    if (!TRANSITIONS[this.#state].includes(to)) return false;
    this.#state = to;
    return true;
  }
}
