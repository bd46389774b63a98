// What a JSON-RPC request to a backend consists of, and the handler of its answer (rpc-request.ts).
import { isUtf8 } from 'node:buffer';
import { withoutByteOrderMark } from '../../bytes/index.js';
import { readBackendBatch, type BackendMessage, type Era } from '../../mcp/index.js';
import { type MessageMemory, wakeScheduler } from '../../fair/index.js';
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
import { limits, type RpcError } from '../../shared/index.js';

/** A JSON-RPC id, as JSON: the bytes from `start` to before `end`. */
export interface IdSpan {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/** The JSON of a whole answer, without a byte order mark, and without an array around it. */
export function jsonOf(bytes: Buffer, { endpoint }: Pick<RequestPlan, 'endpoint'>): Buffer {
  const json = withoutByteOrderMark(bytes);
  if (json !== bytes) endpoint.onForgiven('byte-order-mark');
  let start = 0;
  let end = json.length;
  while (start < SPACE_BYTES_MAX && isSpace(json[start])) start++;
  while (json.length - end < SPACE_BYTES_MAX && isSpace(json[end - 1])) end--;
  if (json[start] !== OPENING_BRACKET || json[end - 1] !== CLOSING_BRACKET) return json;
  endpoint.onForgiven('array');
  return readBackendBatch(json)?.at(-1) ?? json.subarray(start + 1, end - 1);
}

/** The message with U+FFFD for bytes that are not UTF-8; `undefined` if there are none, or too many bytes to be read at once. */
export function asValidUtf8(bytes: Buffer, { endpoint }: Pick<RequestPlan, 'endpoint'>): Buffer | undefined {
  if (bytes.length > limits.readAtOnceBytesMax || isUtf8(bytes)) return undefined;
  endpoint.onForgiven('not-utf-8');
  return Buffer.from(bytes.toString());
}

/** How much white space is skipped on each side. Tens of megabytes would block the event loop. */
const SPACE_BYTES_MAX = 64;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

export interface RequestHandler {
  /** @param bytes the whole answer, a result or an error; may be kept, unless `isBorrowed`: then it is valid until this returns. */
  onAnswer(bytes: Buffer, message: BackendMessage, isBorrowed?: boolean): void;
  /** Set by a handler that copies what it keeps: an answer in one piece is then not copied for it. */
  readonly acceptsBorrowed?: true;
  /** @param bytes a notification or a request, valid until this returns, unless longer than `limits.readAtOnceBytesMax`. */
  onMessage(bytes: Buffer, message: BackendMessage): void;
  onFault(fault: UpstreamFault): void;
  /** Called when the ration has been read, and the request is paused. @param spentMs the time that it took. */
  onRationRead?(spentMs: number): void;
  /** Reads an error with an HTTP error status that belongs to no request. Without this, only the status counts. */
  faultOfError?(error: Buffer): UpstreamFault | undefined;
  /** Gets an answer that another thread parses, in parts, unless it is a small one on a stream. A fault may come in between. */
  onUnparsed?(pieces: readonly Buffer[], isLast: boolean): void;
}

/** Where the backend has redirected a session's messages to, within its origin. */
export interface Redirection {
  moved: UpstreamTarget | undefined;
}

/** What brings the answer to a request that got 202. */
export interface AnswerSource {
  /** Calls the reader's `onEvent` or `onLost` once, perhaps at once, unless `forget` is called before. */
  wait(id: IdSpan, reader: SharedStreamReader): void;
  forget(id: IdSpan, reader: SharedStreamReader): void;
}

/** The stream of an SSE session (`SseStream`), which carries the answers to all its requests. */
export interface SharedStream extends Redirection, Pick<AnswerSource, 'forget'> {
  /** The URL to post messages to, unless `moved` replaces it. */
  readonly messageTarget: UpstreamTarget;
  dispatch(id: IdSpan, request: UpstreamRequest, reader: SharedStreamReader): UpstreamCall;
}

export interface SharedStreamReader extends UpstreamHandler {
  /** Called with an event. @param data a message that belongs to the request, or its answer. May be kept. */
  onEvent(data: Buffer): void;
  onLost(fault: UpstreamFault): void;
}

/** Takes the answer's reader out of those that wait. A number may have come back as a string. @param key that of the answer's id. */
export function takeReader(waiting: Map<string, SharedStreamReader>, key: string): SharedStreamReader | undefined {
  const waitingKey = waiting.has(key) ? key : key.replace(/^"(?!")/, '');
  const reader = waiting.get(waitingKey);
  waiting.delete(waitingKey);
  return reader;
}

/** Hands an answer to its reader, round robin by subject, because a chunk may contain hundreds; a large one at once, to be counted. */
export function handOver(subject: string, reader: SharedStreamReader, answer: Buffer): void {
  if (answer.length >= limits.countedFromBytes) reader.onEvent(answer);
  else wakeScheduler.run(subject, () => reader.onEvent(answer));
}

interface SendingSession {
  /** What brings an answer that does not come in the response; `undefined` if nothing can. */
  readonly strayAnswers?: AnswerSource | undefined;
  noteHead(sessionId: string, cookieLines: string, requestSessionId: string): void;
}

export interface RequestPlan extends OutgoingMessage {
  readonly subject: string;
  /** The configured target, which `redirection` may replace. */
  readonly target: UpstreamTarget;
  readonly redirection: Redirection;
  readonly endpoint: BackendEndpoint;
  readonly headers: readonly string[];
  readonly id: IdSpan;
  readonly timeoutMs: number;
  /** Whether every byte restarts the timeout; if not, the timeout is for the whole request. */
  readonly isSilenceTimeout: boolean;
  /** Whether the request has a session id of the backend: only then does 404 mean that the session is lost. */
  readonly carriesSession: boolean;
  /** The session, which is told the session id and `set-cookie` lines of the response. */
  readonly session?: SendingSession | undefined;
  /** The session id of the request; `''` for none. */
  readonly sessionId?: string;
  /** The backend's era, so that it is noticed when the backend no longer speaks it; `undefined` for requests that detect it. */
  readonly era?: Era | undefined;
  /** The memory that counts a large answer; absent where the answer is small. */
  readonly memory?: MessageMemory | undefined;
  /** Whether large messages are searched for task ids. */
  readonly hasTasks?: boolean;
  /** Whether 401 is always a fault, even with a JSON-RPC error: other credentials may be available. */
  readonly isUnauthorizedFault?: boolean;
  /** The most bytes of a JSON answer or one event; by default `limits.upstreamMessageBytesMax`. */
  readonly answerBytesMax?: number;
  /** The stream of a server with the 2024-11-05 transport. */
  readonly stream?: SharedStream | undefined;
  /** The client for GETs that resume an event stream which ended before the answer. Without it, the request fails. */
  readonly resumingHttp?: HttpUpstream | undefined;
}

const BEFORE_ID = Buffer.from('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":');

export function cancelledNotification(id: IdSpan, reason: string): Buffer {
  const tail = Buffer.from(`,"reason":${JSON.stringify(reason)}}}`);
  return Buffer.concat([BEFORE_ID, id.bytes.subarray(id.start, id.end), tail]);
}

/** A request of the gateway's own to a legacy backend. @param id as JSON. @param members of its params, as JSON; `''` for none. */
export function legacyRequest(id: Buffer, method: string, members: string): OutgoingMessage {
  const params = members === '' ? '' : `,"params":{${members}}`;
  return { body: Buffer.from(`{"jsonrpc":"2.0","id":${id.toString()},"method":"${method}"${params}}`) };
}

/** The answer to a backend's request. @param id of that request, as JSON. @param error `undefined` for an empty result. */
export function answerMessage(id: Buffer, error: RpcError | undefined): Buffer {
  const body = error === undefined ? '"result":{}' : `"error":${JSON.stringify(error)}`;
  return Buffer.from(`{"jsonrpc":"2.0","id":${id.toString()},${body}}`);
}
