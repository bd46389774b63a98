// A bound on bytes that several holders share.

export class ByteBudget {
  readonly #bytesMax: number;
  #bytesTaken = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** @returns false when that is too much. */
  tryTake(bytes: number): boolean {
    if (this.#bytesTaken + bytes > this.#bytesMax) return false;
    this.#bytesTaken += bytes;
    return true;
  }

  /** For what takes the place of something else. */
  take(bytes: number): void {
    this.#bytesTaken += bytes;
  }

  give(bytes: number): void {
    this.#bytesTaken -= bytes;
  }
}
