// A page of a large list, which the list thread keeps. One in the list cache (`--list-cache`) is lent: each merge borrows it, and once the
// cache has dropped it, it is freed when nobody uses it any more.

/** A page that the thread keeps. */
export interface KeptPage {
  readonly key: number;
  readonly bytes: number;
}

/** Hears what becomes of a page that the cache has dropped. */
export interface PageOwner {
  /** The page is still in use: until it is freed, it counts in its subject's share instead of the cache. */
  onUsedStill(bytes: number): void;
  onFree(key: number, givenBytes: number): void;
}

export class LentPage implements KeptPage {
  readonly key: number;
  readonly bytes: number;
  readonly #owner: PageOwner;
  #isInMemory = true;
  /** The request that has read the page is its first user. */
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

  /** The cache has dropped the page: it is not lent any more. */
  onDropped(): void {
    this.#isInMemory = false;
    if (this.#userCount === 0) this.#owner.onFree(this.key, 0);
    else this.#owner.onUsedStill(this.bytes);
  }
}
