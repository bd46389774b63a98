// How many lines of the log a kind of event may take in a while, and each of those it happens to: everybody as many as a
// part of what is left, so that who floods the log leaves room for those who come later. Cold: for what has gone wrong.
import { limits } from './limits.js';

export class LineShares {
  readonly #nowMs: () => number;
  #sinceMs = -Infinity;
  #left = 0;
  /** By whom it concerns; no more entries than lines. */
  readonly #taken = new Map<string, number>();
  #refused = 0;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** @returns whether there is a line for it. */
  tryTake(who: string): boolean {
    const nowMs = this.#nowMs();
    if (nowMs - this.#sinceMs >= limits.failureLogIntervalMs) {
      this.#sinceMs = nowMs;
      this.#left = limits.problemLinesMax;
      this.#taken.clear();
    }
    const taken = this.#taken.get(who) ?? 0;
    if (this.#left === 0 || (taken > 0 && taken >= this.#left / limits.problemLinesShareDivisor)) {
      this.#refused += 1;
      return false;
    }
    this.#left -= 1;
    this.#taken.set(who, taken + 1);
    return true;
  }

  /** How many found no line since this was last asked. */
  takeRefused(): number {
    const refused = this.#refused;
    this.#refused = 0;
    return refused;
  }
}
