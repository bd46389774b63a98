// The parts of a JSON-RPC request to a backend, and the handler of its answer (rpc-request.ts).
import { withoutByteOrderMark } from '../../bytes/index.js';
import type { BackendMessage, Era } from '../../mcp/index.js';
import type { MessageMemory } from '../../fair/index.js';
import type { UpstreamTarget } from '../../user-config/index.js';
import type {
  HttpUpstream,
  OutgoingMessage,
  UpstreamCall,
  UpstreamFault,
  UpstreamHandler,
  UpstreamRequest,
} from '../../http-client/index.js';
import type { BackendEndpoint } from '../reach/backend-endpoints.js';
import type { RpcError } from '../../shared/index.js';

/** A JSON-RPC id, as JSON: the bytes from `start` to before `end`. */
export interface IdSpan {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

export function isAnswerType(contentType: string): boolean {
  return contentType === 'application/json' || contentType === 'text/event-stream';
}

/** A whole answer without a byte order mark, and without the brackets of an array around it. */
export function jsonOf(bytes: Buffer, { endpoint }: Pick<RequestPlan, 'endpoint'>): Buffer {
  const json = withoutByteOrderMark(bytes);
  if (json !== bytes) endpoint.onForgiven('byte-order-mark');
  let start = 0;
  let end = json.length;
  while (start < SPACE_BYTES_MAX && isSpace(json[start])) start++;
  while (json.length - end < SPACE_BYTES_MAX && isSpace(json[end - 1])) end--;
  if (json[start] !== OPENING_BRACKET || json[end - 1] !== CLOSING_BRACKET) return json;
  endpoint.onForgiven('array');
  return json.subarray(start + 1, end - 1);
}

/** Bytes of white space that are passed over on each side: a body of tens of megabytes of it would hold up the event loop. */
const SPACE_BYTES_MAX = 64;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

export interface RequestHandler {
  /**
   * The answer, a result or an error; `bytes` is the whole message as the backend sent it, and may be kept.
   * @param isInPlace whether `bytes` is valid only until this returns.
   */
  onAnswer(bytes: Buffer, message: BackendMessage, isInPlace?: boolean): void;
  /** Set by a handler that copies what it keeps of an answer: an answer that came in one piece is then not copied for it. */
  readonly readsInPlace?: true;
  /**
   * A notification, or a request from the backend, that came before the answer on its event stream; `bytes` is valid until the callback
   * returns, and may be kept when it is longer than `limits.readAtOnceBytesMax`.
   */
  onMessage(bytes: Buffer, message: BackendMessage): void;
  onFault(fault: UpstreamFault): void;
  /** The handler's ration has been read, and the request is paused. @param spentMs the time spent reading it. */
  onRationRead?(spentMs: number): void;
  /** Interprets an error that came with an HTTP error status and belongs to no request; without this only the status counts. */
  faultOfError?(error: Buffer): UpstreamFault | undefined;
  /**
   * Called in place of `onAnswer` where the handler reads large answers elsewhere, with bytes that were not checked: the handler must find
   * out whether they are an answer.
   * @param pieces of the message, which may be kept. A large message takes several calls, and a fault may come in between.
   */
  onUnread?(pieces: readonly Buffer[], isLast: boolean): void;
}

/** Where the backend has redirected the messages of one session to, within its origin; `undefined` for nowhere. */
export interface Redirection {
  moved: UpstreamTarget | undefined;
}

/** The stream that brings the answers to all requests of a session: `SseStream`. */
export interface SharedStream extends Redirection {
  /** The URL that the server wants messages posted to, unless `moved` replaces it. */
  readonly messageTarget: UpstreamTarget;
  /** Posts a request. Its reader is never called synchronously. */
  dispatch(id: IdSpan, request: UpstreamRequest, reader: SharedStreamReader): UpstreamCall;
  /** The request no longer waits for an answer. */
  forget(id: IdSpan, reader: SharedStreamReader): void;
}

export interface SharedStreamReader extends UpstreamHandler {
  /** @param data of one event: a message that belongs to the request, or its answer. May be kept. */
  onEvent(data: Buffer): void;
  /** The stream has ended. A POST in progress need not be read to its end. */
  onLost(fault: UpstreamFault): void;
}

export interface RequestPlan extends OutgoingMessage {
  readonly subject: string;
  /** As configured; `redirection` may replace it. */
  readonly target: UpstreamTarget;
  readonly redirection: Redirection;
  /** Is informed whether the target responds. */
  readonly endpoint: BackendEndpoint;
  readonly headers: readonly string[];
  readonly id: IdSpan;
  readonly deadlineMs: number;
  /** True: the deadline limits silence, and every byte restarts it. False: it limits the whole request. */
  readonly isSilenceDeadline: boolean;
  /** Whether the request carries a session id of the backend: only then does 404 mean that the session is lost. */
  readonly carriesSession: boolean;
  /** Gets the session id and `set-cookie` lines of a response, and the session id that the request had; each `''` for none. */
  readonly session?: { noteHead(sessionId: string, cookieLines: string, requestSessionId: string): void } | undefined;
  readonly sessionId?: string;
  /** The era that the backend has spoken, so that a refusal of that era is recognised; `undefined` for requests that detect the era. */
  readonly era?: Era | undefined;
  /** The memory that a large answer counts against; absent where the answer is known to be small. */
  readonly memory?: MessageMemory | undefined;
  /** Whether the backend has tasks, so that large messages are searched for task ids. */
  readonly hasTasks?: boolean;
  /** Whether 401 is a fault even with a JSON-RPC error in the body, because other credentials may be available. */
  readonly isUnauthorizedFault?: boolean;
  /** Most bytes of a JSON answer or of one event; `limits.upstreamMessageBytesMax` when absent. */
  readonly answerBytesMax?: number;
  /** For a server of the 2024-11-05 transport: the stream that brings the answers to all requests of the session. */
  readonly stream?: SharedStream | undefined;
  /** The connections for resuming an event stream that ended before the answer; without them the request fails. */
  readonly streams?: HttpUpstream | undefined;
}

// JSON-RPC messages that the gateway itself sends to a backend in an open session.

const BEFORE_ID = Buffer.from('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":');

/** Tells the backend that its answer to a request is no longer needed. */
export function cancelledNotification(id: IdSpan, reason: string): Buffer {
  const tail = Buffer.from(`,"reason":${JSON.stringify(reason)}}}`);
  return Buffer.concat([BEFORE_ID, id.bytes.subarray(id.start, id.end), tail]);
}

/** A request of the gateway's own in a session. @param id as JSON. @param members of its params, as JSON; `''` for none. */
export function plainOwnRequest(id: Buffer, method: string, members: string): OutgoingMessage {
  const params = members === '' ? '' : `,"params":{${members}}`;
  return { body: Buffer.from(`{"jsonrpc":"2.0","id":${id.toString()},"method":"${method}"${params}}`) };
}

/** @param id of the backend's request, as JSON. @param error `undefined` answers with an empty result. */
export function answerMessage(id: Buffer, error: RpcError | undefined): Buffer {
  const body = error === undefined ? '"result":{}' : `"error":${JSON.stringify(error)}`;
  return Buffer.from(`{"jsonrpc":"2.0","id":${id.toString()},${body}}`);
}
