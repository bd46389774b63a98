// Durations counted into fixed buckets. Hot: a few comparisons and two additions for each.

export class Histogram {
  readonly #bounds: Float64Array;
  /** One more than bounds: what lies above all. */
  readonly #counts: Float64Array;
  #sum = 0;

  /** @param bounds upper ones, ascending, inclusive. */
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
