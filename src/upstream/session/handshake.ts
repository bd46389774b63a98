// The opening of an upstream session: `initialize`, then `notifications/initialized` (C05, C06). Only when both were
// taken is the session usable; everything together has one deadline. Cold: twice per session and backend.
import { readInitializeResult } from '../../protocol/initialize-result.js';
import type { BackendMessage } from '../../protocol/json-rpc.js';
import type { Deadline } from '../../shared/deadline-wheel.js';
import { limits } from '../../shared/limits.js';
import type { UpstreamTarget } from '../../user-config/upstream-target.js';
import {
  LATEST_PROTOCOL_VERSION,
  MODERN_PROTOCOL_VERSION,
  PROTOCOL_VERSIONS,
} from '../../protocol/protocol-versions.js';
import type { ClientIntroduction } from './client-introduction.js';
import { plainRequest, type HttpUpstream, type UpstreamCall, type UpstreamHandler } from '../http/http-upstream.js';
import { CONTENT_HEADERS, type Endpoint } from '../reach/endpoint.js';
import type { UpstreamContext } from '../upstream-context.js';
import {
  httpStatusFault,
  initializeFault,
  redirectFault,
  upstreamFault,
  type UpstreamFault,
} from '../http/upstream-fault.js';
import { RpcRequest, type IdSpan, type RequestHandler } from '../rpc/rpc-request.js';
import type { SseStream } from '../sse/sse-stream.js';
import type { UpstreamSessionRecord } from './upstream-session-record.js';

export interface HandshakeResult {
  readonly record: UpstreamSessionRecord;
  /** Headers of every later request in the session: name, value, … */
  readonly headers: readonly string[];
  /** There for a server of the transport of 2024-11-05: what all of the session is on. */
  readonly stream?: SseStream;
  /** Of a backend without sessions: whether it says that it has some for who speaks a version before. */
  readonly speaksLegacy?: boolean;
}

export interface HandshakeHandler {
  onOpen(result: HandshakeResult): void;
  /** @param isOtherEra whether the backend has shown that it does not speak this era of MCP, so that another may be worth a try. */
  onFault(fault: UpstreamFault, isOtherEra: boolean): void;
}

/** A handshake under way. */
export interface Handshake {
  /** Gives up without a word; a session that the backend made already is ended. */
  abort(): void;
}

const INITIALIZED = Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}');

// Around the id, and around what the caller says of itself. Every backend is offered the latest version.
const BEFORE_ID = Buffer.from('{"jsonrpc":"2.0","id":');
const BEFORE_CAPABILITIES = Buffer.from(
  `,"method":"initialize","params":{"protocolVersion":"${LATEST_PROTOCOL_VERSION}","capabilities":`,
);
const BEFORE_CLIENT_INFO = Buffer.from(',"clientInfo":');
const BEHIND_CLIENT_INFO = Buffer.from('}}');

export interface HandshakePlan {
  readonly subject: string;
  readonly target: UpstreamTarget;
  readonly endpoint: Endpoint;
  /** Of the caller for this backend, and credentials: name, value, … */
  readonly headers: readonly string[];
  readonly introduction: ClientIntroduction;
  /** Whether 401 is a fault whatever comes with it: see `RequestPlan`. */
  readonly isUnauthorizedFault: boolean;
  /** On the clock of the context: by when it must be over. */
  readonly dueMs: number;
  /** What sends a request, where that is not the connections of calls. */
  readonly wayOf?: (id: IdSpan) => HttpUpstream;
}

/** Starts a handshake; the handler is never called from within. */
export function openHandshake(context: UpstreamContext, plan: HandshakePlan, handler: HandshakeHandler): Handshake {
  return new Opening(context, plan, handler);
}

class Opening implements Handshake, RequestHandler {
  readonly #context: UpstreamContext;
  readonly #plan: HandshakePlan;
  readonly #handler: HandshakeHandler;
  #request: RpcRequest | undefined;
  #notice: UpstreamCall | undefined;
  #noticeDeadline: Deadline | undefined;
  #result: HandshakeResult | undefined;

  constructor(context: UpstreamContext, plan: HandshakePlan, handler: HandshakeHandler) {
    this.#context = context;
    this.#plan = plan;
    this.#handler = handler;
    const id = context.ids.next();
    const deadlineMs = plan.dueMs - context.nowMs();
    const idSpan = { bytes: id, start: 0, end: id.length };
    this.#request = new RpcRequest(
      plan.wayOf?.(idSpan) ?? context.http,
      context.deadlines,
      {
        subject: plan.subject,
        target: plan.target,
        endpoint: plan.endpoint,
        headers: withHeaders(plan.endpoint.contentHeaders, plan.headers),
        body: initializeBody(id, plan.introduction),
        id: idSpan,
        deadlineMs,
        isSilenceDeadline: false,
        carriesSession: false,
        answerBytesMax: limits.initializeAnswerBytesMax,
        isUnauthorizedFault: plan.isUnauthorizedFault,
      },
      this,
    );
  }

  abort(): void {
    this.#request?.abort();
    this.#notice?.abort();
    this.#noticeDeadline?.cancel();
    const record = this.#result?.record;
    if (record !== undefined) this.#endSession(record.sessionId, record.protocolVersion);
  }

  onMessage(): void {
    // Nothing that comes before the answer to `initialize` concerns a session that is not open yet (C07).
  }

  onAnswer(bytes: Buffer, message: BackendMessage, sessionId: string): void {
    this.#request = undefined;
    const record = readRecord(bytes, message, sessionId);
    if ('kind' in record) {
      this.#endSession(sessionId, LATEST_PROTOCOL_VERSION);
      this.#handler.onFault(record, isOfOtherEra(record));
      return;
    }
    const headers = sessionHeaders(sessionId, record.protocolVersion);
    this.#result = { record, headers };
    this.#confirm(this.#result);
  }

  onFault(fault: UpstreamFault): void {
    this.#request = undefined;
    this.#handler.onFault(fault, isOfOtherEra(fault));
  }

  faultOfError(error: Buffer): UpstreamFault | undefined {
    const fault = initializeFault(error);
    return fault.kind === 'initialize-refused' ? undefined : fault;
  }

  #confirm(result: HandshakeResult): void {
    const remainingMs = this.#plan.dueMs - this.#context.nowMs();
    let isVersionRefused = false;
    const settle = (fault: UpstreamFault | undefined): void => {
      this.#noticeDeadline?.cancel();
      this.#notice = undefined;
      if (fault === undefined) {
        this.#handler.onOpen(result);
      } else {
        this.#endSession(result.record.sessionId, result.record.protocolVersion);
        this.#handler.onFault(fault, isVersionRefused);
      }
    };
    this.#noticeDeadline = this.#context.deadlines.after(remainingMs, () => {
      this.#notice?.abort();
      settle(upstreamFault('answer-timeout'));
    });
    let refusal: UpstreamFault | undefined;
    const { subject, target } = this.#plan;
    const handler: UpstreamHandler = {
      onHead: (status, _contentType, _sessionId, _bodyBytes, location) => {
        // There are servers of 2026-07-28 that agree to `initialize`, for its client to leave, and refuse all that names that version.
        isVersionRefused = status === 400;
        if (status >= 400) refusal = httpStatusFault(status);
        else if (status >= 300) refusal = redirectFault(status, location, target);
      },
      onData: () => {},
      onEnd: () => settle(refusal),
      onFault: settle,
    };
    const headers = withHeaders(result.headers, this.#plan.headers);
    this.#notice = this.#context.http.dispatch(plainRequest(subject, target, 'POST', headers, INITIALIZED), handler);
  }

  /** A backend that made a session for a handshake that came to nothing is told so (C12). */
  #endSession(sessionId: string, protocolVersion: string): void {
    if (sessionId === '') return;
    const headers = [...sessionHeaders(sessionId, protocolVersion), ...this.#plan.headers];
    this.#context.notices.send(this.#plan.subject, this.#plan.target, 'DELETE', headers, undefined);
  }
}

/** A server without sessions has no `initialize`, and most say which versions they speak. */
function isOfOtherEra({ kind }: UpstreamFault): boolean {
  return kind === 'version-later' || kind === 'initialize-unknown';
}

function initializeBody(id: Buffer, { capabilities, clientInfo }: ClientIntroduction): Buffer {
  const before = [BEFORE_ID, id, BEFORE_CAPABILITIES, capabilities, BEFORE_CLIENT_INFO];
  return Buffer.concat([...before, clientInfo, BEHIND_CLIENT_INFO]);
}

/** What every request in a session carries (C09, C10). */
export function sessionHeaders(sessionId: string, protocolVersion: string): readonly string[] {
  const headers = [...CONTENT_HEADERS, 'mcp-protocol-version', protocolVersion];
  if (sessionId !== '') headers.push('mcp-session-id', sessionId);
  return headers;
}

/** What the GET of a backend's own stream carries. @param lastEventId where to go on; `''` for nowhere. */
export function listeningHeaders(record: UpstreamSessionRecord | undefined, lastEventId: string): string[] {
  const { sessionId = '', protocolVersion = '' } = record ?? {};
  const headers = ['accept', 'text/event-stream', 'mcp-protocol-version', protocolVersion];
  if (sessionId !== '') headers.push('mcp-session-id', sessionId);
  if (lastEventId !== '') headers.push('last-event-id', lastEventId);
  return headers;
}

/** The same array when there is nothing to add: heads are remembered with it. */
export function withHeaders(headers: readonly string[], added: readonly string[]): readonly string[] {
  return added.length === 0 ? headers : [...headers, ...added];
}

function readRecord(bytes: Buffer, message: BackendMessage, sessionId: string): UpstreamSessionRecord | UpstreamFault {
  if (message.isError) return initializeFault(bytes.subarray(message.bodyStart, message.bodyEnd));
  const result = readInitializeResult(bytes.subarray(message.bodyStart, message.bodyEnd));
  if (result === undefined) return upstreamFault('answer-invalid');
  // There are servers that take `initialize` and answer that they have no sessions.
  if (result.protocolVersion === MODERN_PROTOCOL_VERSION) return upstreamFault('version-later');
  if (!PROTOCOL_VERSIONS.has(result.protocolVersion)) return upstreamFault('version-unsupported');
  return { era: 'legacy', sessionId, ...result };
}
