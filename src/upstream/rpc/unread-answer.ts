// An answer that is parsed elsewhere: passed on in parts as it arrives, and never assembled here.
import { addPiece, withoutByteOrderMark, type Scan } from '../../bytes/index.js';
import { limits, KIB } from '../../shared/index.js';

/** Bytes of a large list that go to the list thread, or come from it, in one go: more would hold up the event loop. */
export const LIST_PART_BYTES = 512 * KIB;

/** See `RequestHandler.onUnread`. */
type UnreadTaker = (pieces: readonly Buffer[], isLast: boolean) => void;

export class UnreadAnswer {
  readonly #taker: UnreadTaker;
  /** Pieces not passed on yet. */
  #pieces: Buffer[] | undefined;
  #pieceBytes = 0;
  #passedOnBytes = 0;
  #whole: WholeAnswer | undefined;

  constructor(taker: UnreadTaker) {
    this.#taker = taker;
  }

  /** @param piece is copied. @returns false when the answer is too large; nothing more may be added then. */
  tryAdd(piece: Buffer): boolean {
    this.#pieceBytes += piece.length;
    if (this.#passedOnBytes + this.#pieceBytes > limits.upstreamMessageBytesMax) return false;
    addPiece((this.#pieces ??= []), piece);
    if (this.#pieceBytes >= LIST_PART_BYTES) this.#taker(this.#take(), false);
    return true;
  }

  /** @param beforeLast called after the remaining pieces were taken, and before they are passed on. */
  end(beforeLast: () => void): void {
    const pieces = this.#take();
    beforeLast();
    this.#taker(pieces, true);
  }

  /**
   * Passes on a large answer that did not begin like a result, and was therefore assembled after all.
   * @param beforeLast as for `end`.
   */
  passOnWhole(bytes: Buffer, beforeLast: () => void): Scan {
    return (this.#whole = new WholeAnswer(bytes, this.#taker, beforeLast));
  }

  /** Stops passing on parts until `resume`. */
  pause(): void {
    this.#whole?.pause();
  }

  resume(): void {
    this.#whole?.resume();
  }

  drop(): void {
    this.#pieces = undefined;
  }

  /** The answer will be sent again from its beginning. @returns false when a part of it was already passed on. */
  tryRestart(): boolean {
    if (this.#passedOnBytes > 0) return false;
    this.#pieces = undefined;
    this.#pieceBytes = 0;
    return true;
  }

  #take(): Buffer[] {
    const pieces = this.#pieces ?? [];
    if (this.#passedOnBytes === 0 && pieces[0] !== undefined) pieces[0] = withoutByteOrderMark(pieces[0]);
    this.#passedOnBytes += this.#pieceBytes;
    this.#pieces = undefined;
    this.#pieceBytes = 0;
    return pieces;
  }
}

/** Passes on one part per turn of the event loop, since copying 60 MiB takes 30 ms; waits while its taker is paused. */
class WholeAnswer implements Scan {
  readonly #bytes: Buffer;
  readonly #taker: UnreadTaker;
  readonly #beforeLast: () => void;
  #at = 0;
  #isHeld = false;
  #next: NodeJS.Immediate | undefined;

  constructor(bytes: Buffer, taker: UnreadTaker, beforeLast: () => void) {
    this.#bytes = bytes;
    this.#taker = taker;
    this.#beforeLast = beforeLast;
    this.resume();
  }

  pause(): void {
    this.#isHeld = true;
  }

  resume(): void {
    this.#isHeld = false;
    if (this.#at < this.#bytes.length) this.#next ??= setImmediate(() => this.#passOn());
  }

  cancel(): void {
    clearImmediate(this.#next);
    this.#at = this.#bytes.length;
  }

  #passOn(): void {
    this.#next = undefined;
    if (this.#isHeld) return;
    const end = this.#at + LIST_PART_BYTES;
    const part = Buffer.from(this.#bytes.subarray(this.#at, end));
    this.#at = end;
    const isLast = end >= this.#bytes.length;
    if (isLast) this.#beforeLast();
    else this.#next = setImmediate(() => this.#passOn());
    this.#taker([part], isLast);
  }
}
