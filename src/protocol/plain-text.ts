// The text of JSON strings: where the bytes end that stand for themselves. Hot: most bytes of most messages.
import { findSpecial, forgetWide, hasSeenWide, loadText, SEARCHED_BYTES_MAX } from './text-search.js';

/** What a byte is: bits, so that those of several can be seen at once. Of ASCII that stands for itself there is none. */
const IS_SPECIAL = 1;
const IS_WIDE = 2;
const classes = new Uint8Array(256).fill(IS_SPECIAL, 0, 0x20).fill(IS_WIDE, 0x80);
classes[0x22] = IS_SPECIAL;
classes[0x5c] = IS_SPECIAL;

/** To load a text and to search it costs as much as looking at some dozens of bytes. */
const NEAR_BYTES = 64;

/** Looks through one chunk after the other, in each from its beginning to its end. */
export class PlainText {
  /** The stretch of the chunk under way that was loaded last. */
  #loadedStart = 0;
  #loadedEnd = 0;
  /** The bits of all that was looked at by itself. */
  #seen = 0;

  /** A new chunk. Until the next one nobody else may look through another. */
  begin(): void {
    this.#loadedEnd = 0;
    this.#seen = 0;
    forgetWide();
  }

  /** Whether all text of this chunk that was looked through is ASCII; false may be wrong. */
  get isAscii(): boolean {
    return (this.#seen & IS_WIDE) === 0 && !hasSeenWide();
  }

  /**
   * The first byte from `from` on that does not stand for itself in a string, or the length. What goes on for long is
   * searched several times as fast, for which it is copied: a stretch at a time, which serves the next calls too.
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

  /** The first byte from `from` on, before `to`, that does not stand for itself in a string, or `to`. Eight look-ups a turn. */
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
