// Decides which reasons for an unreachable Redis are logged, each once: connecting is retried forever, and reasons may alternate. Cold
// path.

/** Different reasons logged for one outage of Redis. Beyond it, further reasons are not logged. */
const REDIS_REASONS_TOLD_MAX = 16;

export class LoggedReasons {
  readonly #reasons = new Set<string>();

  /** Whether to log it. */
  isNew(reason: string): boolean {
    if (this.#reasons.has(reason) || this.#reasons.size >= REDIS_REASONS_TOLD_MAX) return false;
    this.#reasons.add(reason);
    return true;
  }

  /** Called when Redis was reached again. */
  forget(): void {
    this.#reasons.clear();
  }
}
