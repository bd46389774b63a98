// Finds the end of plain text in JSON strings, that is, of bytes that stand for themselves. Hot path: most bytes of most messages.
import { findSpecial, forgetWide, hasSeenWide, loadText, SEARCHED_BYTES_MAX } from './text-search.js';

/** Classes of bytes, as bits, so that those of several bytes can be combined. Plain ASCII has no bit. */
const IS_SPECIAL = 1;
const IS_WIDE = 2;
const classes = new Uint8Array(256).fill(IS_SPECIAL, 0, 0x20).fill(IS_WIDE, 0x80);
classes[0x22] = IS_SPECIAL;
classes[0x5c] = IS_SPECIAL;

/** Loading and searching a text costs as much as looking at some dozens of bytes one by one. */
const NEAR_BYTES = 64;

/** Searches one chunk after another, each from start to end. */
export class PlainText {
  /** The part of the current chunk that was loaded last. */
  #loadedStart = 0;
  #loadedEnd = 0;
  /** The combined bits of all bytes that were looked at one by one. */
  #seen = 0;

  /** Starts a new chunk. Until the next call, no other instance may search a chunk, because the search memory is shared. */
  begin(): void {
    this.#loadedEnd = 0;
    this.#seen = 0;
    forgetWide();
  }

  /** Whether all text searched in this chunk is ASCII; may be false for ASCII. */
  get isAscii(): boolean {
    return (this.#seen & IS_WIDE) === 0 && !hasSeenWide();
  }

  /**
   * The first byte from `from` on that does not stand for itself in a string, or the length. Long text is copied, a part at a time, to be
   * searched several times as fast; later calls use the same copy.
   */
  end(bytes: Uint8Array, from: number): number {
    const { length } = bytes;
    const nearEnd = Math.min(length, from + NEAR_BYTES);
    let at = this.#endOfPlain(bytes, from, nearEnd);
    if (at < nearEnd) return at;
    while (at < length) {
      if (at >= this.#loadedEnd) this.#load(bytes, at);
      at = this.#loadedStart + findSpecial(at - this.#loadedStart);
      if (at < this.#loadedEnd) break;
    }
    return at;
  }

  #load(bytes: Uint8Array, start: number): void {
    this.#loadedStart = start;
    this.#loadedEnd = Math.min(bytes.length, start + SEARCHED_BYTES_MAX);
    loadText(bytes.subarray(start, this.#loadedEnd));
  }

  /** The same before `to`, without a copy; `to` if there is none. Eight look-ups per iteration. */
  #endOfPlain(bytes: Uint8Array, from: number, to: number): number {
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
