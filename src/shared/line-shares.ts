// How many log lines one kind of event may take per interval, in total and per subject. Each subject gets at most a fraction of the lines
// that are left, so that one that floods the log leaves lines for later ones. Cold path: only for failures.
import { limits } from './limits.js';

/** Log lines about requests that were not served, per `failureLogIntervalMs`. Beyond it, further requests are counted in the next line. */
export const PROBLEM_LINES_MAX = 200;
/**
 * One subject gets at most one in this many of the problem lines that are left. Beyond it, its further requests are counted in the next
 * line.
 */
const PROBLEM_LINES_SHARE_DIVISOR = 4;

export class LineShares {
  readonly #nowMs: () => number;
  #sinceMs = -Infinity;
  #left = 0;
  /** Lines taken in this interval, by subject; never more entries than lines. */
  readonly #taken = new Map<string, number>();
  #refused = 0;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** @returns whether the event may be logged. */
  tryTake(who: string): boolean {
    const nowMs = this.#nowMs();
    if (nowMs - this.#sinceMs >= limits.failureLogIntervalMs) {
      this.#sinceMs = nowMs;
      this.#left = PROBLEM_LINES_MAX;
      this.#taken.clear();
    }
    const taken = this.#taken.get(who) ?? 0;
    if (this.#left === 0 || (taken > 0 && taken >= this.#left / PROBLEM_LINES_SHARE_DIVISOR)) {
      this.#refused += 1;
      return false;
    }
    this.#left -= 1;
    this.#taken.set(who, taken + 1);
    return true;
  }

  /** How many events were not logged since the last call. */
  takeRefused(): number {
    const refused = this.#refused;
    this.#refused = 0;
    return refused;
  }
}
