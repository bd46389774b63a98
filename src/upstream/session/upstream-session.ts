// One MCP session with one backend, on behalf of one downstream session: what is sent in it, what is known about the backend, and what
// happens when the backend has forgotten the session. How it is opened is in its base class: `upstream-opening.ts`.
import { type CompiledBackend, isLimited, mayHaveTasks } from '../../user-config/index.js';
import {
  LATEST_PROTOCOL_VERSION,
  ANY_TASK_CAPABILITY,
  type ExtraCapability,
  type BackendMessage,
  type MirroredParam,
  type ToolMirrors,
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
import type { UpstreamMeans } from '../upstream-context.js';
import { UpstreamOpening } from './upstream-opening.js';
import { RpcRequest } from '../rpc/rpc-request.js';
import {
  type IdSpan,
  type RequestHandler,
  answerMessage,
  cancelledNotification,
  plainOwnRequest,
} from '../rpc/request-plan.js';
import type { SseStream } from '../sse/sse-stream.js';
import { envelopeOf, modernRequest, withoutTasks } from './modern-request.js';
import { KnownMirrors, type UpstreamSessionRecord, type TextBudget } from './known-mirrors.js';
import { errorsToBackends, type RpcError } from '../../shared/index.js';

type OwnRecord = { -readonly [Member in keyof UpstreamSessionRecord]: UpstreamSessionRecord[Member] };

function textOf(named: readonly ExtraCapability[] | undefined): string | undefined {
  return named?.map(({ name, value }) => name + value).join('');
}

/**
 * The gateway's own answers to requests of one backend that are being sent at once, per session. Beyond that, further requests of the
 * backend get no answer.
 */
export const BACKEND_REQUESTS_UNDER_WAY_MAX = 16;

const NONE: readonly ExtraCapability[] = [];
const NO_HEADERS: readonly string[] = [];
const NO_SESSION_VALUES = { sessionId: '', protocolVersion: '' };

/** What a client's session hears of its upstream sessions. */
export interface UpstreamOwner {
  /** The upstream session is open; the waiting requests go on after this call. */
  onOpened(upstream: UpstreamSession, metadata: RequestMetadata): void;
  /** The upstream session was lost or closed. */
  onDropped(upstream: UpstreamSession): void;
  /** Progress on the shared stream of an SSE backend that has no listener. @returns whether a request waits for it. */
  onProgress(upstream: UpstreamSession, bytes: Buffer, message: BackendMessage): boolean;
  /** The backend has notified that a list has changed, on any of its streams. */
  onListChanged(method: string): void;
}

export class UpstreamSession extends UpstreamOpening {
  /** The client's session; `undefined` where there is none. */
  owner: UpstreamOwner | undefined = undefined;
  readonly #memory: TextBudget;
  /**
   * What the backend declared at the opening, as far as the session's memory has room for its texts; `undefined` unless the session is open.
   * Changed only here, like what is known of its capabilities.
   */
  record: OwnRecord | undefined = undefined;
  /** What the backend declared at the last opening, as bits of `capability`; without tasks where callers can have none. */
  knownCapabilities: number | undefined = undefined;
  /** Whether callers can have tasks there. */
  hasTasks = false;
  /** The backend's capabilities, as bits and by name. They outlive the record, so that a request that needs them opens the session again. */
  #capabilities: number | undefined;
  #named: readonly ExtraCapability[] | undefined;
  /** Counted bytes of the record's session id and instructions, of the named capabilities, and of cookies. */
  #idBytes = 0;
  #instructionBytes = 0;
  #namedBytes = 0;
  #cookieBytes = 0;
  /** Created when the backend first lists a tool with mirrored parameters, or an app. */
  mirrors: KnownMirrors | undefined;
  #headers: readonly string[] = [];
  /** For a backend of transport SSE: the stream that carries the whole open session. */
  #stream: SseStream | undefined;
  #answersUnderWay = 0;
  /** The notice of changed roots to be sent next, or that is being sent if there is no further one. */
  #rootsNotice: (() => void) | undefined;
  /** Created for the first request that needs it. */
  #envelope: Buffer | undefined;

  constructor(
    context: UpstreamMeans,
    subject: string,
    backend: CompiledBackend,
    introduction: ClientIntroduction,
    memory: TextBudget,
    protocolVersion = LATEST_PROTOCOL_VERSION,
  ) {
    super(context, subject, backend, introduction, protocolVersion);
    this.#memory = memory;
  }

  /** Whether `whenReady` would call its waiter at once and without a fault, with nothing to be fetched or asked again. Hot path. */
  get isReady(): boolean {
    if (this.state !== 'open' || this.delayed !== undefined || this.askAgainAtMs !== Infinity) return false;
    if (this.credentials !== undefined || this.backend.obstacle !== undefined) return false;
    return this.endpoint.circuit.fault === undefined;
  }

  /**
   * The extensions and experimental capabilities that the backend declared at the last opening. The latter are left out where the config
   * hides any of the backend's items: their methods might reach a hidden one.
   */
  get named(): readonly ExtraCapability[] {
    const named = this.#named ?? NONE;
    return isLimited(this.backend) ? named.filter(({ isExtension }) => isExtension) : named;
  }

  declares(bit: number): boolean {
    return ((this.knownCapabilities ?? 0) & bit) !== 0;
  }

  /** The backend has listed its tools. @param tools those with mirrored parameters. @param apps tool names and page URIs that apps use. */
  learnMirrors(tools: readonly ToolMirrors[], apps: readonly string[]): void {
    if (tools.length > 0 || apps.length > 0) this.mirrors ??= new KnownMirrors(this.#memory);
    this.mirrors?.learn(tools, apps);
  }

  /** The parameters of the tool `name` that a call must repeat in headers, as far as this session has read the backend's list. */
  mirroredBy(method: string, name: string): readonly MirroredParam[] | undefined {
    return method === 'tools/call' ? this.mirrors?.of(name) : undefined;
  }

  /** The tools are about to be listed because this tool's mirrored parameters are unknown. */
  missMirrors(tool: string): void {
    (this.mirrors ??= new KnownMirrors(this.#memory)).noteMissed(tool);
  }

  /** Whether the backend keeps a session, so that it must be told of its end. */
  get hasToBeTold(): boolean {
    return this.record !== undefined && this.record.sessionId !== '';
  }

  /** Whether it is open without a session at the backend, so that each request carries an envelope. Hot path. */
  get isModern(): boolean {
    return this.record?.era === 'modern';
  }

  /** The members of `_meta` in each such request, as JSON. */
  get envelope(): Buffer {
    const introduction = this.introduction;
    return (this.#envelope ??= envelopeOf(this.era === 'legacy' ? withoutTasks(introduction) : introduction));
  }

  /**
   * A request of the gateway's own, in the form for the backend's era.
   * @param id as JSON. @param members of its params, as JSON.
   */
  ownRequest(id: Buffer, method: string, members = ''): OutgoingMessage {
    return this.isModern ? modernRequest(id, method, members, this.envelope) : plainOwnRequest(id, method, members);
  }

  /**
   * Sends a JSON-RPC request in the open session.
   * @param message the whole request; `id` lies in its bytes, or in those of the message from which it was made.
   */
  request(
    { body, leftOut, putIn, trace, head }: OutgoingMessage,
    id: IdSpan,
    metadata: RequestMetadata,
    deadlineMs: number,
    isSilenceDeadline: boolean,
    handler: RequestHandler,
  ): RpcRequest {
    const stream = this.#stream;
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
        deadlineMs,
        isSilenceDeadline,
        carriesSession: stream !== undefined || sessionId !== '',
        session: this,
        sessionId,
        era,
        stream,
        // Without a session at the backend, an interrupted stream cannot be resumed.
        streams: stream !== undefined || era === 'modern' ? undefined : this.context.streams,
        hasTasks: this.hasTasks,
        isUnauthorizedFault: this.credentials !== undefined,
      },
      handler,
    );
  }

  /**
   * Sends a notification or a response, fire and forget. A backend without sessions accepts neither.
   * @param onDone called once.
   */
  send(message: OutgoingMessage, metadata: RequestMetadata, onDone?: () => void): void {
    if (this.isModern) {
      onDone?.();
      return;
    }
    this.#refreshCredentials(metadata, () => this.#sendNow(message, metadata, onDone));
  }

  /** @param onRefreshed called once the credentials are up to date. */
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
    const target = this.#stream?.target ?? this.target;
    const { sessionId = '' } = this.record ?? {};
    const onHead = (newId: string, cookies: string): void => this.noteHead(newId, cookies, sessionId);
    this.context.replies.send(this.subject, target, 'POST', headers, message, onDone, onHead);
  }

  /**
   * Opens the stream of what the backend sends unasked (C04), in the open session.
   * @param from event to resume after, `''` for none; for a backend without sessions, what is wanted from it: an object, as JSON.
   */
  listen(from: string, metadata: RequestMetadata, handler: UpstreamHandler): UpstreamCall {
    if (this.#stream !== undefined) return this.#stream.listen(handler);
    // Credentials that are not refreshed at once are used for the next stream.
    void this.credentials?.refresh(metadata);
    const { streams, ids } = this.context;
    if (this.isModern) {
      const { body, head } = this.ownRequest(ids.next(), 'subscriptions/listen', `"notifications":${from}`);
      const request = plainRequest(this.subject, this.target, 'POST', this.#headersWith(metadata), body);
      return streams.dispatch({ ...request, head }, handler);
    }
    const headers = listeningHeaders(this.record ?? NO_SESSION_VALUES, from);
    const allHeaders = this.credentials?.addTo(headers, metadata) ?? [...headers, ...metadata.headers];
    return streams.dispatch(plainRequest(this.subject, this.target, 'GET', allHeaders), handler);
  }

  /** Tells the backend that the client's roots have changed: any number of changes while a notice is being sent cause one more. */
  tellRootsChanged(body: Buffer, metadata: RequestMetadata): void {
    const isUnderWay = this.#rootsNotice !== undefined;
    const onDone = (): void => {
      const next = this.#rootsNotice;
      if (next === notice) this.#rootsNotice = undefined;
      else next?.();
    };
    const notice = (): void => this.send({ body }, metadata, onDone);
    this.#rootsNotice = notice;
    if (!isUnderWay) notice();
  }

  /** Tells the backend that the answer to a request is no longer needed (S36, C16). */
  cancel(id: IdSpan, reason: string, metadata: RequestMetadata): void {
    this.send({ body: cancelledNotification(id, reason) }, metadata);
  }

  /** Answers a backend's request when no client can be asked: `ping` with an empty result (C18), any other with an error (C19). */
  answer(bytes: Buffer, message: BackendMessage, metadata: RequestMetadata): void {
    if (message.kind !== 'request') return;
    const id = bytes.subarray(message.idStart, message.idEnd);
    this.answerInstead(id, message.method === 'ping' ? undefined : errorsToBackends.methodNotOffered, metadata);
  }

  /**
   * Answers a request of the backend in place of the client.
   * @param id as JSON.
   * @param error `undefined` answers an empty result.
   */
  answerInstead(id: Buffer, error: RpcError | undefined, metadata: RequestMetadata): void {
    // Bounded, so that a backend that sends requests without end does not get a connection for each.
    if (this.#answersUnderWay >= BACKEND_REQUESTS_UNDER_WAY_MAX) return;
    this.#answersUnderWay += 1;
    this.send({ body: answerMessage(id, error) }, metadata, () => {
      this.#answersUnderWay -= 1;
    });
  }

  /** Continues a session that another process opened, replacing one that is open here. The backend is not told: nothing changes for it. */
  restore(record: UpstreamSessionRecord): void {
    if (this.state === 'open') this.#dropRecord();
    else if (!this.tryAdopt()) return;
    this.noteEra(record.era);
    this.#keep({ ...record });
    this.#headers = sessionHeaders(record);
    if (!keepsCookies(this.backend)) this.#setCookies('');
  }

  override reconfigure(backend: CompiledBackend): void {
    super.reconfigure(backend);
    if (this.#capabilities !== undefined) this.#learn(this.#capabilities);
    if (!keepsCookies(backend)) this.#setCookies('');
  }

  #setCookies(cookies: string): void {
    const record = this.record;
    if (record === undefined || (record.cookies ?? '') === cookies) return;
    this.#keepCookies(record, cookies);
    this.#headers = sessionHeaders(record);
  }

  /** Without room for them, no cookies are sent. */
  #keepCookies(record: OwnRecord, cookies: string): void {
    this.#memory.drop(this.#cookieBytes);
    const bytes = cookies === '' ? undefined : this.#memory.tryKeepText(cookies);
    this.#cookieBytes = bytes ?? 0;
    record.cookies = bytes === undefined ? undefined : cookies;
  }

  /** Counts the memory of a session id, which is kept even without room. @param sessionId `''` to uncount it. */
  #keepId(sessionId: string): void {
    this.#memory.drop(this.#idBytes);
    this.#idBytes = sessionId === '' ? 0 : (this.#memory.tryKeepText(sessionId) ?? 0);
  }

  #keepNamed(named: readonly ExtraCapability[] | undefined): void {
    this.#memory.drop(this.#namedBytes);
    const words = textOf(named);
    const bytes = words === undefined ? 0 : this.#memory.tryKeepText(words);
    this.#named = bytes === undefined ? undefined : named;
    this.#namedBytes = bytes ?? 0;
  }

  #learn(capabilities: number): void {
    this.#capabilities = capabilities;
    this.knownCapabilities = mayHaveTasks(this.backend) ? capabilities : capabilities & ~ANY_TASK_CAPABILITY;
    this.hasTasks = (this.knownCapabilities & ANY_TASK_CAPABILITY) !== 0;
  }

  /** Keeps a record, which is this session's own from now on, after the previous one was dropped. */
  #keep(record: OwnRecord): void {
    this.#learn(record.capabilities);
    this.#keepNamed(record.named);
    record.named = this.#named;
    this.record = record;
    this.#keepId(record.sessionId);
    this.#keepCookies(record, record.cookies ?? '');
    const bytes = record.instructions === undefined ? undefined : this.#memory.tryKeepText(record.instructions);
    this.#instructionBytes = bytes ?? 0;
    if (bytes === undefined) record.instructions = undefined;
  }

  /** The session is no longer open. */
  #dropKept(): void {
    this.#keepId('');
    if (this.record !== undefined) this.#keepCookies(this.record, '');
    this.record = undefined;
    this.#memory.drop(this.#instructionBytes);
    this.#instructionBytes = 0;
  }

  /**
   * A request that was sent in a session has ended in this fault.
   * @returns whether the backend has refused it without processing it, because it does not know the session or no longer speaks the era:
   *   the session is then lost, and the era is detected again.
   */
  tryMarkLost(fault: UpstreamFault, sentIn: UpstreamSessionRecord | undefined): boolean {
    const isEraRefused = fault.kind === 'era-refused';
    if (!isEraRefused && fault.kind !== 'session-lost') return false;
    if (this.record === sentIn) this.context.log.onFailure(this.backend, fault);
    this.markLost(sentIn);
    if (isEraRefused) this.endpoint.onEraRefused(sentIn?.era ?? this.era, this.context.nowMs());
    return true;
  }

  /**
   * Takes over the cookies of a response, and a session id other than the one that the request had: the session continues under the new id,
   * as in official clients. Hot path.
   */
  noteHead(sessionId: string, cookieLines: string, requestSessionId: string): void {
    const record = this.record;
    if (record === undefined || record.sessionId !== requestSessionId) return;
    if (cookieLines !== '' && record.era === 'legacy' && keepsCookies(this.backend))
      this.#setCookies(withCookies(record.cookies ?? '', cookieLines, this.#stream?.target ?? this.target));
    if (sessionId === '' || sessionId === requestSessionId || requestSessionId === '') return;
    record.sessionId = sessionId;
    this.#keepId(sessionId);
    this.#headers = sessionHeaders(record);
  }

  /** The backend no longer knows the session: a new one is opened when next needed (C11). */
  markLost(lost: UpstreamSessionRecord | undefined): void {
    // Several calls may report the same loss; only the session they were sent in is given up, not its successor.
    if (this.record !== lost || !this.tryLose()) return;
    // A modern backend has no session to forget: it may have stopped speaking this era.
    if (lost?.era === 'modern') this.endpoint.forgetEras();
    this.context.onChanged?.(this.backend, '');
    this.#dropRecord();
  }

  /** A message of the backend has this method: reports that a list has changed, if it says so. Hot path. */
  noteListChange(method: string): void {
    if (!method.endsWith('/list_changed')) return;
    this.context.onChanged?.(this.backend, method);
    this.owner?.onListChanged(method);
  }

  /**
   * A hash of everything on which the backend can base its lists: the headers of a request, the client's introduction, and the version. The
   * backend cannot tell callers with the same hash apart.
   */
  shown(metadata: RequestMetadata): string {
    return hashOfIntroduction(this.introduction, [this.era, this.record?.protocolVersion, this.shownHeaders(metadata)]);
  }

  /** The headers that tell callers apart, as far as they are known by now. */
  shownHeaders(metadata: RequestMetadata): readonly string[] {
    return this.credentials?.addTo(NO_HEADERS, metadata) ?? metadata.headers;
  }

  reportFailure(fault: UpstreamFault): void {
    const isSilent = this.#stream?.hasBeenSilentFor(this.context.options.callIdleTimeoutMs) === true;
    if (isSilent && fault.kind === 'answer-timeout') this.markLost(this.record);
    this.context.log.onFailure(this.backend, fault);
  }

  /**
   * Ends the session for good, and tells the backend (C12). Waiting requests get `session-ended`.
   * @param onTold called once, asynchronously, if `hasToBeTold` was true.
   */
  close(metadata: RequestMetadata, onTold?: (isTold: boolean) => void): void {
    const { hasToBeTold } = this;
    if (!this.tryClose()) return;
    if (hasToBeTold) this.#sayFarewell(metadata, onTold);
    this.#dropRecord();
    this.#keepNamed(undefined);
    this.mirrors?.drop();
    this.tellWaiters(upstreamFault('session-ended', true));
  }

  #sayFarewell(metadata: RequestMetadata, onTold: ((isTold: boolean) => void) | undefined): void {
    const { target } = this;
    const own = this.#headers;
    this.#refreshCredentials(metadata, () => {
      const headers = this.credentials?.addTo(own, metadata) ?? [...own, ...metadata.headers];
      this.context.oneWayRequests.send(this.subject, target, 'DELETE', headers, undefined, onTold);
    });
  }

  #headersWith(metadata: RequestMetadata): readonly string[] {
    const headers = this.#headers;
    if (this.credentials !== undefined) return this.credentials.addTo(headers, metadata);
    return metadata.headers.length === 0 ? headers : [...headers, ...metadata.headers];
  }

  protected override onHandshake(result: HandshakeResult, metadata: RequestMetadata): void {
    this.#keep(result.record);
    this.#headers = result.headers;
    if (result.stream !== undefined) this.#take(result.stream, result.record, metadata);
    this.owner?.onOpened(this, metadata);
  }

  protected override onDeclared({ record }: HandshakeResult): void {
    // Instructions are passed on only once, and do not count.
    if (record.capabilities === this.#capabilities && textOf(record.named) === textOf(this.#named)) return;
    this.#dropKept();
    this.#keep(record);
    this.context.onChanged?.(this.backend, '');
  }

  /** The whole session uses this stream from now on, and ends with it. */
  #take(stream: SseStream, record: UpstreamSessionRecord, metadata: RequestMetadata): void {
    this.#stream = stream;
    const lost = this.record ?? record;
    stream.owner = {
      onWithoutListener: (bytes, message) => this.#handleWithoutListener(bytes, message),
      onWithoutClient: (bytes, message) => this.answer(bytes, message, metadata),
      onLost: () => this.markLost(lost),
    };
  }

  #handleWithoutListener(bytes: Buffer, message: BackendMessage): boolean {
    this.noteListChange(message.method);
    return message.method === 'notifications/progress' && this.owner?.onProgress(this, bytes, message) === true;
  }

  #dropRecord(): void {
    const stream = this.#stream;
    this.#stream = undefined;
    this.owner?.onDropped(this);
    this.#dropKept();
    stream?.close();
  }
}
