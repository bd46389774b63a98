// What a JSON-RPC request to a backend consists of, and the handler of its answer (rpc-request.ts).
import { isUtf8 } from 'node:buffer';
import { withoutByteOrderMark } from '../../bytes/index.js';
import type { Credentials } from '../../credentials/index.js';
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

/** The JSON of a whole answer, without a byte order mark; of an array, its last message. */
export function answerJsonOf(bytes: Buffer, { endpoint }: Pick<RequestPlan, 'endpoint'>): Buffer {
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

/** A copy with U+FFFD in place of bytes that are not UTF-8; `undefined` if all are, or if the message is too large to be read at once. */
export function repairedUtf8(bytes: Buffer, { endpoint }: Pick<RequestPlan, 'endpoint'>): Buffer | undefined {
  if (bytes.length > limits.readAtOnceBytesMax || isUtf8(bytes)) return undefined;
  endpoint.onForgiven('not-utf-8');
  return Buffer.from(bytes.toString());
}

/** The most white space that is skipped on each side of the JSON. Tens of megabytes would block the event loop. */
const SPACE_BYTES_MAX = 64;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

export interface RequestHandler {
  /** @param bytes the whole answer, a result or an error; if `isBorrowed`, valid only until this returns. */
  onAnswer(bytes: Buffer, message: BackendMessage, isBorrowed?: boolean): void;
  /** Set by a handler that copies what it keeps: an answer in one piece may then be borrowed. */
  readonly acceptsBorrowed?: true;
  /** @param bytes a notification or a request, valid until this returns, unless longer than `limits.readAtOnceBytesMax`. */
  onMessage(bytes: Buffer, message: BackendMessage): void;
  onFault(fault: UpstreamFault): void;
  /** Called when the bytes of `setRation` have been read, and the request is paused. @param spentMs the time spent reading them. */
  onRationRead?(spentMs: number): void;
  /** The fault for a JSON-RPC error without the request's id in an HTTP error response; `undefined` if only the status counts. */
  faultOfError?(error: Buffer): UpstreamFault | undefined;
  /** Gets the answer in parts, for another thread to parse, except a small one on a stream. `onFault` may come between two parts. */
  onUnparsed?(pieces: readonly Buffer[], isLast: boolean): void;
}

/** Where the backend has redirected a session's messages to, within its origin. */
export interface Redirection {
  movedTo: UpstreamTarget | undefined;
}

/** Delivers answers to requests that got 202. */
export interface AnswerSource {
  /** Calls the reader's `onEvent` or `onLost` once, perhaps synchronously, unless `forget` is called before. */
  wait(id: IdSpan, reader: AnswerReader): void;
  forget(id: IdSpan, reader: AnswerReader): void;
}

/** The stream of an SSE session (`SseStream`), which carries the answers to all its requests. */
export interface AnswerStream extends Redirection, Pick<AnswerSource, 'forget'> {
  /** The URL to post messages to, unless `movedTo` replaces it. */
  readonly messageTarget: UpstreamTarget;
  dispatch(id: IdSpan, request: UpstreamRequest, reader: AnswerReader): UpstreamCall;
}

export interface AnswerReader extends UpstreamHandler {
  /** Called with an event. @param data a message that belongs to the request, or its answer. May be kept. */
  onEvent(data: Buffer): void;
  onLost(fault: UpstreamFault): void;
}

/** Removes and returns the reader that waits for an answer. A number id may come back as a string. @param key of the answer's id. */
export function takeReader(waiting: Map<string, AnswerReader>, key: string): AnswerReader | undefined {
  const waitingKey = waiting.has(key) ? key : key.replace(/^"(?!")/, '');
  const reader = waiting.get(waitingKey);
  waiting.delete(waitingKey);
  return reader;
}

/** Hands an answer to its reader: a large one at once, to be counted; others round robin by subject, since a chunk may contain hundreds. */
export function deliverAnswer(subject: string, reader: AnswerReader, answer: Buffer): void {
  if (answer.length >= limits.countedFromBytes) reader.onEvent(answer);
  else wakeScheduler.run(subject, () => reader.onEvent(answer));
}

interface SendingSession {
  /** Delivers answers that do not come in the response; `undefined` if there is no stream for them. */
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
  /** The session, which gets the session id and `set-cookie` lines of the response. */
  readonly session?: SendingSession | undefined;
  /** The session id of the request; `''` for none. */
  readonly sessionId?: string;
  /** The era of the request: the backend may no longer speak it. `undefined` for requests that find out the backend's era. */
  readonly era?: Era | undefined;
  /** The memory that counts a large answer; absent where the answer is small. */
  readonly memory?: MessageMemory | undefined;
  /** Whether large messages are searched for task ids. */
  readonly hasTasks?: boolean;
  /** The credentials sent. With them, 401 is always a fault, even with a JSON-RPC error: others may be available. */
  readonly credentials?: Credentials | undefined;
  /** The most bytes of a JSON answer or one event; by default `limits.upstreamMessageBytesMax`. */
  readonly answerBytesMax?: number;
  /** The stream that brings the answer, for a server with the 2024-11-05 transport. */
  readonly stream?: AnswerStream | undefined;
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
