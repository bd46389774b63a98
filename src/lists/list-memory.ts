// Counts the bytes of large lists in the shares of their subjects: responses on their way to the list thread, what the thread keeps, and
// merged lists that their callers have not read yet. Small lists are not counted: the number of requests in flight limits them.
//
// The bytes of a dropped list return to the share once the thread has released the list. A request that finds the share full waits for such
// bytes, if they will be enough. Otherwise, lists that are read at the same time might all be refused, although the first refusal makes
// room for the next list.
import { getOrMake, KIB } from '../shared/index.js';
import type { Accounts, ShareBound } from '../fair/index.js';

/**
 * The most bytes of one backend's pages that are parsed on the event loop, and of all pages of a list that are merged there. At this size,
 * using the list thread saves the event loop nothing: parsing and merging take 1.7 ms per MiB, handing over to the thread takes 0.4 ms, and
 * 0.4 ms per MiB (2.6 GHz AMD EPYC, Node 20).
 */
export const LIST_BYTES_INLINE_MAX = 256 * KIB;

/** Memory counted for each tool of a large list on top of its bytes, for parsing, merging and sorting. */
export const TOOL_BYTES_EACH = 256;

// Pages in the list thread. The list cache (`--list-cache`) lends its pages. A page that the cache has dropped is freed after its last use.

export interface KeptPage {
  readonly key: number;
  readonly bytes: number;
}

/** Accounts for a page that the cache has dropped, and frees it. */
interface PageOwner {
  /** Called when the cache drops a page that is still in use: from now on, the page counts in its subject's share. */
  onStillUsed(bytes: number): void;
  /** Called when a dropped page is not in use any more. @param countedBytes how much it takes of its subject's share. */
  onFree(key: number, countedBytes: number): void;
}

export class LentPage implements KeptPage {
  readonly key: number;
  readonly bytes: number;
  readonly #owner: PageOwner;
  #isCached = true;
  /** How many requests use the page. The first one is the request that has read it. */
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

  /** @param accounts where a subject's account is looked up anew each time, because a list may outlive the account's other uses. */
  constructor(accounts: Accounts) {
    this.#accounts = accounts;
  }

  /**
   * Takes memory from the share, at once or when enough bytes have returned.
   * @param done called once, synchronously unless the request has to wait: with the bound that is full, or `undefined` when the memory was
   * taken. Not called after the wait was cancelled.
   * @returns a function that cancels the wait; it does nothing after `done`.
   */
  takeOrWait(subject: string, bytes: number, done: (bound: ShareBound | undefined) => void): () => void {
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

  /** Takes memory even if the share is full: for a list that replaces its pages, or a page that leaves the cache. */
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

  /** Serves the waiting requests round robin by subject. Each gets its memory, or is refused if there will be no room for it. */
  #serveWaiting(): void {
    // A queue that was served moves to the end of the map, where this loop meets it again.
    for (const [subject, queue] of this.#queues) {
      const first = queue.waiting[0];
      if (first === undefined) continue;
      const { listBytes } = this.#accounts.of(subject);
      const bound = listBytes.boundExceededBy(first.bytes);
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
