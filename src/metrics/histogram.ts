// A histogram of durations with fixed buckets. Hot path: a few comparisons and two additions per value.

export class Histogram {
  readonly #bounds: Float64Array;
  /** One more than there are bounds: the last one counts values above all of them. */
  readonly #counts: Float64Array;
  #sum = 0;

  /** @param bounds upper bounds, ascending and inclusive. */
  constructor(bounds: readonly number[]) {
    this.#bounds = Float64Array.from(bounds);
    this.#counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > bounds[bucket]!) bucket += 1;
    this.#counts[bucket]! += 1;
    this.#sum += value;
  }

  get sum(): number {
    return this.#sum;
  }

  get counts(): number[] {
    return Array.from(this.#counts);
  }

  get isEmpty(): boolean {
    return this.#counts.every((count) => count === 0);
  }
}
