// Bounded counters: how much is in progress for each key, and in total. A key with nothing in progress costs nothing. Cold path.
import assert from 'node:assert';

export interface CountBounds {
  readonly totalMax: number;
  readonly perKeyMax: number;
}

export class BoundedCounts {
  readonly #bounds: CountBounds;
  readonly #counts = new Map<string, number>();
  #total = 0;

  constructor(bounds: CountBounds) {
    this.#bounds = bounds;
  }

  /** @returns false when there is no room for one more of this key. */
  tryAdd(key: string): boolean {
    const count = this.#counts.get(key) ?? 0;
    if (this.#total >= this.#bounds.totalMax || count >= this.#bounds.perKeyMax) return false;
    this.#total += 1;
    this.#counts.set(key, count + 1);
    return true;
  }

  /** Something that was added has ended. */
  remove(key: string): void {
    const count = this.#counts.get(key);
    assert(count !== undefined, 'only what was added is removed');
    this.#total -= 1;
    if (count > 1) this.#counts.set(key, count - 1);
    else this.#counts.delete(key);
  }
}
