// The hooks of an exchange, as plain fields: what nobody listens to costs nothing. Every implementation of `Exchange` is
// built on this, so that none can leave one out, and so that the end of an exchange is told once. Hot: one object each.
import type { Exchange, ExchangeEnding } from './exchange.js';

export abstract class ExchangeHooks {
  /** Unless an implementation says otherwise. */
  get takesLent(): boolean {
    return false;
  }

  onDrain: Exchange['onDrain'] = undefined;
  onAbort: Exchange['onAbort'] = undefined;
  watcher: Exchange['watcher'] = undefined;
  onDone: Exchange['onDone'] = undefined;

  /** Tells of the end the first time, and does nothing after that. */
  protected tellDone(status: number, bytes: number, ending: ExchangeEnding): void {
    const { watcher, onDone } = this;
    if (watcher === undefined && onDone === undefined) return;
    this.watcher = undefined;
    this.onDone = undefined;
    watcher?.onDone(status, bytes, ending);
    onDone?.(status, bytes, ending);
  }
}
