// Splits large answers into small pieces.
import { encodeLineBreaks, eventEnd, eventHeadText, hasLineBreak } from '../bytes/index.js';
import { KIB } from '../shared/index.js';

export const SENT_PIECE_BYTES = 64 * KIB;

export interface PieceSource {
  readonly bytes: number;
  /** The next piece, which is not changed afterwards; `undefined` when there are no more. */
  next(): Buffer | undefined;
}

/** Splits large parts, and joins small ones, of which there may be very many. */
export class PartPieces implements PieceSource {
  readonly bytes: number;
  readonly #parts: readonly Buffer[];
  #index = 0;
  #offset = 0;

  constructor(parts: readonly Buffer[]) {
    this.#parts = parts;
    this.bytes = parts.reduce((sum, { length }) => sum + length, 0);
  }

  next(): Buffer | undefined {
    const piece = this.#take(SENT_PIECE_BYTES);
    if (piece === undefined || piece.length >= SENT_PIECE_BYTES || this.#index >= this.#parts.length) return piece;
    const joined = [piece];
    let bytesLeft = SENT_PIECE_BYTES - piece.length;
    for (
      let more = this.#take(bytesLeft);
      more !== undefined;
      more = bytesLeft > 0 ? this.#take(bytesLeft) : undefined
    ) {
      joined.push(more);
      bytesLeft -= more.length;
    }
    return joined.length === 1 ? piece : Buffer.concat(joined);
  }

  /** Takes a piece of the current part, or of the next one; `undefined` when there are no more. */
  #take(bytesMax: number): Buffer | undefined {
    for (let part = this.#parts[this.#index]; part !== undefined; part = this.#parts[this.#index]) {
      const piece = part.subarray(this.#offset, this.#offset + bytesMax);
      this.#offset += piece.length;
      if (this.#offset === part.length) {
        this.#index += 1;
        this.#offset = 0;
      }
      if (piece.length > 0) return piece;
    }
    return undefined;
  }
}

/** One event with the parts as its data, as `encodeEvent` makes it. */
export class EventPieces implements PieceSource {
  readonly #parts: PartPieces;
  readonly #head: string;
  #state: 'head' | 'data' | 'over' = 'head';
  /** Whether the last piece ended with a CR: an LF at the start of the next belongs to the same line break. */
  #endsWithCr = false;

  constructor(parts: readonly Buffer[], head = eventHeadText) {
    this.#parts = new PartPieces(parts);
    this.#head = head;
  }

  get bytes(): number {
    return this.#parts.bytes;
  }

  next(): Buffer | undefined {
    if (this.#state === 'over') return undefined;
    if (this.#state === 'head') {
      this.#state = 'data';
      return Buffer.from(this.#head);
    }
    const piece = this.#parts.next();
    if (piece !== undefined) return this.#encode(piece);
    this.#state = 'over';
    return eventEnd;
  }

  #encode(piece: Buffer): Buffer {
    const start = this.#endsWithCr && piece[0] === LF ? 1 : 0;
    this.#endsWithCr = piece.at(-1) === CR;
    return hasLineBreak(piece) ? encodeLineBreaks(piece, start) : piece;
  }
}

const LF = 0x0a;
const CR = 0x0d;
