// Requests that come in one turn of the event loop have turns by subject (shared/fair-turns.ts), as what is done for each at once takes up to
// a millisecond. What waits counts as in flight as long as there is room; whether something is refused for want of it is decided
// when it is served, as notices, responses and the end of a session never are. Hot: a comparison and a subtraction a request.
import type { Exchange } from '../relay/exchange/exchange.js';
import type { Account, Accounts } from '../shared/accounts.js';
import { FairPlace } from '../shared/fair-queue.js';
import { FairTurns } from '../shared/fair-turns.js';
import { fullRequestShare } from '../shared/full-share.js';
import { limits } from '../shared/limits.js';
import { refusals, type Refusal } from '../shared/refusals.js';

export class RequestTurns {
  readonly #accounts: Accounts;
  readonly #turns: FairTurns;

  constructor(accounts: Accounts, nowMs?: () => number) {
    this.#accounts = accounts;
    const { requestsUntimedMax: untimedMax, requestTurnMs: turnMs } = limits;
    const waiting = { itemsMax: limits.requestsWaitingMax, itemsPerKeyMax: limits.requestsWaitingPerSubjectMax };
    this.#turns = new FairTurns({ untimedMax, turnMs, waiting }, nowMs);
  }

  /** Requests that wait. */
  get count(): number {
    return this.#turns.count;
  }

  /** Whether a request may be served at once; it has to wait otherwise. */
  tryPass(): boolean {
    return this.#turns.tryPass();
  }

  /**
   * For what did not pass.
   * @param serve called once, later, unless the caller goes away before: a DELETE is served all the same, as who sends one
   *   often waits for no answer.
   * @returns why it cannot wait, or nothing.
   */
  wait(subject: string, exchange: Exchange, serve: () => void): Refusal | undefined {
    const account = this.#accounts.of(subject);
    /** In which it counts; `undefined` when there was no room. */
    const counted = fullRequestShare(account) === undefined ? account : undefined;
    const place = this.#turns.wait(subject, () => {
      this.#leave(exchange, counted);
      serve();
    });
    if (!(place instanceof FairPlace)) return place === 'full' ? refusals.requestsFull : refusals.subjectRequestsFull;
    counted?.requests.take(1);
    if (exchange.request.method === 'DELETE') return undefined;
    exchange.onAbort = () => {
      place.leave();
      this.#leave(exchange, counted);
      exchange.releaseBody();
      // Nothing of it has begun, so nobody else will say that it is over.
      exchange.reset();
    };
    return undefined;
  }

  #leave(exchange: Exchange, counted: Account | undefined): void {
    exchange.onAbort = undefined;
    counted?.requests.give(1);
  }
}
