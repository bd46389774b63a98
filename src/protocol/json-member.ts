// Members of a scanned JSON object by name, and the text of a JSON string. Hot.
import type { Buffer } from 'node:buffer';
import type { JsonScanner } from './json-scanner.js';

/** What `findMember` answers when there is no node to answer. */
export const ABSENT = -1;
export const AMBIGUOUS = -2;

/** All bits of a letter but the one that makes it a capital. */
const CASELESS = 0xdf;

type Likeness = 'same' | 'similar' | 'different';

/**
 * The node of the object's member with this name, written with escapes or without; `ABSENT`, or `AMBIGUOUS`.
 *
 * A member is ambiguous when it is there twice, or when a key differs from it by case alone. Parsers disagree on both:
 * some take the first of two, most the last, and some match without regard to case. What the gateway checks must be
 * what the backend reads, or `{"name":"allowed","Name":"forbidden"}` walks around an allow-list.
 * @param name ASCII.
 */
export function findMember(scanner: JsonScanner, bytes: Uint8Array, objectNode: number, name: string): number {
  const past = scanner.next(objectNode);
  const initial = name.charCodeAt(0);
  let found = ABSENT;
  for (let node = objectNode + 1; node < past; node = scanner.next(node)) {
    const first = bytes[scanner.keyStart(node)]!;
    // Most keys differ in their first letter, and need no closer look unless it is an escape or not ASCII.
    if (((first ^ initial) & CASELESS) !== 0 && first !== 0x5c && first < 0x80) continue;
    const likeness = compareText(bytes, scanner.keyStart(node), scanner.keyEnd(node), name);
    if (likeness === 'different') continue;
    if (likeness === 'similar' || found !== ABSENT) return AMBIGUOUS;
    found = node;
  }
  return found;
}

/** Goes character by character and mostly ends at the first, so that an object of many keys costs no decoding. */
function compareText(bytes: Uint8Array, start: number, end: number, name: string): Likeness {
  let isSame = true;
  let at = start;
  for (let index = 0; index < name.length; index++) {
    if (at >= end) return 'different';
    const wanted = name.charCodeAt(index);
    let code = bytes[at++]!;
    if (code === 0x5c) {
      code = escapedCode(bytes, at);
      at += bytes[at] === 0x75 ? 5 : 1;
    } else if (code >= 0x80) {
      code = foldingCode(bytes, at - 1);
      at += code === LONG_S ? 1 : 2;
    }
    if (code !== wanted) {
      if (foldCase(code) !== foldCase(wanted)) return 'different';
      isSame = false;
    }
  }
  if (at !== end) return 'different';
  return isSame ? 'same' : 'similar';
}

// Two letters outside ASCII are equal to one inside when Unicode's case is folded, as Go's decoder does.
const LONG_S = 0x17f;
const KELVIN_SIGN = 0x212a;

/** The one of the two letters that begins at `at`; 0 for any other character. */
function foldingCode(bytes: Uint8Array, at: number): number {
  if (bytes[at] === 0xc5 && bytes[at + 1] === 0xbf) return LONG_S;
  return bytes[at] === 0xe2 && bytes[at + 1] === 0x84 && bytes[at + 2] === 0xaa ? KELVIN_SIGN : 0;
}

function foldCase(code: number): number {
  if (code >= 0x41 && code <= 0x5a) return code | 0x20;
  return code === LONG_S ? 0x73 : code === KELVIN_SIGN ? 0x6b : code;
}

/** The character that the escape stands for. @param at after the backslash. */
function escapedCode(bytes: Uint8Array, at: number): number {
  const letter = bytes[at]!;
  switch (letter) {
    case 0x75: // u
      return (
        (hexValue(bytes[at + 1]!) << 12) |
        (hexValue(bytes[at + 2]!) << 8) |
        (hexValue(bytes[at + 3]!) << 4) |
        hexValue(bytes[at + 4]!)
      );
    case 0x22: // "
    case 0x5c:
    case 0x2f: // /
      return letter;
    default:
      // The others stand for control characters, which no name contains.
      return 0;
  }
}

function hexValue(digit: number): number {
  return digit <= 0x39 ? digit - 0x30 : (digit | 0x20) - 0x57;
}

/** Whether the string token between the offsets has this text, written with escapes or without. @param text ASCII. */
export function isString(bytes: Uint8Array, start: number, end: number, text: string): boolean {
  return compareText(bytes, start + 1, end - 1, text) === 'same';
}

/** The text of the string token between the offsets, which take in its quotes. */
export function stringValue(bytes: Buffer, start: number, end: number): string {
  for (let at = start + 1; at < end - 1; at++) {
    if (bytes[at] === 0x5c) return JSON.parse(bytes.toString('utf8', start, end)) as string;
  }
  return bytes.toString('utf8', start + 1, end - 1);
}
