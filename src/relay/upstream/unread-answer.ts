// An answer that is read elsewhere: passed on in pieces as it comes, a part of it at a time, and never put together here.
import { addPiece } from '../../protocol/byte-pieces.js';
import { limits } from '../../shared/limits.js';

/** As `RequestHandler.onUnread`. */
export type UnreadTaker = (pieces: readonly Buffer[], isLast: boolean) => void;

export class UnreadAnswer {
  readonly #taker: UnreadTaker;
  /** What was not passed on yet. */
  #pieces: Buffer[] | undefined;
  #pieceBytes = 0;
  #passedOnBytes = 0;

  constructor(taker: UnreadTaker) {
    this.#taker = taker;
  }

  /** @param piece is copied. @returns false when the answer is too large; nothing more may be added then. */
  tryAdd(piece: Buffer): boolean {
    this.#pieceBytes += piece.length;
    if (this.#passedOnBytes + this.#pieceBytes > limits.upstreamMessageBytesMax) return false;
    addPiece((this.#pieces ??= []), piece);
    if (this.#pieceBytes >= limits.listPartBytes) this.#taker(this.#take(), false);
    return true;
  }

  /** @param beforeLast called when what is left was taken, before it is passed on. */
  end(beforeLast: () => void): void {
    const pieces = this.#take();
    beforeLast();
    this.#taker(pieces, true);
  }

  /** A large answer that did not begin like one, and so was put together after all. */
  passOnWhole(bytes: Buffer): void {
    const part = limits.listPartBytes;
    let at = 0;
    for (; at + part < bytes.length; at += part) this.#taker([Buffer.from(bytes.subarray(at, at + part))], false);
    this.#taker([Buffer.from(bytes.subarray(at))], true);
  }

  drop(): void {
    this.#pieces = undefined;
  }

  #take(): Buffer[] {
    const pieces = this.#pieces ?? [];
    this.#passedOnBytes += this.#pieceBytes;
    this.#pieces = undefined;
    this.#pieceBytes = 0;
    return pieces;
  }
}
