// Requests that wait for something to finish, for a short time at most. Cold path.
import type { Deadline, DeadlineWheel } from '../../shared/deadline-wheel.js';

export class Hold {
  readonly #deadline: Deadline;
  readonly #onOver: () => void;
  #waiting: (() => void)[] | undefined = [];

  /** @param onOver called once, before the waiting requests go on. */
  constructor(deadlines: DeadlineWheel, patienceMs: number, onOver: () => void) {
    this.#deadline = deadlines.after(patienceMs, () => this.end());
    this.#onOver = onOver;
  }

  /** @param goOn called once, when the hold is over; at once if it already is. */
  wait(goOn: () => void): void {
    if (this.#waiting === undefined) goOn();
    else this.#waiting.push(goOn);
  }

  end(): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    this.#waiting = undefined;
    this.#deadline.cancel();
    this.#onOver();
    for (const goOn of waiting) goOn();
  }
}
