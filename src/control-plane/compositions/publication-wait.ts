// How long whoever changed something waits until the dataplane obeys it for everybody, and how much of that is still to
// come when the wait is over: a server may be in the user configs of 100,000 subjects.

/** How far the publication of one change has come. The publisher keeps it. */
export interface PublicationProgress {
  /** User configs that are still to be brought up to date; `undefined` before it is known whose these are. */
  left: number | undefined;
}

export class PublicationWait {
  readonly #msMax: number;
  #left = 0;

  constructor(msMax: number) {
    this.#msMax = msMax;
  }

  /** User configs in which the change was not yet when the wait was over; 0: the dataplane obeys it everywhere. */
  get left(): number {
    return this.#left;
  }

  /** Resolved when the publication is done, or the time is over; rejected with the publication, if that is sooner. */
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
