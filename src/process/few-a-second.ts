// A rate limiter: lets a few through each second, per key and in total. It stores only the keys let through in the current second,
// whose number is bounded. Cold path: used only while a process is overloaded.

export class FewASecond {
  readonly #perKeyMax: number;
  readonly #nowMs: () => number;
  readonly #counts = new Map<string, number>();
  #count = 0;
  #second = 0;

  /** @param perKeyMax how many per key and second. */
  constructor(perKeyMax: number, nowMs: () => number) {
    this.#perKeyMax = perKeyMax;
    this.#nowMs = nowMs;
  }

  /** @param totalMax how many of all keys in this second; may change between calls. */
  tryTake(key: string, totalMax: number): boolean {
    const second = Math.floor(this.#nowMs() / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#count = 0;
      this.#counts.clear();
    }
    const count = this.#counts.get(key) ?? 0;
    if (this.#count >= totalMax || count >= this.#perKeyMax) return false;
    this.#count += 1;
    this.#counts.set(key, count + 1);
    return true;
  }
}
