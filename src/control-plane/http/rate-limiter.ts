// Requests per minute, counted by subject or address. A minute begins with the first request after the one before has
// ended, so that exactly so many are let in of any that begins so.
import { limits } from '../../shared/limits.js';

const WINDOW_MS = 60_000;

interface Window {
  readonly endsAtMs: number;
  count: number;
}

export class RateLimiter {
  readonly #countMax: number;
  readonly #nowMs: () => number;
  readonly #keysMax: number;
  /** In the order in which they began: the first ends first. */
  readonly #windows = new Map<string, Window>();

  /** @param countMax 0: any number. */
  constructor(
    countMax: number,
    nowMs: () => number = () => performance.now(),
    keysMax: number = limits.rateLimitKeysMax,
  ) {
    this.#countMax = countMax;
    this.#nowMs = nowMs;
    this.#keysMax = keysMax;
  }

  /** @returns 0 when the request is let in, else after how many whole seconds one will be. */
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
