// One MCP session with one backend, on behalf of one downstream session: what is sent in it, what is known about the backend, and what
// happens when the backend has lost the session. The base class, in `upstream-opening.ts`, opens the session.
import { type CompiledBackend, isRestricted, mayHaveTasks } from '../../user-config/index.js';
import {
  LATEST_LEGACY_VERSION,
  ANY_TASK_CAPABILITY,
  type ExtraCapability,
  type BackendMessage,
  type MirroredParam,
  type MirroredTool,
} from '../../mcp/index.js';
import { hashOfIntroduction, type ClientIntroduction } from './client-introduction.js';
import { listeningHeaders, sessionHeaders, type HandshakeResult } from './handshake.js';
import {
  plainRequest,
  type OutgoingMessage,
  type UpstreamCall,
  type UpstreamHandler,
  upstreamFault,
  type UpstreamFault,
  keepsCookies,
  withCookies,
  type RequestMetadata,
} from '../../http-client/index.js';
import type { UpstreamDependencies } from '../upstream-context.js';
import { UpstreamOpening } from './upstream-opening.js';
import { RpcRequest } from '../rpc/rpc-request.js';
import {
  type IdSpan,
  type RequestHandler,
  answerMessage,
  cancelledNotification,
  legacyRequest,
} from '../rpc/request-plan.js';
import type { SseStream } from '../sse/sse-stream.js';
import { envelopeOf, modernRequest, withoutTasks } from './modern-request.js';
import { KnownMirrors, type MessageBudget, type UpstreamSessionRecord, type TextBudget } from './known-mirrors.js';
import { StrayAnswers } from './stray-answers.js';
import { errorsToBackends, type RpcError } from '../../shared/index.js';

type MutableRecord = { -readonly [Member in keyof UpstreamSessionRecord]: UpstreamSessionRecord[Member] };

function namedText(named: readonly ExtraCapability[] = []): string {
  return named.map(({ name, value }) => name + value).join('');
}

/** Answers of the gateway's own to a backend's requests that are in flight, per session. Beyond that, the backend gets no answer. */
export const BACKEND_ANSWERS_UNDER_WAY_MAX = 16;

const NO_CAPABILITIES: readonly ExtraCapability[] = [];
const NO_SESSION_VALUES = { sessionId: '', protocolVersion: '' };

/** The downstream session, which its upstream sessions report to. */
export interface UpstreamOwner {
  onOpened(upstream: UpstreamSession, metadata: RequestMetadata): void;
  onDropped(upstream: UpstreamSession): void;
  /** Called for progress on the stream of an SSE backend while it has no listener. @returns whether a request waits for the progress. */
  onProgress(upstream: UpstreamSession, bytes: Buffer, message: BackendMessage): boolean;
  onListChanged(method: string): void;
}

export class UpstreamSession extends UpstreamOpening {
  owner: UpstreamOwner | undefined = undefined;
  readonly #textBudget: TextBudget;
  /** What the backend declared, without texts for which there is no room; `undefined` unless open. Changed only here. */
  record: MutableRecord | undefined = undefined;
  /** The capabilities, as bits of `capability`; without tasks where callers cannot have any. */
  usableCapabilities: number | undefined = undefined;
  hasTasks = false;
  /** All capabilities that the backend declared. They outlive the record, so that a request that needs one reopens the session. */
  #capabilities: number | undefined;
  #namedCapabilities: readonly ExtraCapability[] | undefined;
  /** Up to `#earlyBytes`: what each kept text counts in the session's share; `undefined` if none is kept. */
  #idBytes: number | undefined;
  #instructionBytes: number | undefined;
  #namedBytes: number | undefined;
  #cookieBytes: number | undefined;
  #earlyNotifications: readonly string[] = [];
  #earlyBytes: number | undefined;
  /** The mirrors, created when the backend first lists a tool with mirrored parameters, or an app. */
  mirrors: KnownMirrors | undefined;
  #headers: readonly string[] = [];
  /** The stream that carries the whole session, for an SSE backend. */
  #sseStream: SseStream | undefined;
  #answersUnderWayCount = 0;
  /** Delivers the answers to requests that get 202; `undefined` while the backend's own stream is not open. Changed only here. */
  strayAnswers: StrayAnswers | undefined = undefined;
  /** Sends the latest notification of changed roots: the one being sent, or the next one; `undefined` if none is being sent. */
  #latestRootsChange: (() => void) | undefined;
  #envelope: Buffer | undefined;

  constructor(
    context: UpstreamDependencies,
    subject: string,
    backend: CompiledBackend,
    introduction: ClientIntroduction,
    memory: TextBudget,
    protocolVersion = LATEST_LEGACY_VERSION,
  ) {
    super(context, subject, backend, introduction, protocolVersion);
    this.#textBudget = memory;
  }

  /** Whether `whenReady` would call back at once, without a fault and without a request of its own. Hot path. */
  get isReady(): boolean {
    if (this.state !== 'open' || this.delayedRequests !== undefined || this.rediscoverAtMs !== Infinity) return false;
    if (this.credentials !== undefined || this.backend.obstacle !== undefined) return false;
    return this.endpoint.circuit.fault === undefined;
  }

  /** The extensions and experimental capabilities. The latter are omitted if the config hides any item: their methods might reach it. */
  get namedCapabilities(): readonly ExtraCapability[] {
    const named = this.#namedCapabilities ?? NO_CAPABILITIES;
    return isRestricted(this.backend) ? named.filter(({ isExtension }) => isExtension) : named;
  }

  declares(bit: number): boolean {
    return ((this.usableCapabilities ?? 0) & bit) !== 0;
  }

  /** Learns from a list of tools. @param tools those with mirrored parameters. @param apps tool names and UI resources that apps use. */
  learnMirrors(tools: readonly MirroredTool[], apps: readonly string[]): void {
    if (tools.length > 0 || apps.length > 0) this.mirrors ??= new KnownMirrors(this.#textBudget);
    this.mirrors?.learn(tools, apps);
  }

  /** The arguments that a call of this tool must repeat in headers, as far as known. */
  mirroredParamsOf(method: string, name: string): readonly MirroredParam[] | undefined {
    return method === 'tools/call' ? this.mirrors?.paramsOf(name) : undefined;
  }

  /** Called when the tools are about to be listed because this tool's mirrored parameters are unknown. */
  noteMissedMirrors(tool: string): void {
    (this.mirrors ??= new KnownMirrors(this.#textBudget)).noteMissed(tool);
  }

  /** Whether the backend keeps a session, which needs a DELETE. */
  get needsDelete(): boolean {
    return this.record !== undefined && this.record.sessionId !== '';
  }

  /** Whether the session is open in the modern era: each request then carries an envelope. Hot path. */
  get isModern(): boolean {
    return this.record?.era === 'modern';
  }

  /** The members of `_meta` in each request to a modern backend, as JSON. */
  get envelope(): Buffer {
    const introduction = this.introduction;
    return (this.#envelope ??= envelopeOf(this.era === 'legacy' ? withoutTasks(introduction) : introduction));
  }

  /** The gateway's own request, for the backend's era. @param id as JSON. @param members of its params, as JSON. */
  ownRequest(id: Buffer, method: string, members = ''): OutgoingMessage {
    return this.isModern ? modernRequest(id, method, members, this.envelope) : legacyRequest(id, method, members);
  }

  /** Sends a request in the open session. @param id a span of the message, or of the message that it was made from. */
  request(
    { body, leftOut, putIn, trace, head }: OutgoingMessage,
    id: IdSpan,
    metadata: RequestMetadata,
    timeoutMs: number,
    isSilenceTimeout: boolean,
    handler: RequestHandler,
  ): RpcRequest {
    const stream = this.#sseStream;
    const { sessionId = '', era } = this.record ?? {};
    return new RpcRequest(
      this.context.http,
      this.context.deadlines,
      {
        subject: this.subject,
        memory: this.context.answerMemory,
        target: this.backend.target,
        redirection: this,
        endpoint: this.endpoint,
        headers: this.#headersWith(metadata),
        body,
        leftOut,
        putIn,
        requestId: metadata.requestId,
        trace,
        head,
        id,
        timeoutMs: timeoutMs,
        isSilenceTimeout: isSilenceTimeout,
        carriesSession: stream !== undefined || sessionId !== '',
        session: this,
        sessionId,
        era,
        stream,
        resumingHttp: stream !== undefined || era === 'modern' ? undefined : this.context.streams,
        hasTasks: this.hasTasks,
        credentials: this.credentials,
      },
      handler,
    );
  }

  /** Sends a notification or a response. A backend without sessions accepts neither, and gets nothing. @param onDone called once. */
  send(message: OutgoingMessage, metadata: RequestMetadata, onDone?: () => void): void {
    if (this.isModern) {
      onDone?.();
      return;
    }
    this.#refreshCredentials(metadata, () => this.#sendNow(message, metadata, onDone));
  }

  #refreshCredentials(metadata: RequestMetadata, onRefreshed: () => void): void {
    const refreshed = this.credentials?.refresh(metadata);
    if (refreshed instanceof Promise) void refreshed.then(onRefreshed);
    else onRefreshed();
  }

  #sendNow(message: OutgoingMessage, metadata: RequestMetadata, onDone: (() => void) | undefined): void {
    if (this.state !== 'open') {
      onDone?.();
      return;
    }
    const headers = this.#headersWith(metadata);
    const target = this.#sseStream?.target ?? this.target;
    const { sessionId = '' } = this.record ?? {};
    const onHead = (newId: string, cookies: string): void => this.noteHead(newId, cookies, sessionId);
    this.context.replies.send(this.subject, target, 'POST', headers, message, onDone, onHead);
  }

  /** Opens the backend's own stream (C04). @param position the last event's id, or `''`; in the modern era, the filter as JSON. */
  listen(position: string, metadata: RequestMetadata, handler: UpstreamHandler): UpstreamCall {
    if (this.#sseStream !== undefined) return this.#sseStream.listen(handler);
    void this.credentials?.refresh(metadata);
    const { streams, ownIds } = this.context;
    if (this.isModern) {
      const { body, head } = this.ownRequest(ownIds.next(), 'subscriptions/listen', `"notifications":${position}`);
      const request = plainRequest(this.subject, this.target, 'POST', this.#headersWith(metadata), body);
      return streams.dispatch({ ...request, head }, handler);
    }
    const headers = listeningHeaders(this.record ?? NO_SESSION_VALUES, position);
    return streams.dispatch(
      plainRequest(this.subject, this.target, 'GET', this.#headersWith(metadata, headers)),
      handler,
    );
  }

  /** Tells the backend of changed roots. However many changes come while one notification is being sent, only one more follows. */
  notifyRootsChanged(body: Buffer, metadata: RequestMetadata): void {
    const isUnderWay = this.#latestRootsChange !== undefined;
    const onDone = (): void => {
      const next = this.#latestRootsChange;
      if (next === send) this.#latestRootsChange = undefined;
      else next?.();
    };
    const send = (): void => this.send({ body }, metadata, onDone);
    this.#latestRootsChange = send;
    if (!isUnderWay) send();
  }

  /** Tells the backend that the answer to a request is no longer needed (S36, C16). */
  cancel(id: IdSpan, reason: string, metadata: RequestMetadata): void {
    this.send({ body: cancelledNotification(id, reason) }, metadata);
  }

  /** Answers a request for which no client can be asked: `ping` with an empty result (C18), others with an error (C19). */
  answerWithoutClient(bytes: Buffer, message: BackendMessage, metadata: RequestMetadata): void {
    if (message.kind !== 'request') return;
    const id = bytes.subarray(message.idStart, message.idEnd);
    this.answerForClient(id, message.method === 'ping' ? undefined : errorsToBackends.methodNotOffered, metadata);
  }

  /** Answers a backend's request in place of the client. @param id as JSON. @param error `undefined` for an empty result. */
  answerForClient(id: Buffer, error: RpcError | undefined, metadata: RequestMetadata): void {
    // A backend must not be able to occupy any number of connections with its requests.
    if (this.#answersUnderWayCount >= BACKEND_ANSWERS_UNDER_WAY_MAX) return;
    this.#answersUnderWayCount += 1;
    this.send({ body: answerMessage(id, error) }, metadata, () => {
      this.#answersUnderWayCount -= 1;
    });
  }

  /** Continues a session that another process opened. The backend is not told: nothing changes for it. */
  restore(record: UpstreamSessionRecord): void {
    if (this.state === 'open') this.#dropSession();
    else if (!this.tryAdopt()) return;
    this.noteEra(record.era);
    this.#keepRecord({ ...record });
    this.#headers = sessionHeaders(record);
    if (!keepsCookies(this.backend)) this.#setCookies('');
  }

  override reconfigure(backend: CompiledBackend): void {
    super.reconfigure(backend);
    if (this.#capabilities !== undefined) this.#learnCapabilities(this.#capabilities);
    if (!keepsCookies(backend)) this.#setCookies('');
  }

  #setCookies(cookies: string): void {
    const record = this.record;
    if (record === undefined || (record.cookies ?? '') === cookies) return;
    this.#keepCookies(record, cookies);
    this.#headers = sessionHeaders(record);
  }

  /** Takes the notifications that came before the answer to `initialize`. */
  takeEarlyNotifications(): readonly string[] {
    const early = this.#earlyNotifications;
    this.#keepEarlyNotifications();
    return early;
  }

  #keepEarlyNotifications(early: readonly string[] = []): void {
    this.#earlyBytes = this.#recount(this.#earlyBytes, early.join(''));
    this.#earlyNotifications = this.#earlyBytes === undefined ? [] : early;
  }

  #keepCookies(record: MutableRecord, cookies: string): void {
    this.#cookieBytes = this.#recount(this.#cookieBytes, cookies);
    record.cookies = this.#cookieBytes === undefined ? undefined : cookies;
  }

  #keepNamed(named: readonly ExtraCapability[] | undefined): void {
    this.#namedBytes = this.#recount(this.#namedBytes, namedText(named));
    this.#namedCapabilities = this.#namedBytes === undefined ? undefined : named;
  }

  /** Counts a text in place of its previous version. @returns the new count; `undefined` without text, or without room for it. */
  #recount(bytes: number | undefined, text: string): number | undefined {
    this.#textBudget.drop(bytes ?? 0);
    return text === '' ? undefined : this.#textBudget.tryKeepText(text);
  }

  #learnCapabilities(capabilities: number): void {
    this.#capabilities = capabilities;
    this.usableCapabilities = mayHaveTasks(this.backend) ? capabilities : capabilities & ~ANY_TASK_CAPABILITY;
    this.hasTasks = (this.usableCapabilities & ANY_TASK_CAPABILITY) !== 0;
  }

  /** Keeps a record, which only this class may change from now on. The previous one must have been dropped. */
  #keepRecord(record: MutableRecord): void {
    this.#learnCapabilities(record.capabilities);
    this.#keepNamed(record.named);
    record.named = this.#namedCapabilities;
    this.record = record;
    // A session id is needed even if there is no room for it.
    this.#idBytes = this.#recount(this.#idBytes, record.sessionId);
    this.#keepCookies(record, record.cookies ?? '');
    this.#instructionBytes = this.#recount(this.#instructionBytes, record.instructions ?? '');
    if (this.#instructionBytes === undefined) record.instructions = undefined;
  }

  #dropRecord(): void {
    this.#idBytes = this.#recount(this.#idBytes, '');
    if (this.record !== undefined) this.#keepCookies(this.record, '');
    this.record = undefined;
    this.#keepEarlyNotifications();
    this.#instructionBytes = this.#recount(this.#instructionBytes, '');
  }

  /**
   * Handles a backend's refusal of the session or the era: the session is marked as lost, and a refused era is found out anew.
   * @returns whether the fault is such a refusal: the backend has not carried the request out, and callers send it again.
   */
  tryRecover(fault: UpstreamFault, sentIn: UpstreamSessionRecord | undefined): boolean {
    const isEraRefused = fault.kind === 'era-refused';
    if (!isEraRefused && fault.kind !== 'session-lost') return false;
    if (this.record === sentIn) this.context.log.onFailure(this.backend, fault);
    this.markLost(sentIn);
    if (isEraRefused) this.endpoint.onEraRefused(sentIn?.era ?? this.era, this.context.nowMs());
    return true;
  }

  /** Takes over a response's cookies, and its session id, under which the session then continues, as in official clients. Hot path. */
  noteHead(sessionId: string, cookieLines: string, requestSessionId: string): void {
    const record = this.record;
    if (record === undefined || record.sessionId !== requestSessionId) return;
    if (cookieLines !== '' && record.era === 'legacy' && keepsCookies(this.backend))
      this.#setCookies(withCookies(record.cookies ?? '', cookieLines, this.#sseStream?.target ?? this.target));
    if (sessionId === '' || sessionId === requestSessionId || requestSessionId === '') return;
    record.sessionId = sessionId;
    this.#idBytes = this.#recount(this.#idBytes, sessionId);
    this.#headers = sessionHeaders(record);
  }

  /** Called when the backend's own stream has opened or closed. @param memory counts early answers on it; `undefined` if it has closed. */
  setStrayAnswerMemory(memory: MessageBudget | undefined): void {
    const before = this.strayAnswers;
    this.strayAnswers = memory && (before ?? new StrayAnswers(this.subject, this.context.deadlines, memory));
    if (memory === undefined) before?.close();
  }

  /** Called when the backend no longer knows the session. It is opened again when next needed (C11). */
  markLost(lost: UpstreamSessionRecord | undefined): void {
    // Several calls may report the same loss, and a new session may be open already.
    if (this.record !== lost || !this.tryLose()) return;
    // A modern backend has no session to forget: it may have stopped speaking this era.
    if (lost?.era === 'modern') this.endpoint.forgetEras();
    this.context.onListsChanged?.(this.backend, '');
    this.#dropSession();
  }

  /** Reports a change of a list, if this is the method of such a notification. Hot path. */
  noteListChange(method: string): void {
    if (!method.endsWith('/list_changed')) return;
    this.context.onListsChanged?.(this.backend, method);
    this.owner?.onListChanged(method);
  }

  /** A hash of all by which the backend can tell callers apart: headers, introduction, version. The backend's lists may depend on these. */
  callerHash(metadata: RequestMetadata): string {
    const { introduction, era, record } = this;
    return hashOfIntroduction(introduction, [era, record?.protocolVersion, this.callerHeaders(metadata)]);
  }

  reportFailure(fault: UpstreamFault): void {
    const isSilent = this.#sseStream?.hasBeenSilentFor(this.context.options.callIdleTimeoutMs) === true;
    if (isSilent && fault.kind === 'answer-timeout') this.markLost(this.record);
    this.context.log.onFailure(this.backend, fault);
  }

  /** Ends the session for good (C12). @param onDone called once, asynchronously, if `needsDelete` was true. */
  close(metadata: RequestMetadata, onDone?: (isConfirmed: boolean) => void): void {
    const { needsDelete } = this;
    if (!this.tryClose()) return;
    if (needsDelete) this.#sendDelete(metadata, onDone);
    this.#dropSession();
    this.#keepNamed(undefined);
    this.mirrors?.drop();
    this.callWaiters(upstreamFault('session-ended', true));
  }

  #sendDelete(metadata: RequestMetadata, onDone: ((isConfirmed: boolean) => void) | undefined): void {
    const { target } = this;
    const headersBefore = this.#headers;
    this.#refreshCredentials(metadata, () => {
      const headers = this.#headersWith(metadata, headersBefore);
      this.context.oneWayRequests.send(this.subject, target, 'DELETE', headers, undefined, onDone);
    });
  }

  #headersWith(metadata: RequestMetadata, headers = this.#headers): readonly string[] {
    if (this.credentials !== undefined) return this.credentials.addTo(headers, metadata);
    return metadata.headers.length === 0 ? headers : [...headers, ...metadata.headers];
  }

  protected override onHandshake(result: HandshakeResult, metadata: RequestMetadata): void {
    this.#keepRecord(result.record);
    this.#headers = result.headers;
    this.#keepEarlyNotifications(result.earlyNotifications);
    if (result.stream !== undefined) this.#takeStream(result.stream, result.record, metadata);
    this.owner?.onOpened(this, metadata);
  }

  protected override onRediscovered({ record }: HandshakeResult): void {
    // Instructions are not compared: they are used only once, at the opening.
    if (record.capabilities === this.#capabilities && namedText(record.named) === namedText(this.#namedCapabilities))
      return;
    this.#dropRecord();
    this.#keepRecord(record);
    this.context.onListsChanged?.(this.backend, '');
  }

  /** Takes over the stream of an SSE backend from the handshake. The whole session uses it, and ends with it. */
  #takeStream(stream: SseStream, record: UpstreamSessionRecord, metadata: RequestMetadata): void {
    this.#sseStream = stream;
    const lost = this.record ?? record;
    stream.owner = {
      onMessageWithoutListener: (bytes, message) => {
        this.noteListChange(message.method);
        return message.method === 'notifications/progress' && this.owner?.onProgress(this, bytes, message) === true;
      },
      onRequestWithoutClient: (bytes, message) => this.answerWithoutClient(bytes, message, metadata),
      onLost: () => this.markLost(lost),
    };
  }

  #dropSession(): void {
    const stream = this.#sseStream;
    this.#sseStream = undefined;
    this.owner?.onDropped(this);
    this.#dropRecord();
    stream?.close();
  }
}
