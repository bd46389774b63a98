// Serves the requests of one turn of the event loop fairly by subject (fair/turn-scheduler.ts), because each takes up to a millisecond. A
// waiting request counts as in flight if the limit has room. If not, it waits uncounted, and may be refused when it is served;
// notifications, responses and the end of a session never are. Hot path: a comparison and a subtraction per request.
import type { Exchange } from '../exchange/index.js';
import { type Account, type Accounts, FairQueueEntry, TurnScheduler } from '../fair/index.js';
import { limits, refusals, type Refusal } from '../shared/index.js';

/** Requests that a worker serves on arrival before it looks at the clock again. */
export const REQUESTS_UNTIMED_MAX = 8;

export class RequestScheduler extends TurnScheduler {
  readonly #accounts: Accounts;

  constructor(accounts: Accounts, nowMs?: () => number) {
    super({ untimedMax: REQUESTS_UNTIMED_MAX, turnMs: limits.turnMs }, nowMs);
    this.#accounts = accounts;
  }

  /**
   * Queues a request that `tryPass` did not let through. @returns the refusal, if too many wait.
   * @param serve called once, unless the caller goes away first; for a DELETE even then, because its sender often does not wait.
   */
  queue(subject: string, exchange: Exchange, serve: () => void): Refusal | undefined {
    const account = this.#accounts.of(subject);
    /** The account that counts the request; `undefined` when the limit of requests is reached. */
    const countedAccount = account.refusalOfRequest() === undefined ? account : undefined;
    const entry = this.wait(subject, () => {
      this.#stopWaiting(exchange, countedAccount);
      serve();
    });
    if (!(entry instanceof FairQueueEntry))
      return entry === 'totalMax' ? refusals.requestsFull : refusals.subjectRequestsFull;
    countedAccount?.requests.take(1);
    if (exchange.request.method === 'DELETE') return undefined;
    exchange.onAbort = () => {
      entry.leave();
      this.#stopWaiting(exchange, countedAccount);
      exchange.releaseBody();
      // The relay has not seen the request, so its end must be reported here.
      exchange.reset();
    };
    return undefined;
  }

  #stopWaiting(exchange: Exchange, counted: Account | undefined): void {
    exchange.onAbort = undefined;
    counted?.requests.give(1);
  }
}
