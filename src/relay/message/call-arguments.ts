// The arguments of a call, by which a retry shows that it asks for the same. Cold: of calls whose backend asks, and of retries.
import { ABSENT, findMember } from '../../protocol/json-member.js';
import type { ClientMessage } from '../../protocol/json-rpc.js';
import { JsonScanner } from '../../protocol/json-scanner.js';

const NO_ARGUMENTS = Buffer.alloc(0);

const scanner = new JsonScanner();

/**
 * @param message of a large body only as long as its tape is good.
 * @returns `params.arguments` as it came, empty without; all params when there are several.
 */
export function argumentsIn(body: Buffer, { paramsStart, paramsEnd, tape }: ClientMessage): Buffer {
  if (paramsStart === -1) return NO_ARGUMENTS;
  const params = body.subarray(paramsStart, paramsEnd);
  // Of a small one nobody has kept what was read.
  if (tape === undefined) scanner.scan(params, 1);
  const [read, bytes] = tape === undefined ? [scanner, params] : [tape, body];
  const node = findMember(read, bytes, tape === undefined ? 0 : findMember(tape, body, 0, 'params'), 'arguments');
  if (node === ABSENT) return NO_ARGUMENTS;
  return node < 0 ? params : bytes.subarray(read.start(node), read.end(node));
}
