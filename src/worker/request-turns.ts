// Thousands of requests may come in one turn of the event loop, and what is done for each at once takes up to a millisecond: a
// subject that sent them all would hold up everybody. The first of a turn are served as they come, and as many more as a few
// milliseconds are enough for, so that most requests never wait here; the others have as long in each turn, subjects one after
// the other. What waits counts as in flight as long as there is room; whether something is refused for want of it is decided
// when it is served, as notices, responses and the end of a session never are. Hot: a comparison and a subtraction a request.
//
//   of a turn:  8, and those of 5 ms, pass │ the others wait ── by subject, 5 ms a turn ──> served, until nobody waits
//
// While somebody waits everybody does, so that no request overtakes another of its subject.
import type { Exchange } from '../relay/exchange.js';
import type { Account, Accounts } from '../shared/accounts.js';
import { FairPlace, FairQueue } from '../shared/fair-queue.js';
import { fullRequestShare } from '../shared/full-share.js';
import { limits } from '../shared/limits.js';
import { refusals, type Refusal } from '../shared/refusals.js';

interface Waiter {
  /** In which it counts; `undefined` when there was no room. */
  readonly account: Account | undefined;
  readonly exchange: Exchange;
  readonly serve: () => void;
}

export class RequestTurns {
  readonly #accounts: Accounts;
  readonly #nowMs: () => number;
  readonly #waiting = new FairQueue<Waiter>({
    itemsMax: limits.requestsWaitingMax,
    itemsPerKeyMax: limits.requestsWaitingPerSubjectMax,
  });
  /** How many more pass before a look at the clock: so a turn of the event loop costs nothing while few come. */
  #left: number = limits.requestsUntimedMax;
  /** When those that pass have had their time; of no meaning unless a turn is due. */
  #endMs = 0;
  #isTurnDue = false;

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
    if (this.#left === 0 && !this.#hasTime()) return false;
    this.#left -= 1;
    return true;
  }

  /**
   * For what did not pass.
   * @param serve called once, later, unless the caller goes away before: a DELETE is served all the same, as who sends one
   *   often waits for no answer.
   * @returns why it cannot wait, or nothing.
   */
  wait(subject: string, exchange: Exchange, serve: () => void): Refusal | undefined {
    const account = this.#accounts.of(subject);
    const isCounted = fullRequestShare(account) === undefined;
    const waiter: Waiter = { account: isCounted ? account : undefined, exchange, serve };
    const place = this.#waiting.add(subject, waiter);
    if (!(place instanceof FairPlace)) return place === 'full' ? refusals.requestsFull : refusals.subjectRequestsFull;
    if (isCounted) account.requests.take(1);
    if (exchange.request.method === 'DELETE') return undefined;
    exchange.onAbort = () => {
      place.leave();
      this.#leave(waiter);
      exchange.releaseBody();
      // Nothing of it has begun, so nobody else will say that it is over.
      exchange.reset();
    };
    return undefined;
  }

  #leave({ account, exchange }: Waiter): void {
    exchange.onAbort = undefined;
    account?.requests.give(1);
  }

  /** Whether some more may pass before the next look. Not while somebody waits: a turn is due all that time, and its end is past. */
  #hasTime(): boolean {
    const nowMs = this.#nowMs();
    if (!this.#isTurnDue) {
      this.#endMs = nowMs + limits.requestTurnMs;
      this.#plan();
    } else if (nowMs >= this.#endMs) {
      return false;
    }
    this.#left = limits.requestsUntimedMax;
    return true;
  }

  #plan(): void {
    this.#isTurnDue = true;
    setImmediate(() => {
      this.#turn();
      this.#isTurnDue = false;
      if (this.#waiting.count > 0) this.#plan();
      else this.#left = limits.requestsUntimedMax;
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
