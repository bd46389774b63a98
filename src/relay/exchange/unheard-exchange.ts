// The exchange of a notification that another process has answered and passed on: any answer given here is discarded. Cold path.
import { ExchangeHooks } from './exchange-hooks.js';
import type { Exchange, ExchangeRequest } from './exchange.js';

export class UnheardExchange extends ExchangeHooks implements Exchange {
  readonly request: ExchangeRequest;
  readonly isAborted = false;
  readonly isPart = false;

  constructor(request: ExchangeRequest) {
    super();
    this.request = request;
  }

  respond(): void {}
  openStream(): void {}
  openBody(): void {}
  write(): boolean {
    return true;
  }
  end(): void {}
  reset(): void {}
  onRead(): void {}
  makeRoom(): 'room' {
    return 'room';
  }
  countInPieces(): void {}
  releaseBody(): void {}
}
