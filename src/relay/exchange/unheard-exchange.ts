// The exchange of a notice that came by another process, which has answered its caller already: whatever is answered is nobody's. Cold.
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
