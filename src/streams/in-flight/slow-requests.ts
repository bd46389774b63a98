// Notifies requests that have been in flight for long, so that whoever waits for the answer, or a proxy in between, receives
// something before giving up. It counts turns of its own instead of reading a clock or making a timer for each request. Hot path:
// a few stores per request.
import { type Deadline, type DeadlineWheel, ListNode } from '../../fair/index.js';
import { RequestsInFlight } from './requests-in-flight.js';

/** A request is notified after this many whole turns: after the configured time, or at most a quarter of it later. */
const TURNS = 4;

export class SlowRequests {
  /** Head of the list of sessions that have requests in flight. */
  readonly #busy = new ListNode();
  readonly #turnOver: Deadline;
  #isTurning = false;
  #turn = 0;

  /** @param slowMs the time after which an answer is slow. */
  constructor(deadlines: DeadlineWheel, slowMs: number) {
    this.#turnOver = deadlines.after(slowMs / TURNS, () => this.#onTurn());
    this.#turnOver.cancel();
  }

  /** The number of the current turn. */
  get turn(): number {
    return this.#turn;
  }

  /** Adds a session that has requests in flight; it unlinks itself when it has none left. */
  add(requests: RequestsInFlight): void {
    this.#busy.append(requests);
    if (this.#isTurning) return;
    this.#isTurning = true;
    this.#turnOver.restart();
  }

  #onTurn(): void {
    this.#turn += 1;
    const turn = this.#turn - TURNS - 1;
    // A notified session may unlink itself and others, and new ones may be added: those are notified in the next turn.
    const untold = new ListNode();
    untold.takeAll(this.#busy);
    for (let requests = untold.next; requests instanceof RequestsInFlight; requests = untold.next) {
      requests.unlink();
      this.#busy.append(requests);
      requests.tellSlow(turn);
    }
    this.#isTurning = this.#busy.isLinked;
    if (this.#isTurning) this.#turnOver.restart();
  }
}
