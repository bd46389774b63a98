// Hands large answers to an exchange in pieces, as fast as its caller reads, and spread over several turns of the event loop.
// The answers count in the subject's share until all of them are handed over, or the exchange is over. Until then, nothing else
// may write to the exchange. Cold path, except for large answers.
//
//   ready ── no room ──> waiting ── drained ──> ready ── enough for one turn ──> resting ── the next turn ──> ready
import type { Exchange } from './exchange.js';
import type { PieceSource } from './piece-source.js';
import { MIB } from '../shared/index.js';

/**
 * Bytes written of one large response in one turn of the event loop, however fast its caller reads. Beyond that, other responses have their
 * turn.
 */
export const SENT_PER_TURN_BYTES = MIB;

type State = 'ready' | 'waiting' | 'resting';

export class PieceSender {
  readonly #exchange: Exchange;
  readonly #onIdle: () => void;
  readonly #sources: PieceSource[] = [];
  #state: State = 'ready';
  #isEnding = false;

  /**
   * @param exchange must have its stream or its body open.
   * @param onIdle called whenever everything has been handed over and there is room for more, at most once per `add`.
   */
  constructor(exchange: Exchange, onIdle: () => void) {
    this.#exchange = exchange;
    this.#onIdle = onIdle;
  }

  add(source: PieceSource): void {
    this.#exchange.onDrain = () => {
      this.#transition('waiting', 'ready');
      this.#send();
    };
    this.#exchange.countInPieces(source.bytes);
    this.#sources.push(source);
    if (this.#sources.length === 1) this.#send();
  }

  /** Ends the exchange after the last piece. */
  end(): void {
    this.#isEnding = true;
    // `onDrain` is not called once the caller is gone.
    if (this.#exchange.isAborted) this.#sources.length = 0;
    if (this.#sources.length === 0) this.#finish();
  }

  /** Drops what has not been handed over yet. Nothing is called back any more. */
  cancel(): void {
    this.#sources.length = 0;
    this.#exchange.countInPieces(0);
  }

  #send(): void {
    let bytesLeft = SENT_PER_TURN_BYTES;
    while (this.#state === 'ready') {
      const source = this.#sources[0];
      if (source === undefined) return;
      const piece = source.next();
      if (piece === undefined || this.#exchange.isAborted) {
        this.#sources.shift();
        if (this.#sources.length === 0) this.#finish();
        continue;
      }
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
    this.#exchange.countInPieces(0);
    this.#exchange.onDrain = undefined;
    if (this.#isEnding) this.#exchange.end();
    else this.#onIdle();
  }

  /** The only writer of the state. */
  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}
