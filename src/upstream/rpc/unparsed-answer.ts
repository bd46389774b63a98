// A large list, which the list thread parses: delivered in parts as it arrives, never as a whole.
import { addPiece, withoutByteOrderMark } from '../../bytes/index.js';
import { limits, KIB } from '../../shared/index.js';
import { answerJsonOf, type RequestPlan } from './request-plan.js';

/** Bytes that go to the list thread, or come from it, at once: more would block the event loop. */
export const LIST_PART_BYTES = 512 * KIB;

export class UnparsedAnswer {
  readonly #onUnparsed: (pieces: readonly Buffer[], isLast: boolean) => void;
  readonly #plan: RequestPlan;
  #pieces: Buffer[] | undefined;
  #pieceBytes = 0;
  #deliveredBytes = 0;
  #wholeAnswer: Buffer | undefined;
  #beforeLast: () => void = () => undefined;

  constructor(plan: RequestPlan, onUnparsed: (pieces: readonly Buffer[], isLast: boolean) => void) {
    this.#plan = plan;
    this.#onUnparsed = onUnparsed;
  }

  /** Adds a piece. @param piece is copied. @returns false once the answer is too large. */
  tryAdd(piece: Buffer): boolean {
    this.#pieceBytes += piece.length;
    if (this.#deliveredBytes + this.#pieceBytes > limits.upstreamMessageBytesMax) return false;
    addPiece((this.#pieces ??= []), piece);
    if (this.#pieceBytes >= LIST_PART_BYTES) this.#onUnparsed(this.#takePieces(), false);
    return true;
  }

  /** Ends the answer. @param beforeLast called before the last pieces are delivered. */
  end(beforeLast: () => void): void {
    const isWhole = this.#deliveredBytes === 0;
    const pieces = this.#takePieces();
    beforeLast();
    const isAsIs = !isWhole || pieces[0]?.[0] === OPENING_BRACE;
    this.#onUnparsed(isAsIs ? pieces : [answerJsonOf(Buffer.concat(pieces), this.#plan)], true);
  }

  /** Takes an answer that is in memory as a whole. @param beforeLast as for `end`. */
  addWhole(bytes: Buffer, beforeLast: () => void): void {
    this.#wholeAnswer = bytes;
    this.#beforeLast = beforeLast;
  }

  /** Delivers the next part of an answer from `addWhole`: copying 60 MiB at once would take 30 ms. @returns whether there was one. */
  tryDeliverPart(): boolean {
    const whole = this.#wholeAnswer;
    if (whole === undefined) return false;
    const isLast = whole.length <= LIST_PART_BYTES;
    this.#wholeAnswer = isLast ? undefined : whole.subarray(LIST_PART_BYTES);
    if (isLast) this.#beforeLast();
    this.#onUnparsed([Buffer.from(whole.subarray(0, LIST_PART_BYTES))], isLast);
    return true;
  }

  cancel(): void {
    this.#pieces = this.#wholeAnswer = undefined;
  }

  /** Begins again, because the answer will be sent again. @returns false if a part was already delivered. */
  tryRestart(): boolean {
    if (this.#deliveredBytes > 0) return false;
    this.#pieces = undefined;
    this.#pieceBytes = 0;
    return true;
  }

  #takePieces(): Buffer[] {
    const pieces = this.#pieces ?? [];
    if (this.#deliveredBytes === 0 && pieces[0] !== undefined) pieces[0] = withoutByteOrderMark(pieces[0]);
    this.#deliveredBytes += this.#pieceBytes;
    this.#pieces = undefined;
    this.#pieceBytes = 0;
    return pieces;
  }
}

const OPENING_BRACE = 0x7b;
