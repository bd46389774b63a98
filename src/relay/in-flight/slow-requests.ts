// Tells requests in flight that they have been under way for long, so that whoever waits for them, a proxy on the way too,
// hears something before giving up. It counts turns of its own: for a request no clock is looked at and no timer made. Hot:
// a few stores a request.
import type { Deadline, DeadlineWheel } from '../../shared/deadline-wheel.js';
import { ListNode } from '../../shared/list-node.js';
import { RequestsInFlight } from './requests-in-flight.js';

/** A request is told when it has seen so many whole turns: after the time that was set, or a quarter of it later. */
const TURNS = 4;

export class SlowRequests {
  /** The head of those that have something in flight, a member for each session. */
  readonly #busy = new ListNode();
  readonly #turnOver: Deadline;
  #isTurning = false;
  #turn = 0;

  /** @param slowMs after which an answer is slow. */
  constructor(deadlines: DeadlineWheel, slowMs: number) {
    this.#turnOver = deadlines.after(slowMs / TURNS, () => this.#onTurn());
    this.#turnOver.cancel();
  }

  /** The number of the turn that is under way. */
  get turn(): number {
    return this.#turn;
  }

  /** A session has something in flight, until it unlinks itself. */
  add(requests: RequestsInFlight): void {
    this.#busy.append(requests);
    if (this.#isTurning) return;
    this.#isTurning = true;
    this.#turnOver.restart();
  }

  #onTurn(): void {
    this.#turn += 1;
    const turn = this.#turn - TURNS - 1;
    // Whoever is told may unlink itself and others, and have new ones added: those are told next time.
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
