// The keys of one issuer, or the keys in files. Hot path only for tokens that were not seen before.
import type { VerificationKey } from '../config/index.js';

export class KeySet {
  static readonly none = new KeySet([]);
  readonly #keys: readonly VerificationKey[];

  constructor(keys: readonly VerificationKey[]) {
    this.#keys = keys;
  }

  get isEmpty(): boolean {
    return this.#keys.length === 0;
  }

  get size(): number {
    return this.#keys.length;
  }

  hasAlgorithm(algorithm: string): boolean {
    return this.#keys.some(({ algorithms }) => algorithms.includes(algorithm));
  }

  /** The keys of its algorithm to try for a token: those with its `kid`, or else those without an id; all if it has no `kid`. */
  candidatesFor(algorithm: string, id: string | undefined): readonly VerificationKey[] {
    const withAlgorithm = this.#keys.filter(({ algorithms }) => algorithms.includes(algorithm));
    if (id === undefined) return withAlgorithm;
    const withId = withAlgorithm.filter((key) => key.id === id);
    return withId.length > 0 ? withId : withAlgorithm.filter((key) => key.id === undefined);
  }

  lacksSomeOf(other: KeySet): boolean {
    const digests = new Set(this.#keys.map(({ digest }) => digest));
    return other.#keys.some(({ digest }) => !digests.has(digest));
  }
}
