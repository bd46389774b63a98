// The text of JSON strings: where the bytes end that stand for themselves. Hot: most bytes of most messages.

/** 1 for the bytes that stand for themselves in a string. */
const plain = new Uint8Array(256).fill(1, 0x20);
plain[0x22] = 0;
plain[0x5c] = 0;

/** A native search costs as much as looking at some hundred bytes. */
const NEAR_BYTES = 256;

/** Looks through one chunk after the other, in each from its beginning to its end. */
export class PlainText {
  /** In the chunk under way, when it is not behind: the next quote and the next backslash, or the chunk's length. */
  #nextQuote = -1;
  #nextBackslash = -1;

  /** A new chunk. */
  begin(): void {
    this.#nextQuote = -1;
    this.#nextBackslash = -1;
  }

  /**
   * The first byte from `from` on that does not stand for itself in a string, or the length. What goes on for long is
   * searched for quotes and backslashes by the native search, several times as fast; what it found is kept for the next
   * call, so that no byte is searched twice.
   */
  end(bytes: Uint8Array, from: number): number {
    const { length } = bytes;
    const nearEnd = Math.min(length, from + NEAR_BYTES);
    const at = endOfPlain(bytes, from, nearEnd);
    if (at < nearEnd || at === length) return at;
    if (this.#nextQuote < at) this.#nextQuote = indexOrLength(bytes, 0x22, at);
    if (this.#nextBackslash < at) this.#nextBackslash = indexOrLength(bytes, 0x5c, at);
    return endOfPrintable(bytes, at, Math.min(this.#nextQuote, this.#nextBackslash));
  }
}

function indexOrLength(bytes: Uint8Array, byte: number, from: number): number {
  const index = bytes.indexOf(byte, from);
  return index === -1 ? bytes.length : index;
}

/** The first byte from `from` on, before `to`, that does not stand for itself in a string, or `to`. Eight look-ups a turn. */
function endOfPlain(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at + 8 <= to) {
    const isPlain =
      plain[bytes[at]!]! &
      plain[bytes[at + 1]!]! &
      plain[bytes[at + 2]!]! &
      plain[bytes[at + 3]!]! &
      plain[bytes[at + 4]!]! &
      plain[bytes[at + 5]!]! &
      plain[bytes[at + 6]!]! &
      plain[bytes[at + 7]!]!;
    if (isPlain === 0) break;
    at += 8;
  }
  while (at < to && plain[bytes[at]!] === 1) at++;
  return at;
}

/** The first control character from `from` on, before `to`, or `to`. */
function endOfPrintable(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to && ((bytes.byteOffset + at) & 3) !== 0) {
    if (bytes[at]! < 0x20) return at;
    at++;
  }
  if (at === to) return to;
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + at, (to - at) >> 2);
  const groupsEnd = words.length & ~3;
  let group = 0;
  while (group < groupsEnd) {
    const blockEnd = Math.min(groupsEnd, group + BLOCK_WORDS);
    group = firstWithControl(words, group, blockEnd);
    if (group < blockEnd) break;
  }
  at += group * 4;
  while (at < to && bytes[at]! >= 0x20) at++;
  return at;
}

/**
 * Of the groups of four words each, the first with a control character in it, or `to`. Looks at a group at once. Called
 * for a block at a time: code for a loop that is compiled while it runs for long is thrown away at the loop's end.
 */
function firstWithControl(words: Int32Array, from: number, to: number): number {
  for (let word = from; word < to; word += 4) {
    const a = words[word]!;
    const b = words[word + 1]!;
    const c = words[word + 2]!;
    const d = words[word + 3]!;
    // Taking 32 from a byte below it borrows, which sets its highest bit; bytes from 128 on had that set before.
    const below = ((a - ALL_SPACES) & ~a) | ((b - ALL_SPACES) & ~b) | ((c - ALL_SPACES) & ~c) | ((d - ALL_SPACES) & ~d);
    if ((below & ALL_HIGHEST_BITS) !== 0) return word;
  }
  return to;
}

const BLOCK_WORDS = 1_024;
const ALL_SPACES = 0x20202020;
const ALL_HIGHEST_BITS = 0x80808080;
