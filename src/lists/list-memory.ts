// Counts the bytes of large lists in the shares of their subjects: responses on their way to the list thread, what the thread keeps, and
// merged lists that their callers have not read yet. Small lists are not counted, because requests in flight are.
//
// The bytes of a dropped list return to the share once the thread has let go of it. A request that finds no room meanwhile waits for
// that, as long as the returning bytes are enough for it. Otherwise lists that are read at the same time would be refused one after the
// other, each for lack of the bytes that the one before has just given up, and none would succeed.
import { KIB } from '../shared/index.js';
import type { Accounts, ShareBound } from '../fair/index.js';

/**
 * Bytes of one backend's pages, and of all pages of a list, that are parsed and merged on the event loop. At this size that and the way to the
 * list thread both cost the event loop half a millisecond: parsing and merging 1.7 ms a MiB; the way 0.4 ms plus 0.4 ms a MiB (2.6 GHz AMD
 * EPYC, Node 20).
 */
export const LIST_BYTES_INLINE_MAX = 256 * KIB;

/** Memory counted for each tool of a large list on top of its bytes, for parsing, merging and sorting. */
export const TOOL_BYTES_EACH = 256;

// A page of a large list, which the list thread keeps. One in the list cache (`--list-cache`) is lent: each merge borrows it, and once the
// cache has dropped it, it is freed when nobody uses it any more.

/** A page that the thread keeps. */
export interface KeptPage {
  readonly key: number;
  readonly bytes: number;
}

/** Hears what becomes of a page that the cache has dropped. */
interface PageOwner {
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

interface Waiting {
  readonly bytes: number;
  readonly done: (bound: ShareBound | undefined) => void;
}

/** One subject's returning bytes, and its waiting requests in order of arrival. */
interface Line {
  returningBytes: number;
  readonly waiting: Waiting[];
}

export class ListMemory {
  readonly #accounts: Accounts;
  /** The lines of subjects that have anything returning or waiting, in the order of their turns. */
  readonly #lines = new Map<string, Line>();
  #returningBytes = 0;

  /** An account is looked up for each step, since a list may outlive its session and everything else of its subject. */
  constructor(accounts: Accounts) {
    this.#accounts = accounts;
  }

  /**
   * Takes memory from the share, at once or when the returning bytes are there.
   * @param done called once, unless the wait is left: with the bound that has no room, or `undefined` when the memory was taken.
   *   Synchronously when that is known at once.
   * @returns a function that leaves the wait; it does nothing after `done`.
   */
  whenTaken(subject: string, bytes: number, done: (bound: ShareBound | undefined) => void): () => void {
    const bound = this.#accounts.of(subject).listBytes.tryTake(bytes);
    if (bound === undefined || !this.#isEnoughReturning(subject, bytes)) {
      done(bound);
      return () => {};
    }
    const line = this.#lineOf(subject);
    const waiting = { bytes, done };
    line.waiting.push(waiting);
    return () => this.#leave(subject, line, waiting);
  }

  /** Takes memory whatever the bounds, for something that replaces something else. */
  take(subject: string, bytes: number): void {
    this.#accounts.of(subject).listBytes.take(bytes);
  }

  give(subject: string, bytes: number): void {
    this.#accounts.of(subject).listBytes.give(bytes);
    this.#giveTurns();
  }

  /** Notes that these bytes will soon be free. @returns a function that frees them, to be called once. */
  returning(subject: string, bytes: number): () => void {
    const line = this.#lineOf(subject);
    line.returningBytes += bytes;
    this.#returningBytes += bytes;
    return () => {
      line.returningBytes -= bytes;
      this.#returningBytes -= bytes;
      this.#forgetIfIdle(subject, line);
      this.give(subject, bytes);
    };
  }

  /** Whether the returning bytes make room for so many. */
  #isEnoughReturning(subject: string, bytes: number): boolean {
    const own = this.#lines.get(subject)?.returningBytes ?? 0;
    return this.#accounts.of(subject).listBytes.willHaveRoomFor(bytes, own, this.#returningBytes);
  }

  /** Serves each subject's first waiting request, in turn, as long as there is room; requests that will find none are told so. */
  #giveTurns(): void {
    // A line that has had its turn moves to the end of the map, where this loop meets it again.
    for (const [subject, line] of this.#lines) {
      const first = line.waiting[0];
      if (first === undefined) continue;
      const { listBytes } = this.#accounts.of(subject);
      const bound = listBytes.boundAgainst(first.bytes);
      if (bound !== undefined && this.#isEnoughReturning(subject, first.bytes)) continue;
      if (bound === undefined) listBytes.take(first.bytes);
      this.#lines.delete(subject);
      this.#lines.set(subject, line);
      this.#leave(subject, line, first);
      first.done(bound);
    }
  }

  #leave(subject: string, line: Line, waiting: Waiting): void {
    const at = line.waiting.indexOf(waiting);
    if (at === -1) return;
    line.waiting.splice(at, 1);
    this.#forgetIfIdle(subject, line);
  }

  #lineOf(subject: string): Line {
    const known = this.#lines.get(subject);
    if (known !== undefined) return known;
    const line = { returningBytes: 0, waiting: [] };
    this.#lines.set(subject, line);
    return line;
  }

  #forgetIfIdle(subject: string, line: Line): void {
    const isIdle = line.returningBytes === 0 && line.waiting.length === 0;
    if (isIdle && this.#lines.get(subject) === line) this.#lines.delete(subject);
  }
}
