// Opens a session with `initialize` and `notifications/initialized` (C05, C06). The session is usable once the backend has accepted both,
// within one deadline. Cold path: two requests per session and backend.
import {
  readInitializeResult,
  type BackendMessage,
  readBackendError,
  BACKEND_VERSIONS,
  LATEST_LEGACY_VERSION,
  MODERN_PROTOCOL_VERSION,
  versionIfOfferable,
  versionToOfferNext,
} from '../../mcp/index.js';
import type { Deadline } from '../../fair/index.js';
import { KIB, limits, rpcCodes } from '../../shared/index.js';
import type { UpstreamTarget } from '../../user-config/index.js';
import type { ClientIntroduction } from './client-introduction.js';
import {
  withCookies,
  type OutgoingMessage,
  plainRequest,
  type UpstreamCall,
  type UpstreamHandler,
  httpStatusFault,
  initializeFault,
  redirectFault,
  isNotUnderstood,
  upstreamFault,
  type UpstreamFault,
  type UpstreamFaultKind,
} from '../../http-client/index.js';
import { CONTENT_HEADERS, type BackendEndpoint } from '../reach/backend-endpoints.js';
import type { UpstreamDependencies } from '../upstream-context.js';
import { RpcRequest } from '../rpc/rpc-request.js';
import type { Redirection, RequestHandler, RequestPlan } from '../rpc/request-plan.js';
import { SseStream } from '../sse/sse-stream.js';
import type { UpstreamSessionRecord } from './known-mirrors.js';

export interface HandshakeResult {
  readonly record: UpstreamSessionRecord;
  readonly resultJson: Buffer;
  readonly headers: readonly string[];
  /** The stream that carries the whole session, if the server has the 2024-11-05 transport. */
  readonly stream?: SseStream | undefined;
  /** Notifications that came before the answer to `initialize`. */
  readonly earlyNotifications?: readonly string[];
}

export interface HandshakeHandler {
  onOpen(result: HandshakeResult): void;
  /** @param isOtherEra whether the backend seems not to speak this era of MCP, so that the other era is worth a try. */
  onFault(fault: UpstreamFault, isOtherEra: boolean): void;
}

const NO_HEADERS: readonly string[] = [];
/** Bounds of the notifications that are kept from before the answer to `initialize`: their number, and the bytes of each. */
const EARLY_NOTIFICATIONS_MAX = 16;
const EARLY_NOTIFICATION_BYTES_MAX = 4 * KIB;
const INITIALIZED_MESSAGE = Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}');

const BEFORE_CLIENT_INFO = Buffer.from(',"clientInfo":');
const AFTER_CLIENT_INFO = Buffer.from('}}');

export interface HandshakePlan {
  readonly subject: string;
  readonly target: UpstreamTarget;
  readonly redirection: Redirection;
  readonly endpoint: BackendEndpoint;
  /** The caller's headers, and credentials: name, value, … */
  readonly headers: readonly string[];
  readonly introduction: ClientIntroduction;
  /** The caller's version of MCP, which is offered to a backend that refuses the latest version without naming another. */
  readonly protocolVersion: string;
  readonly credentials: RequestPlan['credentials'];
  readonly keepsCookies: boolean;
  /** Whether the server has the 2024-11-05 transport, whose stream names the URL for messages. */
  readonly isSse: boolean;
  readonly dueAtMs: number;
}

export abstract class Handshake {
  protected readonly context: UpstreamDependencies;
  protected readonly plan: HandshakePlan;
  protected readonly handler: HandshakeHandler;

  /** The handler is never called synchronously. */
  constructor(context: UpstreamDependencies, plan: HandshakePlan, handler: HandshakeHandler) {
    this.context = context;
    this.plan = plan;
    this.handler = handler;
  }

  /** Aborts the handshake. The handler is not called. A session that the backend has already made is ended. */
  abstract abort(): void;

  protected get remainingMs(): number {
    return this.plan.dueAtMs - this.context.nowMs();
  }

  /** Sends a request. @param id the message's id, as JSON. @param headers those to send besides the caller's. */
  protected sendRequest(
    id: Buffer,
    { body, head }: OutgoingMessage,
    headers: readonly string[],
    handler: RequestHandler,
    session?: RequestPlan['session'],
    stream?: SseStream,
  ): RpcRequest {
    const { subject, target, redirection, endpoint, credentials } = this.plan;
    const { http, deadlines } = this.context;
    return new RpcRequest(
      http,
      deadlines,
      {
        subject,
        target,
        redirection,
        endpoint,
        headers: withHeaders(headers, this.plan.headers),
        body,
        head,
        id: { bytes: id, start: 0, end: id.length },
        timeoutMs: this.remainingMs,
        isSilenceTimeout: false,
        carriesSession: false,
        answerBytesMax: limits.initializeAnswerBytesMax,
        credentials,
        session,
        stream,
      },
      handler,
    );
  }
}

export class Initialization extends Handshake implements RequestHandler {
  /** The version that is offered (C05). */
  #version = LATEST_LEGACY_VERSION;
  #nextVersion: string | undefined;
  #request: RpcRequest | undefined;
  #confirmation: UpstreamCall | undefined;
  /** The deadline for the `endpoint` event of the SSE stream, and later for `#confirmation`. */
  #deadline: Deadline | undefined;
  #stream: SseStream | undefined;
  #result: HandshakeResult | undefined;
  /** The session id of the answer to `initialize`; `''` for none. `#cookies`: the cookies of all responses so far. */
  #sessionId = '';
  #cookies = '';
  #isOver = false;
  readonly #earlyNotifications: string[] = [];

  constructor(context: UpstreamDependencies, plan: HandshakePlan, handler: HandshakeHandler) {
    super(context, plan, handler);
    if (plan.isSse) this.#openStream();
    else this.#initialize();
  }

  #openStream(): void {
    const stream = (this.#stream = new SseStream(this.context, this.plan, {
      onEndpoint: (cookies) => {
        this.#deadline?.cancel();
        this.noteHead('', cookies);
        this.#initialize();
      },
      onLost: (fault) => this.#fail(fault),
    }));
    this.#deadline = this.context.deadlines.after(this.remainingMs, () =>
      this.#fail(upstreamFault(stream.isAnswered ? 'endpoint-missing' : 'answer-timeout')),
    );
  }

  #initialize(): void {
    const { endpoint, introduction } = this.plan;
    const id = this.context.ownIds.next();
    this.#sessionId = '';
    const headers = withHeaders(endpoint.contentHeaders, this.#cookies === '' ? NO_HEADERS : ['cookie', this.#cookies]);
    const body = initializeBody(id, this.#version, introduction);
    this.#request = this.sendRequest(id, { body }, headers, this, this, this.#stream);
  }

  noteHead(sessionId: string, cookieLines: string): void {
    this.#sessionId = sessionId;
    if (cookieLines === '' || !this.plan.keepsCookies) return;
    this.#cookies = withCookies(this.#cookies, cookieLines, this.#target);
  }

  abort(): void {
    if (!this.#tryEnd()) return;
    this.#endSession(this.#result?.record);
    this.#stream?.close();
  }

  #fail(fault: UpstreamFault, isOtherEra = false): void {
    if (!this.#tryEnd()) return;
    this.#stream?.close();
    this.handler.onFault(fault, isOtherEra && !this.plan.isSse);
  }

  #tryEnd(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#request?.abort();
    this.#confirmation?.abort();
    this.#deadline?.cancel();
    return true;
  }

  get #target(): UpstreamTarget {
    const { redirection, target } = this.plan;
    return this.#stream?.target ?? redirection.movedTo ?? target;
  }

  /** Keeps notifications for a later listener. Requests are ignored, because the session is not open yet (C07). */
  onMessage(bytes: Buffer, { kind }: BackendMessage): void {
    const isKept = kind === 'notification' && bytes.length <= EARLY_NOTIFICATION_BYTES_MAX;
    if (isKept && this.#earlyNotifications.length < EARLY_NOTIFICATIONS_MAX)
      this.#earlyNotifications.push(bytes.toString());
  }

  onAnswer(bytes: Buffer, message: BackendMessage): void {
    this.#request = undefined;
    const sessionId = this.#sessionId;
    const record = readRecord(bytes, message, sessionId, this.#cookies);
    if ('kind' in record) {
      this.#endSession({ sessionId, protocolVersion: this.#version });
      const error = bytes.subarray(message.bodyStart, message.bodyEnd);
      if (message.isError) this.#noteNextVersion(error);
      if (this.#tryNextVersion()) return;
      const isInternal = message.isError && readBackendError(error).code === rpcCodes.internalError;
      this.#fail(record, suggestsOtherEra(record) && !isInternal);
      return;
    }
    this.#confirm(resultOf(record, bytes.subarray(message.bodyStart, message.bodyEnd)));
  }

  onFault(fault: UpstreamFault): void {
    this.#request = undefined;
    const { kind, detail } = fault;
    // A 400 may be about the offered version: a client that connected directly would have offered its own.
    if (kind === 'http-status' && detail === '400' && this.#version === LATEST_LEGACY_VERSION)
      this.#nextVersion ??= versionIfOfferable(this.plan.protocolVersion);
    if (!this.#tryNextVersion()) this.#fail(fault, suggestsOtherEra(fault));
  }

  #noteNextVersion(error: Buffer): void {
    if (error.length <= limits.upstreamRefusalBytesMax && this.#version === LATEST_LEGACY_VERSION)
      this.#nextVersion = versionToOfferNext(error.toString(), this.plan.protocolVersion);
  }

  #tryNextVersion(): boolean {
    if (this.#nextVersion === undefined) return false;
    this.#version = this.#nextVersion;
    this.#nextVersion = undefined;
    this.#initialize();
    return true;
  }

  faultOfError(error: Buffer): UpstreamFault | undefined {
    this.#noteNextVersion(error);
    const fault = initializeFault(error);
    return fault.kind === 'initialize-refused' ? undefined : fault;
  }

  #confirm(result: HandshakeResult): void {
    this.#result = result;
    let refusal: UpstreamFault | undefined;
    this.#deadline = this.context.deadlines.after(this.remainingMs, () =>
      this.#onConfirmationOver(refusal ?? upstreamFault('answer-timeout')),
    );
    const { subject } = this.plan;
    const target = this.#target;
    const handler: UpstreamHandler = {
      onHead: (status, contentType, newSessionId, _bodyBytes, statusHeader) => {
        if (status >= 400) refusal = httpStatusFault(status);
        else if (status >= 300) refusal = redirectFault(status, statusHeader, target);
        else {
          // The body is not needed, and some servers never end it.
          if (contentType === 'text/event-stream') this.#onConfirmationOver(undefined);
          this.#onConfirmed(result, newSessionId, statusHeader);
        }
      },
      onData: () => {},
      onEnd: () => this.#onConfirmationOver(refusal),
      onFault: (fault) => this.#onConfirmationOver(refusal ?? fault),
    };
    const headers = withHeaders(result.headers, this.plan.headers);
    this.#confirmation = this.context.http.dispatch(
      plainRequest(subject, target, 'POST', headers, INITIALIZED_MESSAGE),
      handler,
    );
  }

  /** Completes the handshake. @param newSessionId the id in the response; `''` for none. */
  #onConfirmed({ record, resultJson, headers }: HandshakeResult, newSessionId: string, cookies: string): void {
    const sessionId = (record.sessionId && newSessionId) || record.sessionId;
    this.noteHead(sessionId, cookies);
    const isChanged = sessionId !== record.sessionId || this.#cookies !== record.cookies;
    this.#isOver = true;
    const more = { stream: this.#stream, earlyNotifications: this.#earlyNotifications };
    if (!isChanged) this.handler.onOpen({ record, resultJson, headers, ...more });
    else this.handler.onOpen({ ...resultOf({ ...record, sessionId, cookies: this.#cookies }, resultJson), ...more });
  }

  #onConfirmationOver(fault: UpstreamFault | undefined): void {
    this.#deadline?.cancel();
    this.#confirmation?.abort();
    if (fault === undefined || this.#isOver) return;
    this.#endSession(this.#result?.record);
    // Some servers of 2026-07-28 answer `initialize`, but then refuse the agreed version with 400.
    this.#fail(fault, fault.kind === 'http-status' && fault.detail === '400');
  }

  /** Ends the session of a failed handshake (C12). */
  #endSession(session: Omit<SessionValues, 'cookies'> | undefined): void {
    if (session === undefined || session.sessionId === '') return;
    const { sessionId, protocolVersion } = session;
    const ownHeaders = sessionHeaders({ sessionId, protocolVersion, cookies: this.#cookies });
    const headers = [...ownHeaders, ...this.plan.headers];
    const { subject, redirection, target } = this.plan;
    this.context.oneWayRequests.send(subject, redirection.movedTo ?? target, 'DELETE', headers, undefined);
  }
}

/**
 * Whether a fault suggests the other era (N11). A server without sessions has no `initialize`, and most say which versions they speak. Any
 * other refusal that means "not understood" is worth a try.
 */
function suggestsOtherEra(fault: UpstreamFault): boolean {
  return OTHER_ERA_FAULTS.has(fault.kind) || isNotUnderstood(fault);
}

const OTHER_ERA_FAULTS: ReadonlySet<UpstreamFaultKind> = new Set([
  'version-later',
  'initialize-unknown',
  'initialize-refused',
]);

function initializeBody(id: Buffer, version: string, { capabilities, clientInfo }: ClientIntroduction): Buffer {
  const offer = `"method":"initialize","params":{"protocolVersion":"${version}","capabilities":`;
  const before = Buffer.from(`{"jsonrpc":"2.0","id":${id.toString()},${offer}`);
  return Buffer.concat([before, capabilities, BEFORE_CLIENT_INFO, clientInfo, AFTER_CLIENT_INFO]);
}

function resultOf(record: UpstreamSessionRecord, resultJson: Buffer): HandshakeResult {
  return { record, headers: sessionHeaders(record), resultJson };
}

type SessionValues = Pick<UpstreamSessionRecord, 'sessionId' | 'protocolVersion' | 'cookies'>;

/** Headers of every request in a session (C09, C10). @param own the headers that do not depend on the session. */
export function sessionHeaders(
  { sessionId, protocolVersion, cookies = '' }: SessionValues,
  own = CONTENT_HEADERS,
): readonly string[] {
  const headers = [...own, 'mcp-protocol-version', protocolVersion];
  if (sessionId !== '') headers.push('mcp-session-id', sessionId);
  if (cookies !== '') headers.push('cookie', cookies);
  return headers;
}

/** Headers of the GET for a backend's own stream. @param lastEventId to resume after; `''` for none. */
export function listeningHeaders(record: SessionValues, lastEventId: string): readonly string[] {
  const headers = sessionHeaders(record, ['accept', 'text/event-stream']);
  return lastEventId === '' ? headers : [...headers, 'last-event-id', lastEventId];
}

/** The headers with `added`. Returns the given array if nothing is added, because serialized heads are cached by array. */
function withHeaders(headers: readonly string[], added: readonly string[]): readonly string[] {
  return added.length === 0 ? headers : [...headers, ...added];
}

function readRecord(
  bytes: Buffer,
  message: BackendMessage,
  sessionId: string,
  cookies: string,
): UpstreamSessionRecord | UpstreamFault {
  if (message.isError) return initializeFault(bytes.subarray(message.bodyStart, message.bodyEnd));
  const result = readInitializeResult(bytes.subarray(message.bodyStart, message.bodyEnd));
  if (result === undefined) return upstreamFault('answer-invalid');
  // Some servers accept `initialize` only to say that they have no sessions.
  if (result.protocolVersion === MODERN_PROTOCOL_VERSION) return upstreamFault('version-later');
  if (!BACKEND_VERSIONS.has(result.protocolVersion)) return upstreamFault('version-unsupported');
  return { era: 'legacy', sessionId, cookies, ...result };
}
