// Ends everything that an experiment started, in reverse order, when the experiment is over. Takes the place of the test
// that the parts of test/support expect.

export class Scope {
  readonly #endings: (() => unknown)[] = [];

  readonly teardown = (ending: () => unknown): void => {
    this.#endings.push(ending);
  };

  /** Ends everything, even when some parts cannot be ended; returns the errors. */
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
