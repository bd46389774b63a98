// Requests per minute, counted by subject or address. A minute begins with the first request after the previous minute
// has ended, so that no more than the maximum is let in during any minute that begins this way.

/** Subjects and addresses whose requests are counted at once. Beyond that, the oldest starts again from zero. */
const RATE_LIMIT_KEYS_MAX = 100_000;

const WINDOW_MS = 60_000;

interface Window {
  readonly endsAtMs: number;
  count: number;
}

export class RateLimiter {
  readonly #countMax: number;
  readonly #nowMs: () => number;
  readonly #keysMax: number;
  /** In the order of their beginning, which is the order of their end. */
  readonly #windows = new Map<string, Window>();

  /** @param countMax 0: unlimited. */
  constructor(countMax: number, nowMs: () => number = () => performance.now(), keysMax: number = RATE_LIMIT_KEYS_MAX) {
    this.#countMax = countMax;
    this.#nowMs = nowMs;
    this.#keysMax = keysMax;
  }

  /** @returns 0 when the request is let in, else the number of whole seconds until one will be. */
  admit(key: string): number {
    if (this.#countMax === 0) return 0;
    const nowMs = this.#nowMs();
    const window = this.#windows.get(key);
    if (window === undefined || window.endsAtMs <= nowMs) {
      this.#begin(key, nowMs);
      return 0;
    }
    if (window.count >= this.#countMax) return Math.max(1, Math.ceil((window.endsAtMs - nowMs) / 1_000));
    window.count += 1;
    return 0;
  }

  #begin(key: string, nowMs: number): void {
    this.#windows.delete(key);
    for (const [candidate, { endsAtMs }] of this.#windows) {
      if (endsAtMs > nowMs && this.#windows.size < this.#keysMax) break;
      this.#windows.delete(candidate);
    }
    this.#windows.set(key, { endsAtMs: nowMs + WINDOW_MS, count: 1 });
  }
}
