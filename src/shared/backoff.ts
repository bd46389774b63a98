// The delay before the next try of what has failed: it doubles with each failure, and begins anew after a success. Cold.

/** For whoever counts the tries: the delay behind so many others, ms. */
export function delayAfter(tries: number, delayMsMin: number, delayMsMax: number): number {
  return Math.min(delayMsMin * 2 ** tries, delayMsMax);
}

/** Anything between half of the delay and all of it, so that those who failed together do not come back together. */
export function spread(delayMs: number, random: number): number {
  return delayMs * (1 - random / 2);
}

export class Backoff {
  readonly #delayMsMin: number;
  readonly #delayMsMax: number;
  #delayMs: number;

  constructor(delayMsMin: number, delayMsMax: number) {
    this.#delayMsMin = delayMsMin;
    this.#delayMsMax = delayMsMax;
    this.#delayMs = delayMsMin;
  }

  /** @returns how long to wait before the next try, ms. The one after that waits twice as long, up to the maximum. */
  next(): number {
    const delayMs = this.#delayMs;
    this.#delayMs = Math.min(delayMs * 2, this.#delayMsMax);
    return delayMs;
  }

  /** The same, spread. @param random from 0 to 1. */
  nextSpread(random: number): number {
    return spread(this.next(), random);
  }

  /** It has succeeded. */
  reset(): void {
    this.#delayMs = this.#delayMsMin;
  }
}
