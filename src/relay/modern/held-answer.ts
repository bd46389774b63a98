// Nobody, in place of a caller: the exchange of a call whose client is still to answer what the backend has asked. What the call
// says meanwhile goes nowhere, but for its answer, which is for the retry. Cold.
import { limits } from '../../shared/limits.js';
import type { BodyType, Exchange, ExchangeRequest } from '../exchange/exchange.js';

export class HeldAnswer implements Exchange {
  readonly request: ExchangeRequest;
  readonly isAborted: boolean;
  readonly isPart = false;
  readonly takesLent = true;
  onDrain: Exchange['onDrain'] = undefined;
  onAbort: Exchange['onAbort'] = undefined;
  onDone: Exchange['onDone'] = undefined;
  watcher: Exchange['watcher'] = undefined;
  readonly #onAnswer: (status: number, message: Buffer | undefined) => void;
  #isTold = false;
  /** Of an answer that is given in parts; `undefined` when it is too large. */
  #parts: Buffer[] | undefined = undefined;

  /**
   * @param request that the call came with.
   * @param onAnswer called once, with the whole message; `undefined` when it is too large to be kept, or was broken off.
   * @param isAborted false where the answer is all that anybody waits for.
   */
  constructor(
    request: ExchangeRequest,
    onAnswer: (status: number, message: Buffer | undefined) => void,
    isAborted = true,
  ) {
    this.request = { ...request, answerForms: 'json' };
    this.isAborted = isAborted;
    this.#onAnswer = onAnswer;
  }

  respond(status: number, _contentType: string, body: Uint8Array | string): void {
    const message = Buffer.from(body as Uint8Array);
    this.#tell(status, message.length > limits.heldAnswerBytesMax ? undefined : message);
  }

  openStream(): void {}

  openBody(_contentType: BodyType, bodyBytes: number): void {
    if (bodyBytes > limits.heldAnswerBytesMax) this.#tell(200, undefined);
    else this.#parts = [];
  }

  write(bytes: Uint8Array): boolean {
    this.#parts?.push(Buffer.from(bytes));
    return true;
  }

  end(last?: Uint8Array): void {
    if (last !== undefined) this.write(last);
    this.#tell(200, this.#parts && Buffer.concat(this.#parts));
  }

  /** There will be no answer, or no more of it: whoever waits for it waits no longer. */
  reset(): void {
    this.#tell(502, undefined);
  }

  #tell(status: number, message: Buffer | undefined): void {
    this.#parts = undefined;
    if (this.#isTold) return;
    this.#isTold = true;
    this.#onAnswer(status, message);
  }

  onRead(): void {}
  makeRoom(): 'room' {
    return 'room';
  }
  countInPieces(): void {}
  releaseBody(): void {}
}
