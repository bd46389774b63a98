// A strict JSON validator that builds no values: it accepts what `JSON.parse` accepts, within `jsonDepthMax` and `jsonNodesMax`, and
// records where the values are, so that a message can be routed without being parsed. Takes a whole document, or pieces cut anywhere. Hot
// path: every message, every byte.
import { isUtf8 } from 'node:buffer';
import { limits } from '../shared/index.js';
import { PlainText } from './plain-text.js';

export interface NodeFilter {
  /** Whether an object's or array's contents are recorded. @param keyStart offset of its key; -1 for the root and array elements. */
  readonly recordsContentsOf: (keyStart: number, keyEnd: number) => boolean;
  readonly nodesMax: number;
}

export const jsonKind = { object: 0, array: 1, string: 2, number: 3, boolean: 4, null: 5 } as const;

/** What may come next, as bits; `nothing` comes after the root. */
const expect = { nothing: 0, value: 1, key: 2, colon: 4, comma: 8, close: 16 } as const;

/** The kind of token that the end of a chunk cut off. */
const cut = { none: 0, key: 1, string: 2, number: 3, literal: 4 } as const;

/** Where in a string the scanner is. From `digits` it counts down over the digits of a `\u` escape to `text`. */
const stringState = { text: 0, digits: 4, escape: 5 } as const;

// A node is a row of six integers. The first row is that of no node, `MEMBER_ABSENT`, with -1 everywhere.
const ROW = 6;
const START = ROW;
const END = ROW + 1;
const KEY_START = ROW + 2;
const KEY_END = ROW + 3;
const NEXT = ROW + 4;
/** The column with the kind in its low three bits, and the depth above. */
const KIND_AND_DEPTH = ROW + 5;

const NODES_AT_FIRST = 256;
const OFFSET_MAX = 0x7fffffff;

/** For each byte, 1 if it may follow a backslash, except for `u`. */
const escapable = new Uint8Array(256);
for (const letter of '"\\/bfnrt') escapable[letter.charCodeAt(0)] = 1;

const hexDigit = new Uint8Array(256);
for (const digit of '0123456789abcdefABCDEF') hexDigit[digit.charCodeAt(0)] = 1;

type Literal = 'true' | 'false' | 'null';

export class JsonScanner {
  #tape = tapeFor(NODES_AT_FIRST);
  /** The number of recorded values, in document order; the root is node 0. Changed only here. */
  count = 0;
  #depthMax = 0;
  #requestedDepthMax = 0;
  #filter: NodeFilter | undefined;
  /** Depth of the open container whose contents the filter leaves out; -1 for none. */
  #leftOutDepth = -1;

  #isSound = false;
  #expectedNext: number = expect.nothing;
  #offset = 0;
  #keyStart = -1;
  #keyEnd = -1;

  /** The open containers: how many there are, their kinds, and their nodes (not valid for those too deep to be recorded). */
  #depth = 0;
  readonly #openKinds = new Uint8Array(limits.jsonDepthMax);
  readonly #openNodes = new Int32Array(limits.jsonDepthMax);

  #cut: number = cut.none;
  #stringState: number = stringState.text;
  #numberState: number = numberState.start;
  readonly #plainText = new PlainText();
  #literal: Literal = 'null';
  #literalLength = 0;

  /** Scans a document, and checks its UTF-8. @param depthMax the depth to which values are recorded (the root is at 0); all are checked. */
  scan(bytes: Uint8Array, depthMax: number, filter?: NodeFilter): boolean {
    this.begin(depthMax, filter);
    return this.push(bytes) && this.finish() && (this.#plainText.isAscii || isUtf8(bytes));
  }

  /** Starts a document in pieces. The caller checks the UTF-8 of pieces that are not ASCII: a piece may end within a character. */
  begin(depthMax: number, filter?: NodeFilter): void {
    this.count = 0;
    this.#depthMax = this.#requestedDepthMax = depthMax;
    this.#filter = filter;
    this.#leftOutDepth = -1;
    this.#isSound = true;
    this.#expectedNext = expect.value;
    this.#offset = 0;
    this.#depth = 0;
    this.#cut = cut.none;
  }

  push(chunk: Uint8Array): boolean {
    if (!this.#isSound) return false;
    this.#plainText.begin();
    const at = this.#cut === cut.none ? 0 : this.#resumeToken(chunk);
    this.#isSound = at >= 0 && this.#offset + chunk.length <= OFFSET_MAX && this.#scanTokens(chunk, at);
    this.#offset += chunk.length;
    return this.#isSound;
  }

  /** Whether the last chunk, if it is valid JSON, is surely ASCII only. It may be so even if this is false. */
  get isChunkAscii(): boolean {
    return this.#plainText.isAscii;
  }

  finish(): boolean {
    if (this.#cut === cut.number && nextNumberState[this.#numberState | COMPLETE] === 1) {
      this.#cut = cut.none;
      this.#completeScalar(0);
    }
    this.#isSound &&= this.#cut === cut.none && this.#expectedNext === expect.nothing;
    return this.#isSound;
  }

  clearAndShrink(): void {
    this.count = 0;
    if (this.#tape.length > START + NODES_AT_FIRST * ROW) this.#tape = tapeFor(NODES_AT_FIRST);
  }

  /** The kind of a node: one of `jsonKind`; another number for no node. */
  kind(node: number): number {
    return this.#tape[node * ROW + KIND_AND_DEPTH]! & 7;
  }

  depth(node: number): number {
    return this.#tape[node * ROW + KIND_AND_DEPTH]! >> 3;
  }

  /** The offset of the node's first byte, counted over all chunks. */
  start(node: number): number {
    return this.#tape[node * ROW + START]!;
  }

  end(node: number): number {
    return this.#tape[node * ROW + END]!;
  }

  /** The offset of the member's key, without its quote; -1 for the root and array elements. */
  keyStart(node: number): number {
    return this.#tape[node * ROW + KEY_START]!;
  }

  keyEnd(node: number): number {
    return this.#tape[node * ROW + KEY_END]!;
  }

  /** The first node after the subtree: the children of `n` are `n + 1`, `next(n + 1)`, … below `next(n)`. */
  next(node: number): number {
    return this.#tape[node * ROW + NEXT]!;
  }

  /** Scans the tokens of a chunk. @returns false at an error. */
  #scanTokens(bytes: Uint8Array, from: number): boolean {
    const length = bytes.length;
    let at = from;
    while (at < length) {
      const byte = bytes[at]!;
      switch (byte) {
        case 0x20:
        case 0x0a:
        case 0x0d:
        case 0x09:
          at++;
          break;
        case 0x22: // "
          if ((this.#expectedNext & expect.key) !== 0) {
            this.#keyStart = this.#offset + at + 1;
            this.#cut = cut.key;
          } else {
            if (!this.#beginValue(jsonKind.string, at)) return false;
            this.#cut = cut.string;
          }
          this.#stringState = stringState.text;
          at = this.#scanString(bytes, at + 1);
          break;
        case 0x3a: // :
          if (this.#expectedNext !== expect.colon) return false;
          this.#expectedNext = expect.value;
          at++;
          break;
        case 0x2c: // ,
          if ((this.#expectedNext & expect.comma) === 0) return false;
          this.#expectedNext = this.#openKinds[this.#depth - 1] === jsonKind.object ? expect.key : expect.value;
          at++;
          break;
        case 0x7b: // {
          if (!this.#openContainer(jsonKind.object, at)) return false;
          this.#expectedNext = expect.key | expect.close;
          at++;
          break;
        case 0x5b: // [
          if (!this.#openContainer(jsonKind.array, at)) return false;
          this.#expectedNext = expect.value | expect.close;
          at++;
          break;
        case 0x7d: // }
          if (!this.#closeContainer(jsonKind.object, at)) return false;
          at++;
          break;
        case 0x5d: // ]
          if (!this.#closeContainer(jsonKind.array, at)) return false;
          at++;
          break;
        default:
          at = this.#scanNumberOrLiteral(bytes, at, byte);
      }
      if (at < 0) return false;
    }
    return true;
  }

  #resumeToken(bytes: Uint8Array): number {
    if (this.#cut === cut.number) return this.#scanNumber(bytes, 0);
    if (this.#cut === cut.literal) return this.#scanLiteral(bytes, 0);
    return this.#scanString(bytes, 0);
  }

  /** Scans a string. @returns the offset after the closing quote, the chunk's length when the string continues, -1 at an error. */
  #scanString(bytes: Uint8Array, from: number): number {
    const length = bytes.length;
    let at = from;
    if (this.#stringState !== stringState.text) at = this.#scanEscape(bytes, at);
    while (at >= 0 && at < length) {
      at = this.#plainText.findEnd(bytes, at);
      if (at === length) break;
      const byte = bytes[at]!;
      if (byte === 0x22) {
        if (this.#cut === cut.key) {
          this.#keyEnd = this.#offset + at;
          this.#expectedNext = expect.colon;
        } else {
          this.#completeScalar(at + 1);
        }
        this.#cut = cut.none;
        return at + 1;
      }
      if (byte !== 0x5c) return -1;
      if (at + 1 < length && escapable[bytes[at + 1]!] === 1) {
        at += 2;
        continue;
      }
      this.#stringState = stringState.escape;
      at = this.#scanEscape(bytes, at + 1);
    }
    return at;
  }

  /** Scans what follows a backslash. @returns the offset after the escape, the chunk's length when cut, -1 at an error. */
  #scanEscape(bytes: Uint8Array, from: number): number {
    const length = bytes.length;
    let at = from;
    if (at === length) return at;
    if (this.#stringState === stringState.escape) {
      const byte = bytes[at++]!;
      if (byte !== 0x75) {
        this.#stringState = stringState.text;
        return escapable[byte] === 1 ? at : -1;
      }
      this.#stringState = stringState.digits;
    }
    while (at < length && this.#stringState !== stringState.text) {
      if (hexDigit[bytes[at++]!] === 0) return -1;
      this.#stringState--;
    }
    return at;
  }

  #scanNumberOrLiteral(bytes: Uint8Array, at: number, byte: number): number {
    if (nextNumberState[numberState.start | numberClass[byte]!] !== numberState.none) {
      if (!this.#beginValue(jsonKind.number, at)) return -1;
      this.#cut = cut.number;
      this.#numberState = numberState.start;
      return this.#scanNumber(bytes, at);
    }
    const literal = byte === 0x74 ? 'true' : byte === 0x66 ? 'false' : byte === 0x6e ? 'null' : undefined;
    if (literal === undefined) return -1;
    if (!this.#beginValue(literal === 'null' ? jsonKind.null : jsonKind.boolean, at)) return -1;
    this.#cut = cut.literal;
    this.#literal = literal;
    this.#literalLength = 0;
    return this.#scanLiteral(bytes, at);
  }

  /** Scans a number. @returns the offset after it, the chunk's length when it may continue, -1 at an error. */
  #scanNumber(bytes: Uint8Array, from: number): number {
    const length = bytes.length;
    let state = this.#numberState;
    let at = from;
    while (at < length) {
      const next = nextNumberState[state | numberClass[bytes[at]!]!]!;
      if (next === numberState.none) {
        if (nextNumberState[state | COMPLETE] === 0) return -1;
        this.#cut = cut.none;
        this.#completeScalar(at);
        return at;
      }
      state = next;
      at++;
    }
    this.#numberState = state;
    return at;
  }

  /** Scans a literal. @returns the offset after it, the chunk's length when cut, -1 at an error. */
  #scanLiteral(bytes: Uint8Array, from: number): number {
    const literal = this.#literal;
    const end = Math.min(bytes.length, from + literal.length - this.#literalLength);
    for (let at = from; at < end; at++) {
      if (bytes[at] !== literal.charCodeAt(this.#literalLength++)) return -1;
    }
    if (this.#literalLength === literal.length) {
      this.#cut = cut.none;
      this.#completeScalar(end);
    }
    return end;
  }

  /** Begins a value. @returns false if none may begin here, or no more can be recorded. */
  #beginValue(kind: number, at: number): boolean {
    if ((this.#expectedNext & expect.value) === 0) return false;
    const depth = this.#depth;
    if (depth > this.#depthMax) return true;
    const row = this.count * ROW;
    if (row + START === this.#tape.length && !this.#tryGrowTape()) return false;
    const tape = this.#tape;
    const isMember = depth > 0 && this.#openKinds[depth - 1] === jsonKind.object;
    tape[row + START] = this.#offset + at;
    tape[row + KEY_START] = isMember ? this.#keyStart : -1;
    tape[row + KEY_END] = isMember ? this.#keyEnd : -1;
    tape[row + NEXT] = ++this.count;
    tape[row + KIND_AND_DEPTH] = kind | (depth << 3);
    return true;
  }

  #completeScalar(end: number): void {
    if (this.#depth <= this.#depthMax) this.#tape[(this.count - 1) * ROW + END] = this.#offset + end;
    this.#expectAfterValue();
  }

  #openContainer(kind: number, at: number): boolean {
    if (this.#depth === limits.jsonDepthMax || !this.#beginValue(kind, at)) return false;
    this.#openKinds[this.#depth] = kind;
    this.#openNodes[this.#depth] = this.count - 1;
    if (this.#filter !== undefined && this.#depth < this.#depthMax) {
      const node = this.count - 1;
      if (!this.#filter.recordsContentsOf(this.keyStart(node), this.keyEnd(node)))
        this.#depthMax = this.#leftOutDepth = this.#depth;
    }
    this.#depth++;
    return true;
  }

  #closeContainer(kind: number, at: number): boolean {
    if ((this.#expectedNext & expect.close) === 0 || this.#openKinds[this.#depth - 1] !== kind) return false;
    this.#depth--;
    if (this.#depth === this.#leftOutDepth) {
      this.#leftOutDepth = -1;
      this.#depthMax = this.#requestedDepthMax;
    }
    if (this.#depth <= this.#depthMax) {
      const row = this.#openNodes[this.#depth]! * ROW;
      this.#tape[row + END] = this.#offset + at + 1;
      this.#tape[row + NEXT] = this.count;
    }
    this.#expectAfterValue();
    return true;
  }

  #expectAfterValue(): void {
    this.#expectedNext = this.#depth === 0 ? expect.nothing : expect.comma | expect.close;
  }

  #tryGrowTape(): boolean {
    const nodesMax = this.#filter?.nodesMax ?? limits.jsonNodesMax;
    if (this.count >= nodesMax) return false;
    const tape = tapeFor(Math.min(this.count * 2, nodesMax));
    tape.set(this.#tape);
    this.#tape = tape;
    return true;
  }
}

function tapeFor(nodesMax: number): Int32Array {
  return new Int32Array(START + nodesMax * ROW).fill(-1, 0, START);
}

// The grammar of a JSON number as a table, with one look-up per byte. The state is one integer, so that a number can continue in the next
// chunk. Hot path.

/** The states: multiples of the row length. `none`: the byte does not belong to the number. */
const numberState = {
  none: 0,
  sign: 8,
  /** The state after a leading `0`, which no digit may follow. */
  zero: 16,
  integer: 24,
  point: 32,
  fraction: 40,
  exponent: 48,
  exponentSign: 56,
  exponentDigits: 64,
  start: 72,
} as const;

const byteClass = { other: 0, zero: 1, digit: 2, point: 3, exponent: 4, plus: 5, minus: 6 } as const;
/** The column that tells whether a number may end here (1). */
const COMPLETE = 7;

const numberClass = new Uint8Array(256);
for (const digit of '123456789') numberClass[digit.charCodeAt(0)] = byteClass.digit;
numberClass[0x30] = byteClass.zero;
numberClass[0x2e] = byteClass.point;
numberClass[0x45] = byteClass.exponent;
numberClass[0x65] = byteClass.exponent;
numberClass[0x2b] = byteClass.plus;
numberClass[0x2d] = byteClass.minus;

const nextNumberState = new Uint8Array(80);

function allow(from: keyof typeof numberState, to: keyof typeof numberState, ...on: (keyof typeof byteClass)[]): void {
  for (const name of on) nextNumberState[numberState[from] | byteClass[name]] = numberState[to];
}

allow('start', 'sign', 'minus');
allow('start', 'zero', 'zero');
allow('start', 'integer', 'digit');
allow('sign', 'zero', 'zero');
allow('sign', 'integer', 'digit');
allow('zero', 'point', 'point');
allow('zero', 'exponent', 'exponent');
allow('integer', 'integer', 'zero', 'digit');
allow('integer', 'point', 'point');
allow('integer', 'exponent', 'exponent');
allow('point', 'fraction', 'zero', 'digit');
allow('fraction', 'fraction', 'zero', 'digit');
allow('fraction', 'exponent', 'exponent');
allow('exponent', 'exponentSign', 'plus', 'minus');
allow('exponent', 'exponentDigits', 'zero', 'digit');
allow('exponentSign', 'exponentDigits', 'zero', 'digit');
allow('exponentDigits', 'exponentDigits', 'zero', 'digit');

for (const name of ['zero', 'integer', 'fraction', 'exponentDigits'] as const)
  nextNumberState[numberState[name] | COMPLETE] = 1;
