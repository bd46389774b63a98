// Finds members of a scanned JSON object, decodes strings, and compares ids of JSON-RPC messages. Hot path.
import type { Buffer } from 'node:buffer';
import { jsonKind, JsonScanner } from './json-scanner.js';
import { limits } from '../shared/index.js';

/** A span of bytes to remove; `end` is exclusive. */
interface Cut {
  readonly start: number;
  readonly end: number;
}

/**
 * The spans to cut, in order, so that the unwanted children of an object or array go, with their commas. Cold path.
 * @param node the object or array; its children must be on the tape.
 * @param isUnwanted called once per child, in order.
 */
export function cutsOf(tape: JsonScanner, node: number, isUnwanted: (child: number) => boolean): Cut[] {
  const cuts: Cut[] = [];
  let keptEnd = -1;
  let unwantedStart = -1;
  let end = -1;
  const subtreeEnd = tape.next(node);
  for (let child = node + 1; child < subtreeEnd; child = tape.next(child)) {
    const start = startOfChild(tape, child);
    if (isUnwanted(child)) {
      if (unwantedStart === -1) unwantedStart = start;
    } else {
      if (unwantedStart !== -1) cuts.push({ start: unwantedStart, end: start });
      unwantedStart = -1;
      keptEnd = tape.end(child);
    }
    end = tape.end(child);
  }
  if (unwantedStart !== -1) cuts.push({ start: keptEnd === -1 ? unwantedStart : keptEnd, end });
  return cuts;
}

/** Where a child begins: a member of an object at the quote of its key, an element of an array at its value. */
function startOfChild(tape: JsonScanner, child: number): number {
  const keyStart = tape.keyStart(child);
  return keyStart === -1 ? tape.start(child) : keyStart - 1;
}

/** `findMember` returns this, or `MEMBER_AMBIGUOUS`, instead of a node. On every tape, the offsets of `MEMBER_ABSENT` are -1. */
export const MEMBER_ABSENT = -1;
export const MEMBER_AMBIGUOUS = -2;

/** The most bytes of one UTF-16 unit in a JSON string (`\u0041`). */
export const ESCAPE_BYTES_MAX = 6;

/** The mask that removes the bit by which upper and lower case of an ASCII letter differ. */
const CASE_MASK = 0xdf;

/** The first UTF-8 bytes of the two non-ASCII letters that case folding maps to ASCII. */
const FOLDING_LEADS = [0xc5, 0xe2] as const;

type Likeness = 'same' | 'similar' | 'different';

/**
 * The node of the member with this name, with or without escapes. It is ambiguous if it occurs twice, or a key differs only in case.
 * Parsers disagree on both: some take the first, most the last, and some ignore case. The gateway must check what the backend reads, or
 * `{"name":"allowed","Name":"forbidden"}` gets around an allow-list.
 * @param name ASCII.
 */
export function findMember(scanner: JsonScanner, bytes: Uint8Array, objectNode: number, name: string): number {
  const subtreeEnd = scanner.next(objectNode);
  const initial = name.charCodeAt(0);
  let found = MEMBER_ABSENT;
  for (let node = objectNode + 1; node < subtreeEnd; node = scanner.next(node)) {
    const first = bytes[scanner.keyStart(node)]!;
    // Most keys differ in the first letter, unless that is an escape or not ASCII.
    if (((first ^ initial) & CASE_MASK) !== 0 && first !== 0x5c && first < 0x80) continue;
    const likeness = compareText(bytes, scanner.keyStart(node), scanner.keyEnd(node), name);
    if (likeness === 'different') continue;
    if (likeness === 'similar' || found !== MEMBER_ABSENT) return MEMBER_AMBIGUOUS;
    found = node;
  }
  return found;
}

/** ASCII names to find in one pass over an object, which may have a quarter of a million members. */
export class MemberNames {
  readonly all: readonly string[];
  /** For each first byte of a key, the names that the key may be, as bits. */
  readonly candidates = new Uint8Array(256);

  constructor(...all: string[]) {
    this.all = all;
    const every = 2 ** all.length - 1;
    // Bytes that may stand for any letter: the start of an escape, or of a letter that case folding maps to ASCII.
    for (const byte of [0x5c, ...FOLDING_LEADS]) this.candidates[byte] = every;
    for (const [index, name] of all.entries()) {
      const initial = name.charCodeAt(0);
      this.candidates[initial & CASE_MASK]! |= 1 << index;
      this.candidates[initial | (~CASE_MASK & 0xff)]! |= 1 << index;
    }
  }
}

/**
 * Finds members of several names in one pass, each as `findMember` does.
 * @param node of any kind, or `MEMBER_ABSENT`: without an object, all names are absent.
 * @param found gets the node of each name, or `MEMBER_ABSENT`.
 * @returns false if a name is ambiguous.
 */
export function findMembers(
  scanner: JsonScanner,
  bytes: Uint8Array,
  node: number,
  names: MemberNames,
  found: Int32Array,
): boolean {
  found.fill(MEMBER_ABSENT);
  if (scanner.kind(node) !== jsonKind.object) return true;
  const subtreeEnd = scanner.next(node);
  for (let child = node + 1; child < subtreeEnd; child = scanner.next(child)) {
    const start = scanner.keyStart(child);
    let candidates = names.candidates[bytes[start]!]!;
    for (let index = 0; candidates !== 0; index++, candidates >>= 1) {
      if ((candidates & 1) === 0) continue;
      const likeness = compareText(bytes, start, scanner.keyEnd(child), names.all[index]!);
      if (likeness === 'different') continue;
      if (likeness === 'similar' || found[index] !== MEMBER_ABSENT) return false;
      found[index] = child;
      break;
    }
  }
  return true;
}

/** Compares a key with a name without decoding the key. Most comparisons end at the first character. */
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

// Letters that equal ASCII letters under Unicode case folding, as in Go's JSON decoder.
const LONG_S = 0x17f;
const KELVIN_SIGN = 0x212a;

/** Which of the two letters begins at `at`; 0 for neither. */
function foldingCode(bytes: Uint8Array, at: number): number {
  if (bytes[at] === 0xc5 && bytes[at + 1] === 0xbf) return LONG_S;
  return bytes[at] === 0xe2 && bytes[at + 1] === 0x84 && bytes[at + 2] === 0xaa ? KELVIN_SIGN : 0;
}

function foldCase(code: number): number {
  if (code >= 0x41 && code <= 0x5a) return code | 0x20;
  return code === LONG_S ? 0x73 : code === KELVIN_SIGN ? 0x6b : code;
}

/** The character of an escape. @param at after the backslash. */
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
      // The other escapes are control characters, which no name contains.
      return 0;
  }
}

function hexValue(digit: number): number {
  return digit <= 0x39 ? digit - 0x30 : (digit | 0x20) - 0x57;
}

/** Whether the key is this name. @param name ASCII. */
export function isKey(bytes: Uint8Array, start: number, end: number, name: string): boolean {
  return compareText(bytes, start, end, name) === 'same';
}

/** Where the prefix ends in a string token that begins with it; else -1. @param text the prefix: ASCII, in lower case if `caseless`. */
export function endOfPrefix(
  bytes: Uint8Array,
  start: number,
  end: number,
  text: string,
  letters: 'as-is' | 'caseless' = 'as-is',
): number {
  let at = start + 1;
  for (let index = 0; index < text.length; index++) {
    if (at >= end - 1) return -1;
    let code = bytes[at++]!;
    if (code === 0x5c) {
      code = escapedCode(bytes, at);
      at += bytes[at] === 0x75 ? 5 : 1;
    }
    if (letters === 'caseless' && code >= 0x41 && code <= 0x5a) code |= 0x20;
    if (code !== text.charCodeAt(index)) return -1;
  }
  return at;
}

/** Whether the string token has this text, with or without escapes. @param text ASCII. */
export function isStringEqual(bytes: Uint8Array, start: number, end: number, text: string): boolean {
  return compareText(bytes, start + 1, end - 1, text) === 'same';
}

export function stringValue(bytes: Buffer, start: number, end: number): string {
  for (let at = start + 1; at < end - 1; at++) {
    if (bytes[at] === 0x5c) return JSON.parse(bytes.toString('utf8', start, end)) as string;
  }
  return bytes.toString('utf8', start + 1, end - 1);
}

const scanner = new JsonScanner();

/** The span of a token, with the quotes of a string; `end` is exclusive. */
interface TokenSpan {
  readonly start: number;
  readonly end: number;
}

/** Finds a member that is a string. `undefined` if there is no such member, or the object is invalid or too large to be parsed at once. */
export function findStringMember(object: Buffer, name: string): TokenSpan | undefined {
  if (object.length > limits.readAtOnceBytesMax || !scanner.scan(object, 1)) return undefined;
  const node = scanner.kind(0) === jsonKind.object ? findMember(scanner, object, 0, name) : -1;
  if (node < 0 || scanner.kind(node) !== jsonKind.string) return undefined;
  return { start: scanner.start(node), end: scanner.end(node) };
}

export function readStringMember(object: Buffer, name: string): string | undefined {
  const span = findStringMember(object, name);
  return span && stringValue(object, span.start, span.end);
}

/** Whether two tokens have the same bytes. Compares byte by byte: for short ids, that is faster than a call into Node.js. */
export function isSameToken(a: Buffer, aStart: number, aEnd: number, b: Buffer, bStart: number, bEnd: number): boolean {
  if (aEnd - aStart !== bEnd - bStart) return false;
  for (let at = aStart; at < aEnd; at++) if (a[at] !== b[at - aStart + bStart]) return false;
  return true;
}

export function isSameId(a: Buffer, aStart: number, aEnd: number, b: Buffer, bStart: number, bEnd: number): boolean {
  return isSameToken(a, aStart, aEnd, b, bStart, bEnd) || idKey(a, aStart, aEnd) === idKey(b, bStart, bEnd);
}

/** Whether id `a` is a string with the number that is id `b`. */
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

/** Whether an object has no members. @param start of its opening brace, in valid JSON. */
export function isEmptyObject(bytes: Buffer, start: number): boolean {
  let at = start + 1;
  while (bytes[at]! <= SPACE) at += 1;
  return bytes[at] === END_BRACE;
}

const SPACE = 0x20;
const END_BRACE = 0x7d;

/** A text for an id, equal for two ids exactly if `isSameId` is true: for `1` and `1.0`, but not for `1` and `"1"`. */
export function idKey(bytes: Buffer, start: number, end: number): string {
  if (bytes[start] === QUOTE) return `"${stringValue(bytes, start, end)}`;
  return String(Number(bytes.toString('latin1', start, end)));
}

/** A text for an id, equal for ids that some client may confuse: `7`, `"7"`, `"07"` and `" 7.0"`. */
export function ambiguousIdKey(bytes: Buffer, start: number, end: number): string {
  const text = bytes[start] === QUOTE ? stringValue(bytes, start, end) : bytes.toString('latin1', start, end);
  const number = Number(text);
  return Number.isNaN(number) ? text : String(number);
}

const topLevelNames = new MemberNames('id', 'result', 'error');
const topLevel = new Int32Array(topLevelNames.all.length);

/** The span of the id in a request that is refused before it is parsed; `undefined` for other messages or an invalid id. Cold path. */
export function requestIdIn(bytes: Buffer): TokenSpan | undefined {
  if (bytes.length > limits.readAtOnceBytesMax || !scanner.scan(bytes, 1)) return undefined;
  if (!findMembers(scanner, bytes, 0, topLevelNames, topLevel)) return undefined;
  const [id = MEMBER_ABSENT, result = MEMBER_ABSENT, error = MEMBER_ABSENT] = topLevel;
  if (result !== MEMBER_ABSENT || error !== MEMBER_ABSENT) return undefined;
  const kind = scanner.kind(id);
  if (kind !== jsonKind.string && kind !== jsonKind.number) return undefined;
  const start = scanner.start(id);
  const end = scanner.end(id);
  return end - start <= limits.messageIdBytesMax ? { start, end } : undefined;
}
