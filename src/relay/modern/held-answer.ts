// An exchange without a caller: for a call whose client has yet to answer what the backend has asked, and for subscriptions that the
// gateway makes itself (listening.ts). Everything is dropped except the answer, which is handed to `onAnswer`. Cold path.
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
  /** The parts of an answer that is given in parts; `undefined` when it is too large. */
  #parts: Buffer[] | undefined = undefined;

  /**
   * @param request the one that the call came with.
   * @param onAnswer called once, with the whole message; `undefined` when it is too large to be kept, or was broken off.
   * @param isAborted false where somebody waits for the answer, so that the call does not count as abandoned.
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

  /** No answer will come, or no more of it: calls `onAnswer` without a message. */
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
