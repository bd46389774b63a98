// A large list, which the list thread parses: it is passed on in parts as it arrives, and not assembled in this thread.
import { addPiece, withoutByteOrderMark } from '../../bytes/index.js';
import { limits, KIB } from '../../shared/index.js';

/** Bytes of a large list that go to the list thread, or come from it, in one go: more would hold up the event loop. */
export const LIST_PART_BYTES = 512 * KIB;

/** See `RequestHandler.onUnread`. */
type UnreadHandler = (pieces: readonly Buffer[], isLast: boolean) => void;

export class UnreadAnswer {
  readonly #onUnread: UnreadHandler;
  readonly #jsonOf: (whole: Buffer) => Buffer;
  /** Pieces not passed on yet. */
  #pieces: Buffer[] | undefined;
  #pieceBytes = 0;
  #passedOnBytes = 0;
  /** What is still to be passed on of the answer given to `takeWhole`. */
  #whole: Buffer | undefined;
  #beforeLast: () => void = () => undefined;

  /** @param jsonOf removes what is forgiven around the JSON of a whole answer. */
  constructor(onUnread: UnreadHandler, jsonOf: (whole: Buffer) => Buffer) {
    this.#onUnread = onUnread;
    this.#jsonOf = jsonOf;
  }

  /** @param piece is copied. @returns false when the answer is too large; nothing more may be added then. */
  tryAdd(piece: Buffer): boolean {
    this.#pieceBytes += piece.length;
    if (this.#passedOnBytes + this.#pieceBytes > limits.upstreamMessageBytesMax) return false;
    addPiece((this.#pieces ??= []), piece);
    if (this.#pieceBytes >= LIST_PART_BYTES) this.#onUnread(this.#take(), false);
    return true;
  }

  /** @param beforeLast called after the remaining pieces were taken, and before they are passed on. */
  end(beforeLast: () => void): void {
    const isWhole = this.#passedOnBytes === 0;
    const pieces = this.#take();
    beforeLast();
    const isAsIs = !isWhole || pieces[0]?.[0] === BRACE;
    this.#onUnread(isAsIs ? pieces : [this.#jsonOf(Buffer.concat(pieces))], true);
  }

  /**
   * Takes a large answer that did not begin like a result, and was therefore assembled after all.
   * @param beforeLast as for `end`.
   */
  takeWhole(bytes: Buffer, beforeLast: () => void): void {
    this.#whole = bytes;
    this.#beforeLast = beforeLast;
  }

  /** Passes on the next part of that answer; in parts, because copying 60 MiB takes 30 ms. @returns whether there was one. */
  tryPassOnPart(): boolean {
    const whole = this.#whole;
    if (whole === undefined) return false;
    const isLast = whole.length <= LIST_PART_BYTES;
    this.#whole = isLast ? undefined : whole.subarray(LIST_PART_BYTES);
    if (isLast) this.#beforeLast();
    this.#onUnread([Buffer.from(whole.subarray(0, LIST_PART_BYTES))], isLast);
    return true;
  }

  /** Nothing more is passed on. */
  cancel(): void {
    this.#pieces = this.#whole = undefined;
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

const BRACE = 0x7b;
