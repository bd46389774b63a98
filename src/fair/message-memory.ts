// The memory that large messages take while they are in the process: a share per subject and in total, for whose room messages wait. A
// message without room is not read further until there is some: messages of one subject wait in order, and subjects take turns. After a
// while a waiting message is refused. Small messages are not counted, since the number of requests in flight bounds them.
//
// Two messages cannot wait for each other for ever: a message that holds some memory and waits for more is refused like any other when its
// time is up, and the next one gets its memory. Requests and answers have separate memories, so that there is room for answers even when
// requests fill theirs.
import type { Account, Accounts } from './share.js';
import type { Deadline, DeadlineWheel } from './deadline-wheel.js';
import { FairQueue, type FairQueueEntry } from './fair-queue.js';
import { limits } from '../shared/index.js';
import type { Holding, ShareBound } from './share.js';

interface MessageMemoryMeans {
  readonly accounts: Accounts;
  readonly deadlines: DeadlineWheel;
  /** The holding in an account that counts this memory. */
  holdingOf(account: Account): Holding;
}

/** Exactly one of the two is called, once, when a wait for room ends. */
export interface RoomWaiter {
  onRoom(): void;
  /** @param bound the bound that left no room. */
  onNoRoom(bound: ShareBound): void;
}

/** For bytes that never wait, because they are in memory already. */
export const noWaiter: RoomWaiter = { onRoom: () => undefined, onNoRoom: () => undefined };

/** Counts the memory of large messages, with a bound per subject and in total; has no messages itself. */
export class MessageMemory {
  readonly #means: MessageMemoryMeans;
  /** The waiting holds. While a subject's share is full, its line is held until the subject gives something back. */
  readonly #queue = new FairQueue<MessageHold>();
  /** The hold whose turn it is, while there is no room for it in total. */
  #next: MessageHold | undefined;

  constructor(means: MessageMemoryMeans) {
    this.#means = means;
    this.holding('').share.onGiven = (subject) => {
      this.#queue.release(subject);
      this.#serve();
    };
  }

  /** A hold for a message that turns out to be large; empty at first. */
  hold(subject: string, waiter: RoomWaiter): MessageHold {
    return new MessageHold(this, subject, waiter);
  }

  /**
   * For `MessageHold`: the bound that leaves no room for this many more bytes; `undefined` if there is room. There is none while others
   * wait, so that they are not overtaken, except for a subject that holds little, since the others may not take what is reserved for such
   * subjects.
   */
  boundAgainst(subject: string, bytes: number): ShareBound | undefined {
    const holding = this.holding(subject);
    const bound = holding.boundAgainst(bytes);
    if (bound !== undefined) return bound;
    if (this.hasWaiting(subject)) return 'subjectMax';
    if (holding.isLittleWith(bytes)) return undefined;
    return this.#next !== undefined || this.#queue.hasTurn ? 'totalMax' : undefined;
  }

  /**
   * Queues a hold that found no room.
   * @param isShareFull whether the subject's share has no room: its whole line waits until the subject gives something back.
   * @returns the entry in the queue, or the bound if too many wait.
   */
  wait(hold: MessageHold, isShareFull: boolean): FairQueueEntry<MessageHold> | ShareBound {
    const entry = this.#queue.add(hold.subject, hold);
    if (entry === 'key-full') return 'subjectMax';
    if (entry === 'full') return 'totalMax';
    if (isShareFull && this.holding(hold.subject).held > 0) this.#queue.hold(hold.subject);
    return entry;
  }

  /** Whether any message of the subject waits. */
  hasWaiting(subject: string): boolean {
    return this.#queue.countOf(subject) > 0;
  }

  get deadlines(): DeadlineWheel {
    return this.#means.deadlines;
  }

  /** The hold has stopped waiting: if it was next, the hold behind it is now. */
  leave(hold: MessageHold): void {
    if (this.#next !== hold) return;
    this.#next = undefined;
    this.#serve();
  }

  /** What the subject holds of this memory. */
  holding(subject: string): Holding {
    return this.#means.holdingOf(this.#means.accounts.of(subject));
  }

  /** Gives free room to waiting holds. A hold may release its room, or ask for more, when it is called back. */
  #serve(): void {
    for (let hold = this.#next ?? this.#queue.take(); hold !== undefined; hold = this.#next ?? this.#queue.take()) {
      this.#next = undefined;
      const bound = this.holding(hold.subject).tryTake(hold.wantedBytes);
      if (bound === undefined) {
        hold.onGranted();
      } else if (bound === 'totalMax') {
        this.#next = hold;
        return;
      } else {
        hold.waitAgain();
      }
    }
  }
}

/** The two memories of a process. */
export interface MessageMemories {
  readonly requests: MessageMemory;
  readonly answers: MessageMemory;
}

export function createMessageMemories(accounts: Accounts, deadlines: DeadlineWheel): MessageMemories {
  return {
    requests: new MessageMemory({ accounts, deadlines, holdingOf: (account) => account.requestBytes }),
    answers: new MessageMemory({ accounts, deadlines, holdingOf: (account) => account.answerBytes }),
  };
}

/** The memory that is counted for one message, from when the message is known to be large until it is gone. */
export class MessageHold {
  readonly subject: string;
  readonly #memory: MessageMemory;
  readonly #waiter: RoomWaiter;
  #heldBytes = 0;
  /** The bytes that it waits for; 0 when it does not wait. */
  wantedBytes = 0;
  #queueEntry: FairQueueEntry<MessageHold> | undefined;
  #bound: ShareBound = 'subjectMax';
  #deadline: Deadline | undefined;

  constructor(memory: MessageMemory, subject: string, waiter: RoomWaiter) {
    this.#memory = memory;
    this.subject = subject;
    this.#waiter = waiter;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  get isWaiting(): boolean {
    return this.wantedBytes > 0;
  }

  /**
   * Called when the message has, or will have, this many bytes in total.
   * @param wishedBytes more than `bytes` for a message of unknown length, which then seldom has to ask again.
   * @returns `wait` when the message must not be read further until the waiter is called; or the bound that will leave no room.
   */
  grow(bytes: number, wishedBytes = bytes): 'room' | 'wait' | ShareBound {
    if (this.isWaiting) return 'wait';
    if (bytes <= this.#heldBytes) return 'room';
    const bytesMax = this.#memory.holding(this.subject).roomWhenEmpty;
    if (bytes > bytesMax) return 'subjectMax';
    let moreBytes = Math.max(bytes, Math.min(wishedBytes, bytesMax)) - this.#heldBytes;
    let bound = this.#memory.boundAgainst(this.subject, moreBytes);
    if (bound !== undefined && wishedBytes > bytes) {
      moreBytes = bytes - this.#heldBytes;
      bound = this.#memory.boundAgainst(this.subject, moreBytes);
    }
    if (bound === undefined) {
      this.take(moreBytes);
      return 'room';
    }
    // While other messages of the subject wait, `subjectMax` does not mean that the share is full.
    const isShareFull = bound === 'subjectMax' && !this.#memory.hasWaiting(this.subject);
    const outcome = this.#memory.wait(this, isShareFull);
    if (typeof outcome === 'string') return outcome;
    this.#queueEntry = outcome;
    this.#bound = bound;
    this.wantedBytes = moreBytes;
    this.#deadline = this.#memory.deadlines.after(limits.messageWaitMsMax, () => this.#giveUp(this.#bound));
    return 'wait';
  }

  /** Whether this many more bytes could be taken now, without overtaking anybody who waits. */
  hasRoomFor(bytes: number): boolean {
    return this.#memory.boundAgainst(this.subject, bytes) === undefined;
  }

  /** Counts bytes that are in memory already, whatever the bounds are. */
  take(bytes: number): void {
    this.#heldBytes += bytes;
    this.#memory.holding(this.subject).take(bytes);
  }

  /** The message is gone; the hold may be used again. Safe to call at any time. */
  release(): void {
    this.#stopWaiting();
    const bytes = this.#heldBytes;
    this.#heldBytes = 0;
    this.#memory.holding(this.subject).give(bytes);
  }

  /** For `MessageMemory`: the wanted bytes have been taken. */
  onGranted(): void {
    this.#heldBytes += this.wantedBytes;
    this.#queueEntry = undefined;
    this.#stopWaiting();
    this.#waiter.onRoom();
  }

  /** For `MessageMemory`: the hold had its turn, but its subject's share has no room, so it waits again, if it may. */
  waitAgain(): void {
    const outcome = this.#memory.wait(this, true);
    this.#queueEntry = typeof outcome === 'string' ? undefined : outcome;
    if (typeof outcome === 'string') this.#giveUp(outcome);
  }

  #giveUp(bound: ShareBound): void {
    this.#stopWaiting();
    this.#waiter.onNoRoom(bound);
  }

  #stopWaiting(): void {
    if (!this.isWaiting) return;
    this.wantedBytes = 0;
    this.#deadline?.cancel();
    this.#queueEntry?.leave();
    this.#queueEntry = undefined;
    this.#memory.leave(this);
  }
}

/**
 * Counts one answer in its subject's share of large answers: the bytes that the caller has not read yet, and a message that is handed over
 * in pieces, which stays in memory until its last piece is written. Cold path: only for answers that are large or unread.
 */
export class AnswerRoom {
  readonly #memory: MessageMemory;
  readonly #subject: string;
  #unread: MessageHold | undefined;
  #inPieces: MessageHold | undefined;

  constructor(memory: MessageMemory, subject: string) {
    this.#memory = memory;
    this.#subject = subject;
  }

  /** See `Exchange.makeRoom`. */
  make(bytes: number, waiter: RoomWaiter): 'room' | 'wait' | ShareBound {
    this.#unread ??= this.#memory.hold(this.#subject, waiter);
    return this.#unread.grow(bytes);
  }

  /** Counts bytes without asking for room: they are in memory already, and the relay has counted them until now. */
  countUnread(bytes: number): void {
    if (bytes < limits.countedFromBytes) return;
    // These bytes are counted already, or are a piece of a message that is counted as a whole.
    if (this.#unread?.heldBytes === bytes || (this.#inPieces?.heldBytes ?? 0) > 0) return;
    this.#unread ??= this.#memory.hold(this.#subject, noWaiter);
    this.#unread.take(bytes);
  }

  /** The caller has read everything that was unread. */
  releaseUnread(): void {
    this.#unread?.release();
  }

  /** See `Exchange.countInPieces`. */
  countInPieces(bytes: number): void {
    if (bytes >= limits.countedFromBytes) {
      this.#inPieces ??= this.#memory.hold(this.#subject, noWaiter);
      this.#inPieces.take(bytes);
    } else if (bytes === 0) {
      this.#inPieces?.release();
    }
  }

  release(): void {
    this.#unread?.release();
    this.#inPieces?.release();
  }
}
