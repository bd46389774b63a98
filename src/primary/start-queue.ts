// Limits how many slots start a worker at once: on few processors, many workers that start together would all be too late. Gives up when
// too many starts have failed and no worker has ever listened. Cold path.

interface StartQueueBounds {
  readonly startsAtOnceMax: number;
  /** After this many failed starts, before any worker has listened, no other start begins. */
  readonly failuresMax: number;
}

/** How a start ended. `stopped`: the slot was told to end before its worker listened. */
export type StartEnding =
  { readonly kind: 'listening' | 'stopped' } | { readonly kind: 'failed'; readonly reason: string };

export class StartQueue {
  readonly #bounds: StartQueueBounds;
  readonly #onGivenUp: (reason: string) => void;
  readonly #queue: (() => boolean)[] = [];
  #runningStartCount = 0;
  #failureCount = 0;
  #hasListened = false;
  #isGivenUp = false;

  /** @param onGivenUp called at most once, when starts are given up. */
  constructor(bounds: StartQueueBounds, onGivenUp: (reason: string) => void) {
    this.#bounds = bounds;
    this.#onGivenUp = onGivenUp;
  }

  /** Queues a start. @param begin called when it may begin, perhaps at once; if it returns true, one call of `onStartEnded` must follow. */
  enqueue(begin: () => boolean): void {
    this.#queue.push(begin);
    this.#beginStarts();
  }

  onStartEnded(ending: StartEnding): void {
    this.#runningStartCount--;
    if (ending.kind === 'listening') this.#hasListened = true;
    else if (ending.kind === 'failed' && !this.#hasListened) this.#failureCount++;
    this.#beginStarts();
    if (ending.kind !== 'failed' || !this.#hasTooManyFailures || this.#runningStartCount > 0 || this.#isGivenUp) return;
    this.#isGivenUp = true;
    this.#onGivenUp(ending.reason);
  }

  /** Whether too many starts have failed: then none begins; one under way may still succeed. */
  get #hasTooManyFailures(): boolean {
    return !this.#hasListened && this.#failureCount >= this.#bounds.failuresMax;
  }

  #beginStarts(): void {
    while (this.#runningStartCount < this.#bounds.startsAtOnceMax && !this.#hasTooManyFailures) {
      const begin = this.#queue.shift();
      if (begin === undefined) return;
      this.#runningStartCount++;
      if (!begin()) this.#runningStartCount--;
    }
  }
}
