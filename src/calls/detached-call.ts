// A call whose caller is gone, but may come back. Its request still counts in the subject's share, its answer is read slowly, and after a
// while the call is given up, because it occupies a connection to the backend. Cold path.
import {
  type Account,
  type Deadline,
  type DeadlineWheel,
  FairQueueEntry,
  TurnScheduler,
  type TurnSchedulerRules,
} from '../fair/index.js';
import { limits, KIB } from '../shared/index.js';
import type { RpcRequest } from '../upstream/index.js';

// The backends' responses to such calls are read to the end (S12), one slice at a time, round robin by subject, in a small part of the
// event loop's time. So a client that requests endless streams from its own backend and disconnects slows down nobody.

/** Pause after a read, as a multiple of the time that the read took: detached calls get at most a fifth of the event loop. */
export const DETACHED_READ_PAUSE_FACTOR = 4;
/** Longest pause between reads of detached calls. */
export const DETACHED_READ_PAUSE_MS_MAX = 1_000;

export const detachedReadRules: TurnSchedulerRules = {
  untimedMax: 0,
  turnMs: 0,
  // The queue needs no bounds, because requests in flight are limited already.
  waiting: [Infinity, Infinity],
  pause: { factor: DETACHED_READ_PAUSE_FACTOR, msMax: DETACHED_READ_PAUSE_MS_MAX },
};

const detachedReads = new TurnScheduler(detachedReadRules);

/** The most bytes of a detached call that are read in one go. Then another detached call is read. */
export const DETACHED_READ_BYTES = 64 * KIB;

export class DetachedCall {
  readonly #account: Account;
  readonly #deadlines: DeadlineWheel;
  readonly #onTimeUp: () => void;
  readonly #requestBytes: number;
  #deadline: Deadline | undefined;
  #request: RpcRequest | undefined;
  #queueEntry: FairQueueEntry<() => void> | undefined;
  readonly #readSlice = (): void => {
    this.#queueEntry = undefined;
    this.#request?.setRation(DETACHED_READ_BYTES);
    this.#request?.resume();
  };

  /** @param requestBytes the size of the request, which stays in memory, but no longer counts for the connection on which it came. */
  constructor(account: Account, requestBytes: number, deadlines: DeadlineWheel, onTimeUp: () => void) {
    this.#account = account;
    this.#deadlines = deadlines;
    this.#onTimeUp = onTimeUp;
    this.#requestBytes = requestBytes < limits.countedFromBytes ? 0 : requestBytes;
    account.requestBytes.take(this.#requestBytes);
  }

  get isOrphan(): boolean {
    return this.#deadline !== undefined;
  }

  /** Called when the caller is gone: begins to count the time. @param request the call at its backend, if it was sent. */
  onCallerGone(timeMs: number, request: RpcRequest | undefined): void {
    if (this.isOrphan) return;
    this.#deadline = this.#deadlines.after(timeMs, this.#onTimeUp);
    if (request !== undefined) this.onSent(request);
  }

  onSent(request: RpcRequest): void {
    if (!this.isOrphan) return;
    this.#request = request;
    request.setRation(DETACHED_READ_BYTES);
    if (request.isPaused) this.#queueRead();
  }

  onRationRead(spentMs: number): void {
    detachedReads.noteSpent(spentMs);
    this.#queueRead();
  }

  onCallerBack(): void {
    this.#deadline?.cancel();
    this.#deadline = undefined;
    this.#queueEntry?.leave();
    this.#queueEntry = undefined;
    this.#request?.setRation(undefined);
    this.#request = undefined;
  }

  close(): void {
    this.onCallerBack();
    this.#account.requestBytes.give(this.#requestBytes);
  }

  #queueRead(): void {
    if (this.#queueEntry !== undefined) return;
    const entry = detachedReads.wait(this.#account.subject, this.#readSlice);
    // The queue is never full (`detachedReadRules`), so there is always an entry.
    if (entry instanceof FairQueueEntry) this.#queueEntry = entry;
    else this.#readSlice();
  }
}
