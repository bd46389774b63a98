// The keys of one issuer, or of all issuers whose keys are in files. Hot path only for tokens that were not seen before.
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

  /**
   * The keys to try for a token. A token with a `kid` was signed by the key with that id, or by a key without an id.
   * @param id the token's `kid`.
   */
  candidates(algorithm: string, id: string | undefined): readonly VerificationKey[] {
    const withAlgorithm = this.#keys.filter(({ algorithms }) => algorithms.includes(algorithm));
    if (id === undefined) return withAlgorithm;
    const withId = withAlgorithm.filter((key) => key.id === id);
    return withId.length > 0 ? withId : withAlgorithm.filter((key) => key.id === undefined);
  }

  /** Whether a key of the other set is missing from this one: tokens that it verified are no longer valid. */
  lacksSomeOf(other: KeySet): boolean {
    const digests = new Set(this.#keys.map(({ digest }) => digest));
    return other.#keys.some(({ digest }) => !digests.has(digest));
  }
}
