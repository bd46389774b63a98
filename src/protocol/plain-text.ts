// The text of JSON strings: where the bytes end that stand for themselves. Hot: most bytes of most messages.
import { findSpecial, loadText, SEARCHED_BYTES_MAX } from './text-search.js';

/** 1 for the bytes that stand for themselves in a string. */
const plain = new Uint8Array(256).fill(1, 0x20);
plain[0x22] = 0;
plain[0x5c] = 0;

/** To load a text and to search it costs as much as looking at some dozens of bytes. */
const NEAR_BYTES = 64;

/** Looks through one chunk after the other, in each from its beginning to its end. */
export class PlainText {
  /** The stretch of the chunk under way that was loaded last. */
  #loadedStart = 0;
  #loadedEnd = 0;

  /** A new chunk. Until the next one nobody else may look through another. */
  begin(): void {
    this.#loadedEnd = 0;
  }

  /**
   * The first byte from `from` on that does not stand for itself in a string, or the length. What goes on for long is
   * searched several times as fast, for which it is copied: a stretch at a time, which serves the next calls too.
   */
  end(bytes: Uint8Array, from: number): number {
    const { length } = bytes;
    const nearEnd = Math.min(length, from + NEAR_BYTES);
    let at = endOfPlain(bytes, from, nearEnd);
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
