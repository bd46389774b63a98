// Work that many want done in one turn of the event loop, each up to a millisecond of it: without turns, whoever brings most of it
// would block everybody else. The first of a turn are served as they come, and as many more as a few milliseconds are enough for, so that most never
// wait here; the others have as long in each turn, keys (subjects, say) one after the other. Hot: a comparison and a subtraction.
//
//   of a turn:  the untimed, and those of its time, pass │ the others wait ── by key, the same time a turn ──> served, until nobody waits
//
// While somebody waits everybody does, so that nobody overtakes another of its key.
import { FairPlace, FairQueue, type FairQueueBounds, type QueueFullness } from './fair-queue.js';
import { limits } from './limits.js';

export interface FairTurnsRules {
  /** So many pass before a look at the clock. */
  readonly untimedMax: number;
  /** What those that pass take of a turn, and as much those that wait. */
  readonly turnMs: number;
  readonly waiting: FairQueueBounds;
}

/** Something that is done once. Must not throw. */
export type Task = () => void;

export class FairTurns {
  readonly #rules: FairTurnsRules;
  readonly #nowMs: () => number;
  readonly #waiting: FairQueue<Task>;
  /** How many more pass before a look at the clock: so a turn of the event loop costs nothing while few come. */
  #left: number;
  /** When those that pass have had their time; of no meaning unless a turn is due. */
  #endMs = 0;
  #isTurnDue = false;

  constructor(rules: FairTurnsRules, nowMs: () => number = () => performance.now()) {
    this.#rules = rules;
    this.#nowMs = nowMs;
    this.#waiting = new FairQueue(rules.waiting);
    this.#left = rules.untimedMax;
  }

  /** Those that wait. */
  get count(): number {
    return this.#waiting.count;
  }

  /** Whether one may be served at once; it has to wait otherwise. */
  tryPass(): boolean {
    if (this.#left === 0 && !this.#hasTime()) return false;
    this.#left -= 1;
    return true;
  }

  /** For what did not pass. @param task is done once, later, unless its place is left before. */
  wait(key: string, task: Task): FairPlace<Task> | QueueFullness {
    return this.#waiting.add(key, task);
  }

  /** Does it from within, or later; from within also where too many wait. */
  run(key: string, task: Task): void {
    if (this.tryPass() || !(this.wait(key, task) instanceof FairPlace)) task();
  }

  /** Whether some more may pass before the next look. Not while somebody waits: a turn is due all that time, and its end is past. */
  #hasTime(): boolean {
    const nowMs = this.#nowMs();
    if (!this.#isTurnDue) {
      this.#endMs = nowMs + this.#rules.turnMs;
      this.#plan();
    } else if (nowMs >= this.#endMs) {
      return false;
    }
    this.#left = this.#rules.untimedMax;
    return true;
  }

  #plan(): void {
    this.#isTurnDue = true;
    setImmediate(() => {
      this.#turn();
      this.#isTurnDue = false;
      if (this.#waiting.count > 0) this.#plan();
      else this.#left = this.#rules.untimedMax;
    });
  }

  #turn(): void {
    if (this.#waiting.count === 0) return;
    const endMs = this.#nowMs() + this.#rules.turnMs;
    do {
      const task = this.#waiting.take();
      if (task === undefined) return;
      task();
    } while (this.#nowMs() < endMs);
  }
}

/**
 * Of this process: for those who have waited for the same thing, as an upstream session, a config, a key or an event stream, and hear all
 * at once what became of it. Each of them is a request in flight, or has a connection of its own, and these are bounded.
 */
export const wokenTurns = new FairTurns({
  untimedMax: limits.wokenUntimedMax,
  turnMs: limits.wokenTurnMs,
  waiting: { itemsMax: limits.requestsInFlightMax, itemsPerKeyMax: limits.requestsInFlightMax },
});
