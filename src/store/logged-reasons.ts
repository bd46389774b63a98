// Decides which reasons for an unreachable Redis are logged, each once: connecting is retried forever, and reasons may alternate. Cold
// path.
import { limits } from '../shared/limits.js';

export class LoggedReasons {
  readonly #reasons = new Set<string>();

  /** Whether to log it. */
  isNew(reason: string): boolean {
    if (this.#reasons.has(reason) || this.#reasons.size >= limits.redisReasonsToldMax) return false;
    this.#reasons.add(reason);
    return true;
  }

  /** Called when Redis was reached again. */
  forget(): void {
    this.#reasons.clear();
  }
}
