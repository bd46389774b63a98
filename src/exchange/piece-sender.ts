// Hands a large answer to an exchange in pieces, as fast as the caller reads, over several turns of the event loop. The answer counts in
// the subject's share meanwhile, and nothing else may write to the exchange. Cold path, except for large answers.
//   ready ── no room ──> waiting ── drained ──> ready ── enough for one turn ──> resting ── the next turn ──> ready
import type { Exchange } from './exchange.js';
import type { PieceSource } from './piece-source.js';
import { MIB } from '../shared/index.js';

/** Bytes of one large answer in one turn of the event loop. After that, other answers have their turn. */
export const SENT_PER_TURN_BYTES = MIB;

type State = 'ready' | 'waiting' | 'resting';

export class PieceSender {
  readonly #exchange: Exchange;
  readonly #source: PieceSource;
  readonly #onSent: () => void;
  #state: State = 'ready';
  #isCancelled = false;

  /**
   * @param exchange one whose stream or body is open.
   * @param onSent called when everything was handed over and there is room for more, or the caller is gone.
   */
  constructor(exchange: Exchange, source: PieceSource, onSent: () => void) {
    this.#exchange = exchange;
    this.#source = source;
    this.#onSent = onSent;
  }

  start(): void {
    this.#exchange.onDrain = () => {
      this.#transition('waiting', 'ready');
      this.#send();
    };
    this.#exchange.countSentInPieces(this.#source.bytes);
    this.#send();
  }

  /** Drops the rest of the answer. `onSent` is not called any more. */
  cancel(): void {
    this.#isCancelled = true;
    this.#exchange.countSentInPieces(0);
  }

  #send(): void {
    let bytesLeft = SENT_PER_TURN_BYTES;
    while (this.#state === 'ready' && !this.#isCancelled) {
      const piece = this.#exchange.isAborted ? undefined : this.#source.next();
      if (piece === undefined) return this.#finish();
      if (piece.length > 0 && !this.#exchange.write(piece)) this.#transition('ready', 'waiting');
      bytesLeft -= piece.length;
      if (bytesLeft <= 0) this.#yield();
    }
  }

  #yield(): void {
    if (!this.#transition('ready', 'resting')) return;
    setImmediate(() => {
      this.#transition('resting', 'ready');
      this.#send();
    });
  }

  #finish(): void {
    this.#exchange.countSentInPieces(0);
    this.#exchange.onDrain = undefined;
    this.#onSent();
  }

  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}
