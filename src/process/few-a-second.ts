// Lets a few of many things through each second, of each key and of all together: nothing is kept but the keys that were let
// through in this second, and their number has a bound. Cold: asked only while a process is overloaded.

export class FewASecond {
  readonly #perKeyMax: number;
  readonly #nowMs: () => number;
  readonly #counts = new Map<string, number>();
  #count = 0;
  #second = 0;

  /** @param perKeyMax of one key a second. */
  constructor(perKeyMax: number, nowMs: () => number) {
    this.#perKeyMax = perKeyMax;
    this.#nowMs = nowMs;
  }

  /** @param totalMax of all keys in this second; it may change. */
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
