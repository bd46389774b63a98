// Builds the gateway's own JSON-RPC answers, and sends answers to callers in the form that they accept.
import { encodeEvent, requestIdIn } from '../bytes/index.js';
import type { ClientMessage, ClientBatch, ParsedClientMessage } from '../mcp/index.js';
import { limits, type Refusal, type RpcError, refusals } from '../shared/index.js';
import { copied, joined, joinedForNow, REUSED_BUFFER_BYTES } from '../fair/index.js';
import type { Exchange, ExchangeRequest } from './exchange.js';
import { EventPieces, PartPieces } from './piece-source.js';
import { PieceSender } from './piece-sender.js';
import type { IdSpan } from '../upstream/index.js';

/** What is written around a merged list to make it an answer. */
export interface AnswerFrame {
  /** The beginning of the answer, up to the value of `result`. */
  readonly head: string;
  /** Whether the answer is a plain message, or one in an event of a stream. */
  readonly framing: 'message' | 'event';
  /** The members of the result beside the list. */
  readonly extras?: ResultExtras | undefined;
}

/** What the modern era adds to results: the server's name, and how long and for whom a result may be cached. */
export interface ResultExtras {
  /** The members as JSON, each followed by a comma. */
  readonly members: string;
  readonly meta: Readonly<Record<string, unknown>>;
}

const MESSAGE_HEAD = Buffer.from('{"jsonrpc":"2.0","id":');

export function idSpanOf(exchange: Exchange, message: ClientMessage): IdSpan {
  return { bytes: exchange.request.body, start: message.idStart, end: message.idEnd };
}

/** The message with a result. @param result as JSON. The id is copied byte for byte. */
export function resultMessage(id: IdSpan, result: Uint8Array | string): Buffer {
  const resultBytes = typeof result === 'string' ? Buffer.from(result) : result;
  return Buffer.concat([MESSAGE_HEAD, bytesOfId(id), BEFORE_RESULT, resultBytes, MESSAGE_END]);
}

export function errorMessage(id: IdSpan, error: RpcError): Buffer {
  return Buffer.concat([MESSAGE_HEAD, bytesOfId(id), BEFORE_ERROR, Buffer.from(JSON.stringify(error)), MESSAGE_END]);
}

/** What the response with a merged list has beside the list. @param isStreaming whether the exchange's event stream is open. */
export function answerFrame(exchange: Exchange, id: IdSpan, isStreaming: boolean, extras?: ResultExtras): AnswerFrame {
  const head = `${MESSAGE_HEAD.toString()}${bytesOfId(id).toString()}${BEFORE_RESULT.toString()}`;
  return { head, framing: isStreaming || acceptsOnlyEvents(exchange) ? 'event' : 'message', extras };
}

/** Sends a whole answer: as one event if the caller accepts only event streams, else as one JSON object (specification 2.2). */
export function answer(exchange: Exchange, message: Buffer, sessionId?: string): void {
  const isEvent = acceptsOnlyEvents(exchange);
  if (isEvent && message.length > limits.readAtOnceBytesMax && sessionId === undefined)
    answerInParts(exchange, [message]);
  else answerEncoded(exchange, isEvent ? encodeEvent(message) : message, sessionId);
}

/** Like `answer`, for bytes that are valid only until this function returns. */
export function answerBorrowed(exchange: Exchange, message: Buffer): void {
  const isCopiedLater = exchange.copiesSmallBodies && message.length <= REUSED_BUFFER_BYTES;
  if (acceptsOnlyEvents(exchange)) answer(exchange, copied(message));
  else exchange.respond(200, 'application/json', isCopiedLater ? message : copied(message));
}

/** Like `answer`, for a message in parts. */
export function answerJoined(exchange: Exchange, parts: readonly Buffer[]): void {
  if (acceptsOnlyEvents(exchange)) return answer(exchange, joined(parts));
  const message = (exchange.copiesSmallBodies ? joinedForNow(parts) : undefined) ?? joined(parts);
  exchange.respond(200, 'application/json', message);
}

/** Like `answer`, for a large message, which is sent in pieces. */
export function answerInParts(exchange: Exchange, parts: readonly Buffer[]): void {
  const isEvent = acceptsOnlyEvents(exchange);
  const pieces = isEvent ? new EventPieces(parts) : new PartPieces(parts);
  if (isEvent) exchange.openStream();
  else exchange.openBody('application/json', pieces.bytes);
  new PieceSender(exchange, pieces, () => exchange.end()).start();
}

/**
 * Like `answer`, for bytes that are already an event if the caller accepts only event streams.
 * @param isStreaming whether the event stream is open: then the bytes are an event in any case.
 */
export function answerEncoded(exchange: Exchange, bytes: Buffer, sessionId?: string, isStreaming = false): void {
  if (isStreaming || acceptsOnlyEvents(exchange)) {
    if (!isStreaming) exchange.openStream(sessionId);
    exchange.end(bytes);
  } else {
    exchange.respond(200, 'application/json', bytes, sessionId);
  }
}

/** Answers with an error. @param status any but 200 makes the answer one JSON object, whatever the caller accepts. */
export function answerError(exchange: Exchange, id: IdSpan, error: RpcError, status = 200): void {
  exchange.watcher?.onOutcome('rpc-error', error.code, -1);
  answerWithStatus(exchange, errorMessage(id, error), status);
}

export function answerWithStatus(exchange: Exchange, message: Buffer, status: number): void {
  if (status === 200) answer(exchange, message);
  else exchange.respond(status, 'application/json', message);
}

/** Refuses a request before or instead of answering it as JSON-RPC. */
export function refuse(exchange: Exchange, refusal: Refusal): void {
  exchange.watcher?.onOutcome('refused', refusal.code, -1);
  exchange.respond(refusal.status, refusal.contentType, refusal.body, undefined, refusal.headers);
}

/** Answers a notification or a response from the caller (S05). */
export function accept(exchange: Exchange): void {
  exchange.respond(202, '', '');
}

function acceptsOnlyEvents(exchange: Exchange): boolean {
  return exchange.request.acceptedTypes === 'event-stream';
}

function bytesOfId(id: IdSpan): Buffer {
  return id.bytes.subarray(id.start, id.end);
}

const BEFORE_RESULT = Buffer.from(',"result":');
const BEFORE_ERROR = Buffer.from(',"error":');
const MESSAGE_END = Buffer.from('}');

// Refusals of messages contain the request's id if it can be read (specification 2.2): many clients ignore an answer without it. Cold
// path.

const RPC_HEAD = '{"jsonrpc":"2.0",';

/** Refuses a message, with its id if that can be found. @param message the parsed body, if it was parsed. */
export function refuseMessage(exchange: Exchange, refusal: Refusal, message?: ParsedClientMessage): void {
  refuse(exchange, withRequestId(refusal, exchange.request.body, message));
}

/** Refuses a body that is no message, or a batch where none is allowed. */
export function refuseInvalid(exchange: Exchange, unread: ClientBatch | 'not-json' | 'not-json-rpc'): void {
  if (typeof unread !== 'string') refuse(exchange, refusals.batchRefused);
  else if (unread === 'not-json') refuse(exchange, refusals.notJson);
  else refuseMessage(exchange, refusals.notJsonRpc, unread);
}

/** Whether the body of a request is received although its head is refused: for the request's id in the body. */
export function isBodyReceivedForId(
  method: ExchangeRequest['method'],
  { isAmbiguous, contentLength }: { readonly isAmbiguous: boolean; readonly contentLength: string },
): boolean {
  if (method !== 'POST' || isAmbiguous || contentLength === '') return false;
  return Number(contentLength) <= limits.readAtOnceBytesMax;
}

/** The refusal with the request's id; the same refusal if it is no JSON-RPC error, or the body has no readable id. */
export function withRequestId(refusal: Refusal, body: Buffer, message?: ParsedClientMessage): Refusal {
  if (!refusal.body.startsWith(RPC_HEAD)) return refusal;
  const id = idTextOf(body, message);
  if (id === undefined) return refusal;
  return { ...refusal, body: `${RPC_HEAD}"id":${id},${refusal.body.slice(RPC_HEAD.length)}` };
}

function idTextOf(body: Buffer, message: ParsedClientMessage | undefined): string | undefined {
  if (typeof message === 'object' && message.kind !== 'batch') {
    return message.kind === 'request' ? body.toString('utf8', message.idStart, message.idEnd) : undefined;
  }
  const id = requestIdIn(body);
  return id && body.toString('utf8', id.start, id.end);
}
