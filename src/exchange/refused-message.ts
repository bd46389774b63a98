// Refusals of messages. The error that refuses a request contains the request's id where that can be read (decisions 2.2): many
// clients do not match an answer without an id to their request. Cold path.
import type { ClientBatch, ParsedClientMessage } from '../mcp/index.js';
import { requestIdIn } from '../bytes/index.js';
import { limits, refusals, type Refusal } from '../shared/index.js';
import { refuse } from './answers.js';
import type { Exchange, ExchangeRequest } from './exchange.js';

/** How the body of a refusal begins when it is a JSON-RPC error. */
const RPC_HEAD = '{"jsonrpc":"2.0",';

/** @param message the parsed body of the exchange, if it was parsed. */
export function refuseMessage(exchange: Exchange, refusal: Refusal, message?: ParsedClientMessage): void {
  refuse(exchange, withRequestId(refusal, exchange.request.body, message));
}

/** Refuses a body that is not a message, or a batch where none is allowed. */
export function refuseUnread(exchange: Exchange, reading: ClientBatch | 'not-json' | 'not-json-rpc'): void {
  if (typeof reading !== 'string') refuse(exchange, refusals.batchRefused);
  else if (reading === 'not-json') refuse(exchange, refusals.notJson);
  else refuseMessage(exchange, refusals.notJsonRpc, reading);
}

/**
 * Whether the body of a request that is refused for its head is received all the same, so that the refusal can contain the id. Not
 * where the length is unknown: the body could be very large.
 */
export function hasReadableId(
  method: ExchangeRequest['method'],
  { isAmbiguous, contentLength }: { readonly isAmbiguous: boolean; readonly contentLength: string },
): boolean {
  if (method !== 'POST' || isAmbiguous || contentLength === '') return false;
  return Number(contentLength) <= limits.readAtOnceBytesMax;
}

/** Adds the request's id; returns the same refusal if it is not a JSON-RPC error, or the body not a request with a readable id. */
export function withRequestId(refusal: Refusal, body: Buffer, message?: ParsedClientMessage): Refusal {
  if (!refusal.body.startsWith(RPC_HEAD)) return refusal;
  const id = idOf(body, message);
  if (id === undefined) return refusal;
  return { ...refusal, body: `${RPC_HEAD}"id":${id},${refusal.body.slice(RPC_HEAD.length)}` };
}

function idOf(body: Buffer, message: ParsedClientMessage | undefined): string | undefined {
  if (typeof message === 'object' && message.kind !== 'batch') {
    return message.kind === 'request' ? body.toString('utf8', message.idStart, message.idEnd) : undefined;
  }
  const id = requestIdIn(body);
  return id && body.toString('utf8', id.start, id.end);
}
