// Refusals of messages. The error that a request is refused with has the request's id, where that can be told (decisions
// 2.2): many clients take no answer for theirs that has none. Cold.
import type { ClientBatch } from '../../protocol/client-batch.js';
import type { ClientReading } from '../../protocol/json-rpc.js';
import { requestIdIn } from '../../protocol/request-id.js';
import { limits } from '../../shared/limits.js';
import { refusals, type Refusal } from '../../shared/refusals.js';
import { refuse } from './answers.js';
import type { Exchange, ExchangeRequest } from './exchange.js';

/** How the body of a refusal begins that is an error of JSON-RPC. */
const RPC_HEAD = '{"jsonrpc":"2.0",';

/** @param message what the exchange's body was read as, if it was read. */
export function refuseMessage(exchange: Exchange, refusal: Refusal, message?: ClientReading): void {
  refuse(exchange, withRequestId(refusal, exchange.request.body, message));
}

/** Refuses what is no message, or a batch where none is taken. */
export function refuseUnread(exchange: Exchange, reading: ClientBatch | 'not-json' | 'not-json-rpc'): void {
  if (typeof reading !== 'string') refuse(exchange, refusals.batchRefused);
  else if (reading === 'not-json') refuse(exchange, refusals.notJson);
  else refuseMessage(exchange, refusals.notJsonRpc, reading);
}

/**
 * Whether a request that is refused for its head may be received for the id in its body, so that the refusal has it. Of a body whose
 * length nobody knows, much could have to be received for it.
 */
export function hasReadableId(
  method: ExchangeRequest['method'],
  { isAmbiguous, contentLength }: { readonly isAmbiguous: boolean; readonly contentLength: string },
): boolean {
  if (method !== 'POST' || isAmbiguous || contentLength === '') return false;
  return Number(contentLength) <= limits.readAtOnceBytesMax;
}

/** The same refusal if it is no error of JSON-RPC, or the body no request whose id can be told. */
export function withRequestId(refusal: Refusal, body: Buffer, message?: ClientReading): Refusal {
  if (!refusal.body.startsWith(RPC_HEAD)) return refusal;
  const id = idOf(body, message);
  if (id === undefined) return refusal;
  return { ...refusal, body: `${RPC_HEAD}"id":${id},${refusal.body.slice(RPC_HEAD.length)}` };
}

function idOf(body: Buffer, message: ClientReading | undefined): string | undefined {
  if (typeof message === 'object' && message.kind !== 'batch') {
    return message.kind === 'request' ? body.toString('utf8', message.idStart, message.idEnd) : undefined;
  }
  const id = requestIdIn(body);
  return id && body.toString('utf8', id.start, id.end);
}
