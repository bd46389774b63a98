// The one change that a call's bytes undergo: `<backend>-<tool>` becomes `<tool>` (decisions 2.6). Hot.
import type { ClientMessage } from '../protocol/json-rpc.js';
import type { ToolRoute } from './routing.js';

const BACKSLASH = 0x5c;

/** @returns the caller's whole message with the bare tool name; everything else keeps its bytes. */
export function bareNameBody(body: Buffer, message: ClientMessage, route: ToolRoute): Buffer {
  const { nameStart, nameEnd } = message;
  const escapeAt = body.indexOf(BACKSLASH, nameStart);
  if (escapeAt !== -1 && escapeAt < nameEnd)
    return replaceSpan(body, nameStart, nameEnd, JSON.stringify(route.bareName));
  // Without escapes the token's bytes are the name's UTF-8 bytes: the prefix is cut out behind the opening quote.
  const prefixStart = nameStart + 1;
  const prefixEnd = prefixStart + Buffer.byteLength(route.backend.name) + 1;
  const result = Buffer.allocUnsafe(body.length - (prefixEnd - prefixStart));
  body.copy(result, 0, 0, prefixStart);
  body.copy(result, prefixStart, prefixEnd);
  return result;
}

function replaceSpan(body: Buffer, start: number, end: number, replacement: string): Buffer {
  return Buffer.concat([body.subarray(0, start), Buffer.from(replacement), body.subarray(end)]);
}
