// Ids of JSON-RPC messages in their bytes: compared, and found in a request that is refused without having been read as one, because it
// is without a session, not JSON-RPC 2.0, or an invalid member of a batch.
import type { Buffer } from 'node:buffer';
import { limits } from '../shared/index.js';
import { MEMBER_ABSENT, findMembers, MemberNames, stringValue } from './json-member.js';
import { JsonScanner, jsonKind } from './json-scanner.js';

// Compares JSON-RPC ids in place, in the bytes of their messages. Hot path.

/** Whether two ids are equal: the same JSON value, type included. */
export function isSameId(a: Buffer, aStart: number, aEnd: number, b: Buffer, bStart: number, bEnd: number): boolean {
  if (aEnd - aStart === bEnd - bStart) {
    let at = aStart;
    while (at < aEnd && a[at] === b[at - aStart + bStart]) at++;
    if (at === aEnd) return true;
  }
  return idKey(a, aStart, aEnd) === idKey(b, bStart, bEnd);
}

/** Whether `a` is the number `b` as a string: some servers return one so. */
export function isNumberIdAsText(
  a: Buffer,
  aStart: number,
  aEnd: number,
  b: Buffer,
  bStart: number,
  bEnd: number,
): boolean {
  return a[aStart] === QUOTE && b[bStart] !== QUOTE && idKey(a, aStart, aEnd) === `"${idKey(b, bStart, bEnd)}`;
}

const QUOTE = 0x22;

/** A key for an id; two keys are equal exactly when `isSameId` is true: for `1` and `1.0`, but not for `1` and `"1"`. */
export function idKey(bytes: Buffer, start: number, end: number): string {
  if (bytes[start] === QUOTE) return `"${stringValue(bytes, start, end)}`;
  return String(Number(bytes.toString('latin1', start, end)));
}

/** What readers could take an id for, equal ids for the same: clients read `"7"`, `"07"` and `" 7.0"` as the number 7. */
export function ambiguousIdKey(bytes: Buffer, start: number, end: number): string {
  const text = bytes[start] === QUOTE ? stringValue(bytes, start, end) : bytes.toString('latin1', start, end);
  const number = Number(text);
  return Number.isNaN(number) ? text : String(number);
}

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
  const [id = MEMBER_ABSENT, result = MEMBER_ABSENT, error = MEMBER_ABSENT] = found;
  if (id === MEMBER_ABSENT || result !== MEMBER_ABSENT || error !== MEMBER_ABSENT) return undefined;
  const kind = scanner.kind(id);
  if (kind !== jsonKind.string && kind !== jsonKind.number) return undefined;
  const start = scanner.start(id);
  const end = scanner.end(id);
  return end - start <= limits.messageIdBytesMax ? { start, end } : undefined;
}
