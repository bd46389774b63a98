// What is in progress by key, and in total: both are bounded. A key with nothing in progress costs nothing. Cold path.
import assert from 'node:assert';
import { limits, perSubject } from '../shared/index.js';

export class Quota {
  readonly #totalMax: number;
  readonly #perKeyMax: number;
  readonly #taken = new Map<string, number>();
  #total = 0;

  /** @param perKeyMax a quarter of all by default. */
  constructor(totalMax: number = limits.waitingMax, perKeyMax: number = perSubject(totalMax)) {
    this.#totalMax = totalMax;
    this.#perKeyMax = perKeyMax;
  }

  get hasRoom(): boolean {
    return this.#total < this.#totalMax;
  }

  /** Whether the key has all that one may have. */
  isUsedUpBy(key: string): boolean {
    return (this.#taken.get(key) ?? 0) >= this.#perKeyMax;
  }

  /** @param totalMax where it changes from call to call. @returns false when there is no room for one more of this key. */
  tryTake(key: string, totalMax = this.#totalMax): boolean {
    if (this.#total >= totalMax || this.isUsedUpBy(key)) return false;
    this.#total += 1;
    this.#taken.set(key, (this.#taken.get(key) ?? 0) + 1);
    return true;
  }

  /** Something that was taken has ended. */
  give(key: string): void {
    const taken = this.#taken.get(key);
    assert(taken !== undefined, 'only what was taken is given back');
    this.#total -= 1;
    if (taken > 1) this.#taken.set(key, taken - 1);
    else this.#taken.delete(key);
  }

  /** Nothing is in progress any more. */
  clear(): void {
    this.#taken.clear();
    this.#total = 0;
  }
}
