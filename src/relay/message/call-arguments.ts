// The arguments of a call, by which a retry is recognized as the same call. Cold path: for `find_tools`, retries, large modern
// requests, and calls whose backend asks.
import { ABSENT, findMember } from '../../protocol/json-member.js';
import type { ClientMessage } from '../../protocol/json-rpc.js';
import { JsonScanner } from '../../protocol/json-scanner.js';

const NO_ARGUMENTS = Buffer.alloc(0);

const scanner = new JsonScanner();

/**
 * @param message its tape, if it has one, must still be valid.
 * @returns `params.arguments` as received, empty if absent; all params when the member is ambiguous.
 */
export function argumentsIn(body: Buffer, { paramsStart, paramsEnd, tape }: ClientMessage): Buffer {
  if (paramsStart === -1) return NO_ARGUMENTS;
  const params = body.subarray(paramsStart, paramsEnd);
  // A small message has no tape, so its params are scanned again.
  if (tape === undefined) scanner.scan(params, 1);
  const [read, bytes] = tape === undefined ? [scanner, params] : [tape, body];
  const node = findMember(read, bytes, tape === undefined ? 0 : findMember(tape, body, 0, 'params'), 'arguments');
  if (node === ABSENT) return NO_ARGUMENTS;
  return node < 0 ? params : bytes.subarray(read.start(node), read.end(node));
}
