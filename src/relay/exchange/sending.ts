// Hands large answers to an exchange in pieces, as fast as its caller reads, and not all in one turn of the event loop.
// Each counts in the subject's share of answers until all of it was handed over, or the exchange is over. For as long as
// there is something to hand over, nobody else may write to the exchange. Cold but for large answers.
//
//   ready ── no room ──> waiting ── drained ──> ready ── enough for one turn ──> resting ── the next turn ──> ready
import type { Exchange } from './exchange.js';
import { limits } from '../../shared/limits.js';
import type { PieceSource } from './piece-source.js';

type State = 'ready' | 'waiting' | 'resting';

export class Sending {
  readonly #exchange: Exchange;
  readonly #onIdle: () => void;
  readonly #sources: PieceSource[] = [];
  #state: State = 'ready';
  #isEnding = false;

  /**
   * @param exchange has its stream or its body open.
   * @param onIdle called whenever everything was handed over and there is room for more, once per `add` at most.
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

  /** The exchange is ended behind the last piece. */
  end(): void {
    this.#isEnding = true;
    // A caller that is gone does not drain.
    if (this.#exchange.isAborted) this.#sources.length = 0;
    if (this.#sources.length === 0) this.#finish();
  }

  /** Nobody wants the rest on this exchange. Nothing is called back any more. */
  cancel(): void {
    this.#sources.length = 0;
    this.#exchange.countInPieces(0);
  }

  #send(): void {
    let bytesLeft = limits.sentPerTurnBytes;
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

  /** The one writer of the state. */
  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}
