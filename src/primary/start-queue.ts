// Limits how many slots start a worker at once, in the order in which they asked: if all started together, many workers would share
// few processors until none listened in time. Also decides when to give up: when the tries are used up and no worker has ever
// listened. Once one has, a failing start is no reason to end the workers that serve. Cold path.

interface StartQueueBounds {
  readonly turnsMax: number;
  /** The number of failed starts, before any worker has listened, after which no other start begins. */
  readonly failuresMax: number;
}

/** How a start ended; `stopped` when the slot was told to end before its worker listened. */
export type StartEnding =
  { readonly kind: 'listening' | 'stopped' } | { readonly kind: 'failed'; readonly reason: string };

export class StartQueue {
  readonly #bounds: StartQueueBounds;
  readonly #onGivenUp: (reason: string) => void;
  readonly #queue: (() => boolean)[] = [];
  #turnsTaken = 0;
  #failureCount = 0;
  #hasListened = false;
  #isGivenUp = false;

  /** @param onGivenUp is called at most once, when the last start under way has failed like those before it. */
  constructor(bounds: StartQueueBounds, onGivenUp: (reason: string) => void) {
    this.#bounds = bounds;
    this.#onGivenUp = onGivenUp;
  }

  /**
   * @param begin is called when a turn is free, perhaps at once. It returns whether a start has begun; each start that has must be
   * followed by one call of `end`.
   */
  ask(begin: () => boolean): void {
    this.#queue.push(begin);
    this.#grant();
  }

  end(ending: StartEnding): void {
    this.#turnsTaken--;
    if (ending.kind === 'listening') this.#hasListened = true;
    else if (ending.kind === 'failed' && !this.#hasListened) this.#failureCount++;
    this.#grant();
    if (ending.kind !== 'failed' || !this.#isExhausted || this.#turnsTaken > 0 || this.#isGivenUp) return;
    this.#isGivenUp = true;
    this.#onGivenUp(ending.reason);
  }

  /** While true no start begins, but one under way may still succeed. */
  get #isExhausted(): boolean {
    return !this.#hasListened && this.#failureCount >= this.#bounds.failuresMax;
  }

  #grant(): void {
    while (this.#turnsTaken < this.#bounds.turnsMax && !this.#isExhausted) {
      const begin = this.#queue.shift();
      if (begin === undefined) return;
      this.#turnsTaken++;
      if (!begin()) this.#turnsTaken--;
    }
  }
}
