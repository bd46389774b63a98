// What a modern result says beside what it is about: in ours all of it, in a backend's what a legacy one does not know to say.
import { findMember } from '../../protocol/json-member.js';
import type { BackendMessage } from '../../protocol/json-rpc.js';
import { JsonScanner, jsonKind } from '../../protocol/json-scanner.js';
import { limits } from '../../shared/limits.js';
import { PROGRAM_VERSION } from '../../shared/program-version.js';
import { rpcCodes } from '../../shared/refusals.js';
import type { Edit } from '../edits.js';
import type { ListDress } from '../list-merge/merge.js';

/** `_meta` of every result that is ours (M18). */
export const RESULT_META: Readonly<Record<string, unknown>> = Object.freeze({
  'io.modelcontextprotocol/serverInfo': { name: 'switchyard', version: PROGRAM_VERSION },
});

/**
 * A merged list may be kept for no time, since nobody tells the gateway how long each backend's part holds, and by its own
 * user only, whose allow-lists it went by (M19, M30).
 */
export const LIST_DRESS: ListDress = Object.freeze({
  members: '"resultType":"complete","ttlMs":0,"cacheScope":"private",',
  meta: RESULT_META,
});

const RESULT_TYPE = Buffer.from('"resultType":"complete"');
const RESULT_TYPE_AND_MORE = Buffer.from('"resultType":"complete",');
const NAME = Buffer.from('resultType');
const BRACE = 0x7b;
const END_BRACE = 0x7d;

const scanner = new JsonScanner();

/** What makes a result say that it is complete, unless it says what it is (M18). */
export function resultTypeEdit(bytes: Buffer, { bodyStart, bodyEnd }: BackendMessage): Edit | undefined {
  if (bytes[bodyStart] !== BRACE) return undefined;
  const result = bytes.subarray(bodyStart, bodyEnd);
  if (result.includes(NAME)) {
    // Without it a result is complete: of one that takes long to be read nobody has to be told twice.
    if (result.length > limits.readAtOnceBytesMax || hasMember(result, 'resultType')) return undefined;
  }
  const start = bodyStart + 1;
  return { start, end: start, putIn: isEmpty(result) ? RESULT_TYPE : RESULT_TYPE_AND_MORE };
}

/** What is said in a code of before, in that of now (M27). */
export function modernErrorEdit(bytes: Buffer, { bodyStart, bodyEnd }: BackendMessage): Edit | undefined {
  const error = bytes.subarray(bodyStart, bodyEnd);
  if (error.length > limits.readAtOnceBytesMax || !error.includes(NOT_FOUND) || !scanner.scan(error, 1))
    return undefined;
  const node = findMember(scanner, error, 0, 'code');
  if (node < 0 || error.toString('latin1', scanner.start(node), scanner.end(node)) !== NOT_FOUND) return undefined;
  return { start: bodyStart + scanner.start(node), end: bodyStart + scanner.end(node), putIn: INVALID_PARAMS };
}

const NOT_FOUND = String(rpcCodes.resourceNotFound);
const INVALID_PARAMS = Buffer.from(String(rpcCodes.invalidParams));

/** One that is there twice is there. */
function hasMember(result: Buffer, name: string): boolean {
  return scanner.scan(result, 1) && scanner.kind(0) === jsonKind.object && findMember(scanner, result, 0, name) !== -1;
}

function isEmpty(object: Buffer): boolean {
  let at = 1;
  while (object[at]! <= 0x20) at += 1;
  return object[at] === END_BRACE;
}
