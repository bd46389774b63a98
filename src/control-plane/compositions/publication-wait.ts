// How long a change waits for its publication to the dataplane, and how much is left when the wait is over: a server
// may be in the user configs of 100,000 subjects.

/** How far the publication of one change has come, updated by the publisher. */
export interface PublicationProgress {
  /** User configs still to be updated; `undefined` before the subjects are known. */
  left: number | undefined;
}

export class PublicationWait {
  readonly #msMax: number;
  #left = 0;

  constructor(msMax: number) {
    this.#msMax = msMax;
  }

  /** User configs that did not have the change when the wait was over; 0: the dataplane has it everywhere. */
  get left(): number {
    return this.#left;
  }

  /** Resolves when the publication is done or the time is over; rejects if the publication fails before that. */
  async for(done: Promise<void>, progress: PublicationProgress): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        this.#left = progress.left ?? 1;
        resolve();
      }, this.#msMax);
    });
    await Promise.race([done, over]).finally(() => clearTimeout(timer));
  }
}
