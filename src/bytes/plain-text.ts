// Finds where plain text in a JSON string ends: at a special byte, which is a quote, a backslash or a control character. A WebAssembly
// function searches 128 bytes at a time; the text is copied into its memory first, which costs a tenth of a search byte by byte. The thirty
// instructions are written as numbers, because a compiler for them would be one more thing to trust. Hot path.
//
//   (func (export "find") (param $at i32) (result i32)) ;; the first byte from $at on that is special

/** TypeScript declares `WebAssembly` only in its library for browsers. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: object };
};

/** The most bytes that are copied and searched at once. With the sentinel, and the bytes that a step reads beyond it, they fit into one page. */
export const LOADED_BYTES_MAX = 16 * 1024;

// Numbers of the binary format (WebAssembly core specification, 5.4 and 5.5).
const TYPE = { i32: 0x7f, v128: 0x7b, func: 0x60, none: 0x40 } as const;
const SECTION = { type: 1, func: 3, memory: 5, exports: 7, code: 10 } as const;
const EXPORTED = { func: 0, memory: 2 } as const;
const BLOCK = 0x02;
const LOOP = 0x03;
const END = 0x0b;
const I32_LOAD = 0x28;
const I32_STORE = 0x36;
const I32_ADD = 0x6a;
const I32_OR = 0x72;
const I32_CTZ = 0x68;
const SPLAT = [0xfd, 0x0f];
const EQUAL = [0xfd, 0x23];
const AT_MOST = [0xfd, 0x2a];
const OR = [0xfd, 0x50];
const XOR = [0xfd, 0x51];
const ANY_TRUE = [0xfd, 0x53];
const I8X16_BITMASK = [0xfd, 0x64];
const I8X16_MIN_U = [0xfd, 0x77];

const AT = 0;
const MASK = 1;
const TWO = 2;
const SPACE = 3;
const BACKSLASH = 4;
/** The number of a local variable that is never set, so it is zero. */
const ZERO = 5;
const SEEN = 6;
const PIECES = [7, 8, 9, 10, 11, 12, 13, 14] as const;
const PIECE_BYTES = 16;
const STEP_BYTES = PIECES.length * PIECE_BYTES;

const get = (local: number): number[] => [0x20, local];
const set = (local: number): number[] => [0x21, local];
const tee = (local: number): number[] => [0x22, local];
/** The instruction for a constant up to 8,191. */
const i32 = (value: number): number[] => [0x41, 0x80 | (value & 0x7f), value >> 7];
const branch = (depth: number): number[] => [0x0c, depth];
const branchIf = (depth: number): number[] => [0x0d, depth];
const load = (offset: number): number[] => [0xfd, 0x00, 0, offset];
const splat = (byte: number, local: number): number[] => [...i32(byte), ...SPLAT, ...set(local)];
const advance = (bytes: number): number[] => [...get(AT), ...i32(bytes), I32_ADD, ...set(AT)];

/**
 * The bytewise minimum of the pieces, after an XOR with `local`. With twos, a quote becomes a space and control characters stay below it,
 * and nothing else does. With backslashes, a backslash becomes zero.
 */
const least = (pieces: readonly number[], local: number): number[] =>
  pieces.flatMap((piece, index) => [...get(piece), ...get(local), ...XOR, ...(index === 0 ? [] : I8X16_MIN_U)]);

/** A vector in which all bits of a byte are set where a piece has a special byte. */
const special = (pieces: readonly number[]): number[] => [
  ...[...least(pieces, TWO), ...get(SPACE), ...AT_MOST],
  ...[...least(pieces, BACKSLASH), ...get(ZERO), ...EQUAL, ...OR],
];

const loadPieces = (pieces: readonly number[]): number[] =>
  pieces.flatMap((piece, index) => [...get(AT), ...load(index * PIECE_BYTES), ...set(piece)]);

const collectSeen = (pieces: readonly number[]): number[] =>
  pieces.flatMap((piece) => [...get(piece), ...get(SEEN), ...OR, ...set(SEEN)]);

/** The address of `nonAsciiFlag`, the last four bytes of the page; then the same as a memory argument: alignment, seven bits per byte. */
const NON_ASCII_FLAG_AT = 64 * 1024 - 4;
const NON_ASCII_FLAG_MEMORY_ARGUMENT = [
  2,
  0x80 | (NON_ASCII_FLAG_AT & 0x7f),
  0x80 | ((NON_ASCII_FLAG_AT >> 7) & 0x7f),
  NON_ASCII_FLAG_AT >> 14,
];

const findFunctionBody = [
  ...[2, 1, TYPE.i32, 13, TYPE.v128],
  ...[...splat(2, TWO), ...splat(0x20, SPACE), ...splat(0x5c, BACKSLASH)],
  // Searches eight pieces per step, until one has a special byte.
  ...[BLOCK, TYPE.none, LOOP, TYPE.none],
  ...[...loadPieces(PIECES), ...collectSeen(PIECES), ...special(PIECES), ...ANY_TRUE, ...branchIf(1)],
  ...[...advance(STEP_BYTES), ...branch(0), END, END],
  ...[BLOCK, TYPE.none, LOOP, TYPE.none],
  ...[...loadPieces([PIECES[0]]), ...special([PIECES[0]]), ...I8X16_BITMASK, ...tee(MASK), ...branchIf(1)],
  ...[...advance(PIECE_BYTES), ...branch(0), END, END],
  // Stores a bit for each byte of a piece that was not ASCII, and keeps the bits of earlier searches.
  ...[
    ...i32(0),
    ...i32(0),
    I32_LOAD,
    ...NON_ASCII_FLAG_MEMORY_ARGUMENT,
    ...get(SEEN),
    ...I8X16_BITMASK,
    I32_OR,
    I32_STORE,
    ...NON_ASCII_FLAG_MEMORY_ARGUMENT,
  ],
  ...[...get(AT), ...get(MASK), I32_CTZ, I32_ADD, END],
];

const name = (text: string): number[] => [text.length, ...Buffer.from(text)];
/** The bytes with their length before them, always in two bytes. */
const sized = (bytes: readonly number[]): number[] => [0x80 | (bytes.length & 0x7f), bytes.length >> 7, ...bytes];
const section = (id: number, bytes: readonly number[]): number[] => [id, ...sized(bytes)];

const bytes = Uint8Array.from([
  ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  ...section(SECTION.type, [1, TYPE.func, 1, TYPE.i32, 1, TYPE.i32]),
  ...section(SECTION.func, [1, 0]),
  ...section(SECTION.memory, [1, 0, 1]),
  ...section(SECTION.exports, [2, ...name('memory'), EXPORTED.memory, 0, ...name('find'), EXPORTED.func, 0]),
  ...section(SECTION.code, [1, ...sized(findFunctionBody)]),
]);

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly find: (at: number) => number;
}

const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes)) as { readonly exports: Exports };
const memory = new Uint8Array(exports.memory.buffer);
/** Not 0 if any search since `begin` has seen a non-ASCII byte, perhaps behind the end that it found. */
const nonAsciiFlag = new Int32Array(exports.memory.buffer, NON_ASCII_FLAG_AT, 1);

/** The offset of the first special byte of the loaded text from `from` on, or the text's length. */
const findSpecial: (from: number) => number = exports.find;

/** Bits for classes of bytes. Plain ASCII has none. */
const IS_SPECIAL = 1;
const IS_NON_ASCII = 2;
const classes = new Uint8Array(256).fill(IS_SPECIAL, 0, 0x20).fill(IS_NON_ASCII, 0x80);
classes[0x22] = IS_SPECIAL;
classes[0x5c] = IS_SPECIAL;

/** How many bytes are checked one by one before a text is loaded, which costs as much. */
const NEAR_BYTES = 64;

/** Finds the ends of plain text in one chunk after the other. Within a chunk, no search may begin before an earlier one. */
export class PlainText {
  /** The part of the chunk that is in the function's memory. */
  #loadedStart = 0;
  #loadedEnd = 0;
  /** The classes of all bytes that were checked one by one. */
  #seen = 0;

  /** Starts a new chunk. No other instance may search until the next call: the memory is shared. */
  begin(): void {
    this.#loadedEnd = 0;
    this.#seen = 0;
    nonAsciiFlag[0] = 0;
  }

  /** Whether all text searched in this chunk is surely ASCII. */
  get isAscii(): boolean {
    return (this.#seen & IS_NON_ASCII) === 0 && nonAsciiFlag[0] === 0;
  }

  /** The offset of the first special byte from `from` on, or the length. Long text is copied to be searched faster. */
  findEnd(bytes: Uint8Array, from: number): number {
    const { length } = bytes;
    const nearEnd = Math.min(length, from + NEAR_BYTES);
    let at = this.#findEndWithoutCopy(bytes, from, nearEnd);
    if (at < nearEnd) return at;
    while (at < length) {
      if (at >= this.#loadedEnd) this.#load(bytes, at);
      at = this.#loadedStart + findSpecial(at - this.#loadedStart);
      if (at < this.#loadedEnd) break;
    }
    return at;
  }

  #load(bytes: Uint8Array, start: number): void {
    const text = bytes.subarray(start, start + LOADED_BYTES_MAX);
    this.#loadedStart = start;
    this.#loadedEnd = start + text.length;
    memory.set(text);
    // The sentinel: a special byte ends the search.
    memory[text.length] = 0;
  }

  /** The offset of the first special byte before `to`, or `to`. Searches byte by byte, without a copy. */
  #findEndWithoutCopy(bytes: Uint8Array, from: number, to: number): number {
    let seen = this.#seen;
    let at = from;
    while (at + 8 <= to) {
      const found =
        classes[bytes[at]!]! |
        classes[bytes[at + 1]!]! |
        classes[bytes[at + 2]!]! |
        classes[bytes[at + 3]!]! |
        classes[bytes[at + 4]!]! |
        classes[bytes[at + 5]!]! |
        classes[bytes[at + 6]!]! |
        classes[bytes[at + 7]!]!;
      if ((found & IS_SPECIAL) !== 0) break;
      seen |= found;
      at += 8;
    }
    for (; at < to; at++) {
      const found = classes[bytes[at]!]!;
      if (found === IS_SPECIAL) break;
      seen |= found;
    }
    this.#seen = seen;
    return at;
  }
}
