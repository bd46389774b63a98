// The hooks of an exchange, as plain fields: what nobody listens to costs nothing. Every implementation of `Exchange` is
// built on this, so that none can leave one out, and so that the end of an exchange is told once. Hot: one object each.
import type { Exchange, ExchangeEnding } from './exchange.js';

export abstract class ExchangeHooks {
  onDrain: (() => void) | undefined;
  onAbort: (() => void) | undefined;
  onIdentified: ((method: string, backend: string, tool: string) => void) | undefined;
  onOutcome: Exchange['onOutcome'];
  isToolErrorTold = false;
  onPart: ((part: Exchange) => void) | undefined;
  onDone: ((status: number, bytes: number, ending: ExchangeEnding) => void) | undefined;

  /** Calls `onDone` the first time, and does nothing after that. */
  protected tellDone(status: number, bytes: number, ending: ExchangeEnding): void {
    const { onDone } = this;
    if (onDone === undefined) return;
    this.onDone = undefined;
    onDone(status, bytes, ending);
  }
}
