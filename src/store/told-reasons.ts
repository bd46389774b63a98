// Why a Redis cannot be reached, each reason once: it is tried for ever, and reasons may take turns. Cold.
import { limits } from '../shared/limits.js';

export class ToldReasons {
  readonly #reasons = new Set<string>();

  /** Whether to tell it. */
  isNew(reason: string): boolean {
    if (this.#reasons.has(reason) || this.#reasons.size >= limits.redisReasonsToldMax) return false;
    this.#reasons.add(reason);
    return true;
  }

  /** It could be reached. */
  forget(): void {
    this.#reasons.clear();
  }
}
