// A page of a large list that is in memory (`--list-cache`): the list thread has it, whoever merges it borrows it, and once it was dropped it goes
// when nobody uses it any more.
import type { KeptPage } from './answer-reading.js';

/** What becomes of a page that is not in memory any more. */
export interface PageOwner {
  /** Somebody uses it still: until it goes it counts in its subject's share, and not in that of memory. */
  onUsedStill(bytes: number): void;
  onFree(key: number, givenBytes: number): void;
}

export class LentPage implements KeptPage {
  readonly key: number;
  readonly bytes: number;
  readonly #owner: PageOwner;
  #isInMemory = true;
  /** Whoever has read it is the first. */
  #userCount = 1;

  constructor({ key, bytes }: KeptPage, owner: PageOwner) {
    this.key = key;
    this.bytes = bytes;
    this.#owner = owner;
  }

  borrow(): void {
    this.#userCount += 1;
  }

  giveBack(): void {
    this.#userCount -= 1;
    if (this.#userCount === 0 && !this.#isInMemory) this.#owner.onFree(this.key, this.bytes);
  }

  /** It is not lent any more. */
  onDropped(): void {
    this.#isInMemory = false;
    if (this.#userCount === 0) this.#owner.onFree(this.key, 0);
    else this.#owner.onUsedStill(this.bytes);
  }
}
