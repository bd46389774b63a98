// Thousands of requests may come in one turn of the event loop, and what is done for each at once takes up to a millisecond: a
// subject that sent them all would hold up everybody. The first of a turn are served as they come, so that most requests never
// wait here; the others have a few milliseconds of each turn, subjects one after the other. What waits counts as in flight, so
// that the shares bound it. Hot: a comparison and a subtraction a request.
//
//   of a turn:  64 to 127 pass │ the others wait ── by subject, 10 ms a turn ──> served, until nobody waits
//
// While somebody waits everybody does, so that no request overtakes another of its subject.
import type { Exchange } from '../relay/exchange.js';
import type { Account, Accounts } from '../shared/accounts.js';
import { FairQueue, type FairPlace } from '../shared/fair-queue.js';
import { fullRequestShare } from '../shared/full-share.js';
import { limits } from '../shared/limits.js';
import type { Refusal } from '../shared/refusals.js';

interface Waiter {
  readonly account: Account;
  readonly exchange: Exchange;
  readonly serve: () => void;
}

export class RequestTurns {
  readonly #accounts: Accounts;
  readonly #nowMs: () => number;
  /** The shares of requests in flight are its bounds. */
  readonly #waiting = new FairQueue<Waiter>({ itemsMax: Infinity, itemsPerKeyMax: Infinity });
  /** How many more pass before the next turn begins, which is due from the half on: so a turn costs nothing while few come. */
  #left = 2 * limits.requestsAtOnceMax;

  constructor(accounts: Accounts, nowMs: () => number = () => performance.now()) {
    this.#accounts = accounts;
    this.#nowMs = nowMs;
  }

  /** Requests that wait. */
  get count(): number {
    return this.#waiting.count;
  }

  /** Whether a request may be served at once; it has to wait otherwise. */
  tryPass(): boolean {
    if (this.#left === 0) return false;
    this.#left -= 1;
    if (this.#left === limits.requestsAtOnceMax) this.#plan();
    return true;
  }

  /**
   * For what did not pass.
   * A DELETE makes room, and who sends one often waits for no answer: it is neither refused nor dropped.
   * @param serve called once, later, unless the caller goes away before.
   * @returns `now` when it need not wait, or why it cannot.
   */
  wait(subject: string, exchange: Exchange, serve: () => void): 'later' | 'now' | Refusal {
    const account = this.#accounts.of(subject);
    const isEnding = exchange.request.method === 'DELETE';
    const refusal = fullRequestShare(account);
    if (refusal !== undefined) return isEnding ? 'now' : refusal;
    account.requests.take(1);
    const waiter: Waiter = { account, exchange, serve };
    const place = this.#waiting.add(subject, waiter) as FairPlace<Waiter>;
    if (isEnding) return 'later';
    exchange.onAbort = () => {
      place.leave();
      this.#leave(waiter);
      exchange.releaseBody();
      // Nothing of it has begun, so nobody else will say that it is over.
      exchange.reset();
    };
    return 'later';
  }

  #leave({ account, exchange }: Waiter): void {
    exchange.onAbort = undefined;
    account.requests.give(1);
  }

  #plan(): void {
    setImmediate(() => {
      this.#turn();
      if (this.#waiting.count === 0) {
        this.#left = 2 * limits.requestsAtOnceMax;
      } else {
        this.#left = 0;
        this.#plan();
      }
    });
  }

  #turn(): void {
    if (this.#waiting.count === 0) return;
    const endMs = this.#nowMs() + limits.requestTurnMs;
    do {
      const waiter = this.#waiting.take();
      if (waiter === undefined) return;
      this.#leave(waiter);
      waiter.serve();
    } while (this.#nowMs() < endMs);
  }
}
