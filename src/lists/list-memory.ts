// Counts the bytes of large lists in the shares of their subjects: responses on their way to the list thread, what the thread keeps, and
// merged lists that their callers have not read yet. Small lists are not counted: the number of requests in flight limits them.
//
// The bytes of a dropped list return to the share once the thread has released the list. A request that finds the share full waits for
// such bytes, if they will be enough. Otherwise lists that are read at the same time might all be refused, each for lack of bytes that
// another has just given up.
import { getOrMake, KIB } from '../shared/index.js';
import type { Accounts, ShareBound } from '../fair/index.js';

/**
 * Bytes of one backend's pages, and of all pages of a list, that are parsed and merged on the event loop. At this size, that costs the
 * event loop half a millisecond, and so would the list thread: parsing and merging take 1.7 ms a MiB, the way to the thread 0.4 ms plus
 * 0.4 ms a MiB (2.6 GHz AMD EPYC, Node 20).
 */
export const LIST_BYTES_INLINE_MAX = 256 * KIB;

/** Memory counted for each tool of a large list on top of its bytes, for parsing, merging and sorting. */
export const TOOL_BYTES_EACH = 256;

// A page in the list cache (`--list-cache`) is lent to each merge. Once the cache has dropped it, it is freed when nobody uses it any more.

export interface KeptPage {
  readonly key: number;
  readonly bytes: number;
}

/** Is told what becomes of a page that the cache has dropped. */
interface PageOwner {
  /** Called for a page that is still in use: until it is freed, it counts in its subject's share instead of the cache. */
  onStillUsed(bytes: number): void;
  /** Called when nobody uses the page any more. @param countedBytes what counts for it in its subject's share. */
  onFree(key: number, countedBytes: number): void;
}

export class LentPage implements KeptPage {
  readonly key: number;
  readonly bytes: number;
  readonly #owner: PageOwner;
  #isCached = true;
  /** The number of users. The first one is the request that has read the page. */
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
    if (this.#userCount === 0 && !this.#isCached) this.#owner.onFree(this.key, this.bytes);
  }

  onDropped(): void {
    this.#isCached = false;
    if (this.#userCount === 0) this.#owner.onFree(this.key, 0);
    else this.#owner.onStillUsed(this.bytes);
  }
}

interface WaitingRequest {
  readonly bytes: number;
  readonly done: (bound: ShareBound | undefined) => void;
}

/** Of one subject: the bytes that will soon return, and the waiting requests, in order of arrival. */
interface SubjectQueue {
  returningBytes: number;
  readonly waiting: WaitingRequest[];
}

export class ListMemory {
  readonly #accounts: Accounts;
  /** The queues of subjects that have anything returning or waiting, in the order in which they are served. */
  readonly #queues = new Map<string, SubjectQueue>();
  #returningBytes = 0;

  /** @param accounts where a subject's account is looked up for each use, because a list may outlive everything else of its subject. */
  constructor(accounts: Accounts) {
    this.#accounts = accounts;
  }

  /**
   * Takes memory from the share, at once or when enough bytes have returned.
   * @param done called once, synchronously unless the request has to wait: with the bound that is full, or `undefined` when the memory was
   * taken. Not called after the wait was cancelled.
   * @returns a function that cancels the wait; it does nothing after `done`.
   */
  whenTaken(subject: string, bytes: number, done: (bound: ShareBound | undefined) => void): () => void {
    const bound = this.#accounts.of(subject).listBytes.tryTake(bytes);
    if (bound === undefined || !this.#isEnoughReturning(subject, bytes)) {
      done(bound);
      return () => {};
    }
    const queue = this.#queueOf(subject);
    const waiting = { bytes, done };
    queue.waiting.push(waiting);
    return () => this.#stopWaiting(subject, queue, waiting);
  }

  /** Takes memory even if the share is full: for something that replaces something else. */
  take(subject: string, bytes: number): void {
    this.#accounts.of(subject).listBytes.take(bytes);
  }

  give(subject: string, bytes: number): void {
    this.#accounts.of(subject).listBytes.give(bytes);
    this.#serveWaiting();
  }

  /** Notes bytes that will soon be free. @returns a function that frees them, to be called once. */
  noteReturning(subject: string, bytes: number): () => void {
    const queue = this.#queueOf(subject);
    queue.returningBytes += bytes;
    this.#returningBytes += bytes;
    return () => {
      queue.returningBytes -= bytes;
      this.#returningBytes -= bytes;
      this.#forgetIfIdle(subject, queue);
      this.give(subject, bytes);
    };
  }

  /** Whether there will be room for `bytes` once all returning bytes have returned. */
  #isEnoughReturning(subject: string, bytes: number): boolean {
    const own = this.#queues.get(subject)?.returningBytes ?? 0;
    return this.#accounts.of(subject).listBytes.willHaveRoomFor(bytes, own, this.#returningBytes);
  }

  /** Serves each subject's first waiting request, as long as there is room; one that will find none is refused. */
  #serveWaiting(): void {
    // A queue that was served moves to the end of the map, where this loop meets it again.
    for (const [subject, queue] of this.#queues) {
      const first = queue.waiting[0];
      if (first === undefined) continue;
      const { listBytes } = this.#accounts.of(subject);
      const bound = listBytes.boundAgainst(first.bytes);
      if (bound !== undefined && this.#isEnoughReturning(subject, first.bytes)) continue;
      if (bound === undefined) listBytes.take(first.bytes);
      this.#queues.delete(subject);
      this.#queues.set(subject, queue);
      this.#stopWaiting(subject, queue, first);
      first.done(bound);
    }
  }

  #stopWaiting(subject: string, queue: SubjectQueue, waiting: WaitingRequest): void {
    const at = queue.waiting.indexOf(waiting);
    if (at === -1) return;
    queue.waiting.splice(at, 1);
    this.#forgetIfIdle(subject, queue);
  }

  #queueOf(subject: string): SubjectQueue {
    return getOrMake(this.#queues, subject, () => ({ returningBytes: 0, waiting: [] }));
  }

  #forgetIfIdle(subject: string, queue: SubjectQueue): void {
    const isIdle = queue.returningBytes === 0 && queue.waiting.length === 0;
    if (isIdle && this.#queues.get(subject) === queue) this.#queues.delete(subject);
  }
}
