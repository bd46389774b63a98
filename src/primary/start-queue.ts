// Limits how many slots start a worker at once: together, many workers would share few processors until none listened in time. Gives up
// when the tries are used up and no worker has ever listened. Cold path.

interface StartQueueBounds {
  readonly startsAtOnceMax: number;
  /** Failed starts, before any worker has listened, after which no other begins. */
  readonly failuresMax: number;
}

/** How a start ended. `stopped`: the slot was told to end before its worker listened. */
export type StartEnding =
  { readonly kind: 'listening' | 'stopped' } | { readonly kind: 'failed'; readonly reason: string };

export class StartQueue {
  readonly #bounds: StartQueueBounds;
  readonly #onGivenUp: (reason: string) => void;
  readonly #queue: (() => boolean)[] = [];
  #startsUnderWay = 0;
  #failureCount = 0;
  #hasListened = false;
  #isGivenUp = false;

  /** @param onGivenUp called at most once, when the last start has failed like those before it. */
  constructor(bounds: StartQueueBounds, onGivenUp: (reason: string) => void) {
    this.#bounds = bounds;
    this.#onGivenUp = onGivenUp;
  }

  /** Asks for a start. @param begin called when it may begin, perhaps at once. If it returns true, one call of `end` must follow. */
  ask(begin: () => boolean): void {
    this.#queue.push(begin);
    this.#grant();
  }

  end(ending: StartEnding): void {
    this.#startsUnderWay--;
    if (ending.kind === 'listening') this.#hasListened = true;
    else if (ending.kind === 'failed' && !this.#hasListened) this.#failureCount++;
    this.#grant();
    if (ending.kind !== 'failed' || !this.#isExhausted || this.#startsUnderWay > 0 || this.#isGivenUp) return;
    this.#isGivenUp = true;
    this.#onGivenUp(ending.reason);
  }

  /** Whether the tries are used up: then no start begins; one under way may still succeed. */
  get #isExhausted(): boolean {
    return !this.#hasListened && this.#failureCount >= this.#bounds.failuresMax;
  }

  #grant(): void {
    while (this.#startsUnderWay < this.#bounds.startsAtOnceMax && !this.#isExhausted) {
      const begin = this.#queue.shift();
      if (begin === undefined) return;
      this.#startsUnderWay++;
      if (!begin()) this.#startsUnderWay--;
    }
  }
}
