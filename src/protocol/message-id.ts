// Compares JSON-RPC ids in place, in the bytes of their messages. Hot path.
import type { Buffer } from 'node:buffer';
import { stringValue } from './json-member.js';

/** Whether two ids are equal: the same JSON value, type included. */
export function sameId(a: Buffer, aStart: number, aEnd: number, b: Buffer, bStart: number, bEnd: number): boolean {
  if (aEnd - aStart === bEnd - bStart) {
    let at = aStart;
    while (at < aEnd && a[at] === b[at - aStart + bStart]) at++;
    if (at === aEnd) return true;
  }
  return idKey(a, aStart, aEnd) === idKey(b, bStart, bEnd);
}

/** A key for an id; two keys are equal exactly when `sameId` is true: for `1` and `1.0`, but not for `1` and `"1"`. */
export function idKey(bytes: Buffer, start: number, end: number): string {
  if (bytes[start] === 0x22) return `"${stringValue(bytes, start, end)}`;
  return String(Number(bytes.toString('latin1', start, end)));
}
