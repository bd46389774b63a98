// Runs an action by key, one run per key at a time. All callers that come during a run get the next one, because the current run may have
// read outdated state.

export class CoalescedRuns {
  readonly #action: (key: string) => Promise<void>;
  readonly #currentRuns = new Map<string, Promise<void>>();
  readonly #nextRuns = new Map<string, Promise<void>>();

  constructor(action: (key: string) => Promise<void>) {
    this.#action = action;
  }

  /** Resolves or rejects with a run that began after this call. */
  run(key: string): Promise<void> {
    const next = this.#nextRuns.get(key);
    if (next !== undefined) return next;
    const running = this.#currentRuns.get(key);
    return running === undefined ? this.#start(key) : this.#runAfter(key, running);
  }

  /** Resolves when nothing is running. */
  async settled(): Promise<void> {
    while (this.#currentRuns.size + this.#nextRuns.size > 0) {
      await Promise.allSettled([...this.#currentRuns.values(), ...this.#nextRuns.values()]);
    }
  }

  #runAfter(key: string, running: Promise<void>): Promise<void> {
    const start = (): Promise<void> => {
      this.#nextRuns.delete(key);
      return this.#start(key);
    };
    const next = running.then(start, start);
    this.#nextRuns.set(key, next);
    return next;
  }

  #start(key: string): Promise<void> {
    const run = this.#action(key).finally(() => {
      if (this.#currentRuns.get(key) === run) this.#currentRuns.delete(key);
    });
    this.#currentRuns.set(key, run);
    return run;
  }
}
