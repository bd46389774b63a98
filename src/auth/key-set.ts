// The keys of one issuer, or of all issuers whose keys are in files. Hot only for tokens that were not seen before.
import type { VerificationKey } from '../config/verification-keys.js';

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
   * Whoever signs with a named key says so: then it is that one, or one that has no name. Each may have to be tried.
   * @param id the token's `kid`.
   */
  candidates(algorithm: string, id: string | undefined): readonly VerificationKey[] {
    const fitting = this.#keys.filter(({ algorithms }) => algorithms.includes(algorithm));
    if (id === undefined) return fitting;
    const named = fitting.filter((key) => key.id === id);
    return named.length > 0 ? named : fitting.filter((key) => key.id === undefined);
  }

  /** Whether a key of the other set is not in this one: what it has verified is good no more. */
  lacksSomeOf(other: KeySet): boolean {
    const digests = new Set(this.#keys.map(({ digest }) => digest));
    return other.#keys.some(({ digest }) => !digests.has(digest));
  }
}
