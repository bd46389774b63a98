// The delay before the next attempt, which doubles with each failure and starts over after a success; and a time limit for a promise. Cold
// path.

/** The delay in ms before the next attempt, for callers that count attempts themselves. */
export function delayMsAfter(tries: number, delayMsMin: number, delayMsMax: number): number {
  return Math.min(delayMsMin * 2 ** tries, delayMsMax);
}

/** A delay between half of `delayMs` and all of it, so that clients that failed together do not retry together. */
export function withJitter(delayMs: number, random: number): number {
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

  /** The time to wait before the next attempt, in ms. Each call doubles it, up to the maximum. */
  nextDelayMs(): number {
    const delayMs = this.#delayMs;
    this.#delayMs = Math.min(delayMs * 2, this.#delayMsMax);
    return delayMs;
  }

  /** Like `next`, with jitter. @param random from 0 to 1. */
  nextDelayMsWithJitter(random: number): number {
    return withJitter(this.nextDelayMs(), random);
  }

  reset(): void {
    this.#delayMs = this.#delayMsMin;
  }
}

/** Settles as the promise does; if that takes longer than `ms`, resolves with what `onLate` returns. */
export async function settledWithin<Value, Late>(
  promise: Promise<Value>,
  ms: number,
  onLate: () => Late,
): Promise<Value | Late> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Late>((resolve) => (timer = setTimeout(() => resolve(onLate()), ms)));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
