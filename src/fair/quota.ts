// Counts things in progress, by key and in total. Both counts are bounded, and the last part of the total is reserved for keys with few
// (share.ts). Keys with nothing in progress take no memory. Cold path.
import assert from 'node:assert';
import { limits, perSubject } from '../shared/index.js';
import { isWithinBounds, withReserve, type ShareBounds } from './share.js';

export class Quota {
  readonly #bounds: ShareBounds;
  readonly #takenByKey = new Map<string, number>();
  #total = 0;

  /** @param perKeyMax what one key may have; by default a quarter of all. */
  constructor(totalMax: number = limits.waitingMax, perKeyMax: number = perSubject(totalMax)) {
    this.#bounds = withReserve({ totalMax, subjectMax: perKeyMax });
  }

  /** Whether there is room outside of the reserved part: for any key that has not used up its own bound. */
  get hasRoom(): boolean {
    const { totalMax, reserved = 0 } = this.#bounds;
    return this.#total < totalMax - reserved;
  }

  isUsedUpBy(key: string): boolean {
    return (this.#takenByKey.get(key) ?? 0) >= this.#bounds.subjectMax;
  }

  /** Takes one, if there is room. @param totalMax the bound in total for this call, if it is lower. */
  tryTake(key: string, totalMax = this.#bounds.totalMax): boolean {
    if (this.#total >= totalMax || this.isUsedUpBy(key)) return false;
    const own = (this.#takenByKey.get(key) ?? 0) + 1;
    if (!isWithinBounds(this.#bounds, this.#total + 1, own, this.#takenByKey.size)) return false;
    this.#total += 1;
    this.#takenByKey.set(key, own);
    return true;
  }

  give(key: string): void {
    const taken = this.#takenByKey.get(key);
    assert(taken !== undefined, 'only what was taken is given back');
    this.#total -= 1;
    if (taken > 1) this.#takenByKey.set(key, taken - 1);
    else this.#takenByKey.delete(key);
  }

  clear(): void {
    this.#takenByKey.clear();
    this.#total = 0;
  }
}
