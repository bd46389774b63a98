// The hooks of an exchange, as plain fields: a hook without a listener costs nothing. Every implementation of `Exchange` extends
// this class, so that none can leave a hook out, and the end of an exchange is reported once. Hot path: one object per exchange.
import type { Exchange, ExchangeEnding } from './exchange.js';

export abstract class ExchangeHooks {
  /** The default; an implementation may override it. */
  get takesLent(): boolean {
    return false;
  }

  onDrain: Exchange['onDrain'] = undefined;
  onAbort: Exchange['onAbort'] = undefined;
  watcher: Exchange['watcher'] = undefined;
  onDone: Exchange['onDone'] = undefined;

  /** Reports the end of the exchange on the first call; later calls do nothing. */
  protected tellDone(status: number, bytes: number, ending: ExchangeEnding): void {
    const { watcher, onDone } = this;
    if (watcher === undefined && onDone === undefined) return;
    this.watcher = undefined;
    this.onDone = undefined;
    watcher?.onDone(status, bytes, ending);
    onDone?.(status, bytes, ending);
  }
}
