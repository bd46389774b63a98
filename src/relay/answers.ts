// JSON-RPC answers of our own making, and the way any answer goes to the caller in a form that it accepts.
import { encodeEvent } from '../protocol/event-stream.js';
import type { Refusal } from '../shared/refusals.js';
import { rpcCodes } from '../shared/refusals.js';
import type { Exchange } from './exchange.js';
import { faultReason, type UpstreamFault } from './upstream/upstream-fault.js';
import type { IdSpan } from './upstream/upstream-request.js';

const HEAD = Buffer.from('{"jsonrpc":"2.0","id":');

/** An error of our own, to a request. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
}

export function unknownTool(name: string): RpcError {
  return { code: rpcCodes.invalidParams, message: `Unknown tool: ${name}` };
}

/** Names the backend and the kind of failure, never its address (decisions 2.6). */
export function backendFailed(backendName: string, fault: UpstreamFault): RpcError {
  return { code: rpcCodes.internalError, message: `Backend "${backendName}" failed: ${faultReason(fault)}` };
}

/** A result message; `result` is JSON. The id keeps its bytes. */
export function resultMessage(id: IdSpan, result: Uint8Array | string): Buffer {
  const resultBytes = typeof result === 'string' ? Buffer.from(result) : result;
  return Buffer.concat([HEAD, idBytes(id), RESULT, resultBytes, TAIL]);
}

export function errorMessage(id: IdSpan, error: RpcError): Buffer {
  return Buffer.concat([HEAD, idBytes(id), ERROR, Buffer.from(JSON.stringify(error)), TAIL]);
}

/** Gives a whole JSON-RPC answer: one JSON object unless the caller takes event streams only (decisions 2.2). */
export function answer(exchange: Exchange, message: Buffer, sessionId?: string): void {
  if (exchange.request.answerForms === 'event-stream') {
    exchange.openStream(sessionId);
    exchange.write(encodeEvent(message));
    exchange.end();
  } else {
    exchange.respond(200, 'application/json', message, sessionId);
  }
}

export function answerError(exchange: Exchange, id: IdSpan, error: RpcError): void {
  answer(exchange, errorMessage(id, error));
}

/** Refuses a request before, or instead of, answering it as JSON-RPC. */
export function refuse(exchange: Exchange, refusal: Refusal): void {
  exchange.respond(refusal.status, refusal.contentType, refusal.body, undefined, refusal.headers);
}

/** A notification or a response of the caller's was taken (S05); also how a DELETE is answered (decisions 2.2). */
export function accept(exchange: Exchange): void {
  exchange.respond(202, '', '');
}

function idBytes(id: IdSpan): Buffer {
  return id.bytes.subarray(id.start, id.end);
}

const RESULT = Buffer.from(',"result":');
const ERROR = Buffer.from(',"error":');
const TAIL = Buffer.from('}');
