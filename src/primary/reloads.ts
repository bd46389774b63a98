// Schedules reloads. Requests made while a reload runs cause exactly one more after it, because the files that it has read may have
// changed since it began. Cold path.

export class Reloads {
  readonly #reload: () => Promise<void>;
  #isRunning = false;
  #isAsked = false;
  #isOver = false;

  /** @param reload never rejects. */
  constructor(reload: () => Promise<void>) {
    this.#reload = reload;
  }

  ask(): void {
    this.#isAsked = true;
    if (!this.#isRunning) void this.#run();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** No further reload begins: the program is ending. */
  end(): void {
    this.#isOver = true;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#isAsked && !this.#isOver) {
      this.#isAsked = false;
      await this.#reload();
    }
    this.#isRunning = false;
  }
}
