// JSON-RPC messages that the gateway itself sends to a backend in an open session.
import type { RpcError } from '../../shared/index.js';
import type { OutgoingMessage } from '../../http-client/index.js';
import type { IdSpan } from './request-plan.js';

const BEFORE_ID = Buffer.from('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":');

/** Tells the backend that its answer to a request is no longer needed. */
export function cancelledNotification(id: IdSpan, reason: string): Buffer {
  const tail = Buffer.from(`,"reason":${JSON.stringify(reason)}}}`);
  return Buffer.concat([BEFORE_ID, id.bytes.subarray(id.start, id.end), tail]);
}

/** A request in a session. @param id as JSON. @param members of its params, as JSON; `''` for none. */
export function plainOwnRequest(id: Buffer, method: string, members: string): OutgoingMessage {
  const params = members === '' ? '' : `,"params":{${members}}`;
  return { body: Buffer.from(`{"jsonrpc":"2.0","id":${id.toString()},"method":"${method}"${params}}`) };
}

/** @param id of the backend's request, as JSON. @param error `undefined` answers with an empty result. */
export function answerMessage(id: Buffer, error: RpcError | undefined): Buffer {
  const body = error === undefined ? '"result":{}' : `"error":${JSON.stringify(error)}`;
  return Buffer.from(`{"jsonrpc":"2.0","id":${id.toString()},${body}}`);
}
