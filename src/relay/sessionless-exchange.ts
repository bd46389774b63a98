// The only exchange of a session that has no other: a request that came without a session is served in one of its own,
// which ends with it. Tells, once, when the answer is complete or the caller is gone.
import type { BodyType, Exchange, ExchangeRequest } from './exchange.js';

export class SessionlessExchange implements Exchange {
  onAbort: (() => void) | undefined;
  readonly #exchange: Exchange;
  readonly #onOver: () => void;
  #isOver = false;

  constructor(exchange: Exchange, onOver: () => void) {
    this.#exchange = exchange;
    this.#onOver = onOver;
    exchange.onAbort = () => {
      this.onAbort?.();
      this.#finish();
    };
  }

  get request(): ExchangeRequest {
    return this.#exchange.request;
  }

  get isAborted(): boolean {
    return this.#exchange.isAborted;
  }

  get onDrain(): (() => void) | undefined {
    return this.#exchange.onDrain;
  }

  set onDrain(handler: (() => void) | undefined) {
    this.#exchange.onDrain = handler;
  }

  annotate(method: string, backend: string, tool: string): void {
    this.#exchange.annotate?.(method, backend, tool);
  }

  countInPieces(bytes: number): void {
    this.#exchange.countInPieces?.(bytes);
  }

  respond(
    status: number,
    contentType: string,
    body: Uint8Array | string,
    sessionId?: string,
    headers?: readonly string[],
  ): void {
    this.#exchange.respond(status, contentType, body, sessionId, headers);
    this.#finish();
  }

  openStream(sessionId?: string): void {
    this.#exchange.openStream(sessionId);
  }

  openBody(contentType: BodyType, bodyBytes: number): void {
    this.#exchange.openBody(contentType, bodyBytes);
  }

  write(bytes: Uint8Array): boolean {
    return this.#exchange.write(bytes);
  }

  end(): void {
    this.#exchange.end();
    this.#finish();
  }

  reset(): void {
    this.#exchange.reset();
    this.#finish();
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onOver();
  }
}
