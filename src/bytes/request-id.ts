// Ids of JSON-RPC messages, in their bytes: compares them, and finds the id of a request that is refused before it is read, because it has
// no session, is not JSON-RPC 2.0, or is an invalid member of a batch.
import type { Buffer } from 'node:buffer';
import { limits } from '../shared/index.js';
import { MEMBER_ABSENT, findMembers, MemberNames, stringValue } from './json-member.js';
import { JsonScanner, jsonKind } from './json-scanner.js';

/** Whether two ids are equal: the same JSON value of the same type. Hot path. */
export function isSameId(a: Buffer, aStart: number, aEnd: number, b: Buffer, bStart: number, bEnd: number): boolean {
  if (aEnd - aStart === bEnd - bStart) {
    let at = aStart;
    while (at < aEnd && a[at] === b[at - aStart + bStart]) at++;
    if (at === aEnd) return true;
  }
  return idKey(a, aStart, aEnd) === idKey(b, bStart, bEnd);
}

/** Whether `a` is the number `b` as a string, as some servers return it. */
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

/** A key that is equal for ids that some client may confuse: `7`, `"7"`, `"07"` and `" 7.0"`. */
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
 * The offsets of a request's id, with its quotes; `undefined` when the bytes are not JSON, are too many to be read at once, are a response,
 * or have no id, an ambiguous one or an invalid one.
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
