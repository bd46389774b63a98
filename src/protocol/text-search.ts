// The search for the end of plain text in a JSON string, 64 bytes at a time: JavaScript has no wider step than four. A
// function of WebAssembly in a memory of its own, so what is searched is copied there, which costs a tenth of looking at
// it byte by byte. Written down as instructions here: a compiler for thirty of them would be one more thing to trust. Hot.
//
//   (func (export "find") (param $at i32) (result i32)) ;; the first byte from $at on that is special

/** What is used of it; the library's declarations are those of a browser. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: object };
};

/** What of a text can be searched at once. With its sentinel, and what is read behind that, it fits into one page. */
export const SEARCHED_BYTES_MAX = 16 * 1024;

// The binary format's numbers (WebAssembly core specification, 5.4 and 5.5).
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
const BITMASK = [0xfd, 0x64];
const LESSER = [0xfd, 0x77];

/** The parameter and the locals, by their index. */
const AT = 0;
const MASK = 1;
const TWO = 2;
const SPACE = 3;
const BACKSLASH = 4;
/** Is never set: it is zero. */
const ZERO = 5;
/** All bits of the bytes so far. */
const SEEN = 6;
const PIECES = [7, 8, 9, 10, 11, 12, 13, 14] as const;
const PIECE_BYTES = 16;
const STEP_BYTES = PIECES.length * PIECE_BYTES;

const get = (local: number): number[] => [0x20, local];
const set = (local: number): number[] => [0x21, local];
const tee = (local: number): number[] => [0x22, local];
/** Up to 8,191. */
const i32 = (value: number): number[] => [0x41, 0x80 | (value & 0x7f), value >> 7];
const branch = (depth: number): number[] => [0x0c, depth];
const branchIf = (depth: number): number[] => [0x0d, depth];
const load = (offset: number): number[] => [0xfd, 0x00, 0, offset];
const splat = (byte: number, local: number): number[] => [...i32(byte), ...SPLAT, ...set(local)];
const advance = (bytes: number): number[] => [...get(AT), ...i32(bytes), I32_ADD, ...set(AT)];

/**
 * The least of what is left of the bytes at each place of the pieces when the bits of `local` are turned over. With those
 * of two, a quote becomes a space and control characters stay below it, and nothing else does; with those of a backslash,
 * that becomes zero.
 */
const least = (pieces: readonly number[], local: number): number[] =>
  pieces.flatMap((piece, index) => [...get(piece), ...get(local), ...XOR, ...(index === 0 ? [] : LESSER)]);

/** All bits of the places at which one of the pieces has a special byte. */
const special = (pieces: readonly number[]): number[] => [
  ...[...least(pieces, TWO), ...get(SPACE), ...AT_MOST],
  ...[...least(pieces, BACKSLASH), ...get(ZERO), ...EQUAL, ...OR],
];

const loadPieces = (pieces: readonly number[]): number[] =>
  pieces.flatMap((piece, index) => [...get(AT), ...load(index * PIECE_BYTES), ...set(piece)]);

const note = (pieces: readonly number[]): number[] =>
  pieces.flatMap((piece) => [...get(piece), ...get(SEEN), ...OR, ...set(SEEN)]);

/** The last four bytes of the page: their alignment, and their address in seven bits a byte. */
const WIDE_AT = 64 * 1024 - 4;
const WIDE_PLACE = [2, 0x80 | (WIDE_AT & 0x7f), 0x80 | ((WIDE_AT >> 7) & 0x7f), WIDE_AT >> 14];

const find = [
  ...[2, 1, TYPE.i32, 13, TYPE.v128],
  ...[...splat(2, TWO), ...splat(0x20, SPACE), ...splat(0x5c, BACKSLASH)],
  // Eight pieces at a step, until there is something among them.
  ...[BLOCK, TYPE.none, LOOP, TYPE.none],
  ...[...loadPieces(PIECES), ...note(PIECES), ...special(PIECES), ...ANY_TRUE, ...branchIf(1)],
  ...[...advance(STEP_BYTES), ...branch(0), END, END],
  // Where it is.
  ...[BLOCK, TYPE.none, LOOP, TYPE.none],
  ...[...loadPieces([PIECES[0]]), ...special([PIECES[0]]), ...BITMASK, ...tee(MASK), ...branchIf(1)],
  ...[...advance(PIECE_BYTES), ...branch(0), END, END],
  // A bit for each place at which there was a byte that is not ASCII, beside those of earlier searches.
  ...[...i32(0), ...i32(0), I32_LOAD, ...WIDE_PLACE, ...get(SEEN), ...BITMASK, I32_OR, I32_STORE, ...WIDE_PLACE],
  ...[...get(AT), ...get(MASK), I32_CTZ, I32_ADD, END],
];

const name = (text: string): number[] => [text.length, ...Buffer.from(text)];
/** Its length takes two bytes, whatever it is. */
const sized = (bytes: readonly number[]): number[] => [0x80 | (bytes.length & 0x7f), bytes.length >> 7, ...bytes];
const section = (id: number, bytes: readonly number[]): number[] => [id, ...sized(bytes)];

const bytes = Uint8Array.from([
  ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  ...section(SECTION.type, [1, TYPE.func, 1, TYPE.i32, 1, TYPE.i32]),
  ...section(SECTION.func, [1, 0]),
  ...section(SECTION.memory, [1, 0, 1]),
  ...section(SECTION.exports, [2, ...name('memory'), EXPORTED.memory, 0, ...name('find'), EXPORTED.func, 0]),
  ...section(SECTION.code, [1, ...sized(find)]),
]);

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly find: (at: number) => number;
}

const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes)) as { readonly exports: Exports };
const memory = new Uint8Array(exports.memory.buffer);
const wide = new Int32Array(exports.memory.buffer, WIDE_AT, 1);

/** Copies a text to where `findSpecial` searches, over the one before. It is no longer than `SEARCHED_BYTES_MAX`. */
export function loadText(text: Uint8Array): void {
  memory.set(text);
  // Special itself, so that the search ends.
  memory[text.length] = 0;
}

/** The first quote, backslash or control character of the loaded text from `from` on, or its length. */
export const findSpecial: (from: number) => number = exports.find;

/** Whether the searches since `forgetWide` may have come by bytes that are not ASCII. They look some bytes beyond what they find. */
export function hasSeenWide(): boolean {
  return wide[0] !== 0;
}

export function forgetWide(): void {
  wide[0] = 0;
}
