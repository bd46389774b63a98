// A seeded generator (mulberry32), so that a fuzz test fails on the same input each time.

export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1). */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  }

  /** A whole number in [0, bound). */
  below(bound: number): number {
    return Math.floor(this.fraction() * bound);
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }

  /** The bytes cut into pieces of 1 to `pieceBytesMax` bytes. */
  pieces(bytes: Buffer, pieceBytesMax: number): Buffer[] {
    const pieces: Buffer[] = [];
    for (let at = 0; at < bytes.length;) {
      const size = 1 + this.below(pieceBytesMax);
      pieces.push(bytes.subarray(at, at + size));
      at += size;
    }
    return pieces;
  }
}
