// An answer that is read elsewhere: passed on in pieces as it comes, a part of it at a time, and never put together here.
import { addPiece } from '../../protocol/byte-pieces.js';
import type { LargeEventTaker } from '../../protocol/event-stream.js';
import { beginsWithResult } from '../../protocol/json-rpc.js';
import type { Reading } from '../../protocol/reading-queue.js';
import { limits } from '../../shared/limits.js';

/** As `RequestHandler.onUnread`. */
export type UnreadTaker = (pieces: readonly Buffer[], isLast: boolean) => void;

export class UnreadAnswer {
  readonly #taker: UnreadTaker;
  /** What was not passed on yet. */
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
    if (this.#pieceBytes >= limits.listPartBytes) this.#taker(this.#take(), false);
    return true;
  }

  /** @param beforeLast called when what is left was taken, before it is passed on. */
  end(beforeLast: () => void): void {
    const pieces = this.#take();
    beforeLast();
    this.#taker(pieces, true);
  }

  /**
   * A large answer that did not begin like one, and so was put together after all.
   * @param beforeLast as for `end`.
   */
  passOnWhole(bytes: Buffer, beforeLast: () => void): Reading {
    return (this.#whole = new WholeAnswer(bytes, this.#taker, beforeLast));
  }

  /** No more of it for now. */
  pause(): void {
    this.#whole?.pause();
  }

  resume(): void {
    this.#whole?.resume();
  }

  drop(): void {
    this.#pieces = undefined;
  }

  /** The answer will come again from its beginning. @returns false when something of it was passed on. */
  tryRestart(): boolean {
    if (this.#passedOnBytes > 0) return false;
    this.#pieces = undefined;
    this.#pieceBytes = 0;
    return true;
  }

  #take(): Buffer[] {
    const pieces = this.#pieces ?? [];
    this.#passedOnBytes += this.#pieceBytes;
    this.#pieces = undefined;
    this.#pieceBytes = 0;
    return pieces;
  }
}

/**
 * Takes large results from an event stream as they come.
 * @param isOpen what is taken from a stream that is over goes nowhere.
 */
export function largeResultTaker(
  isOpen: () => boolean,
  onPiece: (piece: Buffer) => void,
  onEnd: () => void,
): LargeEventTaker {
  return {
    fromBytes: limits.upstreamReadBytes,
    takes: (beginning) => isOpen() && beginsWithResult(beginning),
    onPiece: (piece) => {
      if (isOpen()) onPiece(piece);
    },
    onEnd: () => {
      if (isOpen()) onEnd();
    },
  };
}

/** On its way a part a turn of the event loop, since copying 60 MiB takes 30 ms; it waits while its taker wants no more. */
class WholeAnswer implements Reading {
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
    const end = this.#at + limits.listPartBytes;
    const part = Buffer.from(this.#bytes.subarray(this.#at, end));
    this.#at = end;
    const isLast = end >= this.#bytes.length;
    if (isLast) this.#beforeLast();
    else this.#next = setImmediate(() => this.#passOn());
    this.#taker([part], isLast);
  }
}
