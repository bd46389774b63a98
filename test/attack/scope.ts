// What an experiment started, ended in the opposite order when the experiment is over. Stands where the parts of
// test/support expect a test.

export class Scope {
  readonly #endings: (() => unknown)[] = [];

  readonly teardown = (ending: () => unknown): void => {
    this.#endings.push(ending);
  };

  /** Ends all of it, also when some cannot be ended; answers why not. */
  async end(): Promise<unknown[]> {
    const faults: unknown[] = [];
    for (const ending of this.#endings.splice(0).reverse()) {
      try {
        await ending();
      } catch (error) {
        faults.push(error);
      }
    }
    return faults;
  }
}
