// When to reload: whoever asks while a reload runs has one more after it, however often they ask, because what they want to
// have read may have changed since that one began. Cold.

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

  /** No further one begins: the program ends. */
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
