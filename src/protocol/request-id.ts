// Finds the id of a request that is refused without having been read as one: without a session, not JSON-RPC 2.0, or an invalid member of a
// batch. Cold path: once per refusal.
import type { Buffer } from 'node:buffer';
import { limits } from '../shared/limits.js';
import { ABSENT, findMembers, MemberNames } from './json-member.js';
import { JsonScanner, jsonKind } from './json-scanner.js';

/** Only the message's own members are read. */
const DEPTH = 1;

const scanner = new JsonScanner();
const names = new MemberNames('id', 'result', 'error');
const found = new Int32Array(names.all.length);

/**
 * Offsets of the id, with its quotes; `undefined` when the bytes are not JSON, too many to be read at once, a response (whose id belongs to
 * another request), or leave any doubt about the id.
 */
export function requestIdIn(bytes: Buffer): { readonly start: number; readonly end: number } | undefined {
  if (bytes.length > limits.readAtOnceBytesMax || !scanner.scan(bytes, DEPTH)) return undefined;
  if (scanner.kind(0) !== jsonKind.object || !findMembers(scanner, bytes, 0, names, found)) return undefined;
  const [id = ABSENT, result = ABSENT, error = ABSENT] = found;
  if (id === ABSENT || result !== ABSENT || error !== ABSENT) return undefined;
  const kind = scanner.kind(id);
  if (kind !== jsonKind.string && kind !== jsonKind.number) return undefined;
  const start = scanner.start(id);
  const end = scanner.end(id);
  return end - start <= limits.messageIdBytesMax ? { start, end } : undefined;
}
