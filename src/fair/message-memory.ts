// The memory that large messages take while they are in the process: a share per subject and in total, but one whose room is waited for. A
// message without room is not read further until there is some: messages of one subject wait in order, and subjects take turns. After a
// while it is refused. Small messages are not counted, as the number of requests in flight bounds them.
//
// No two messages can wait for each other for ever: one that holds some memory and waits for more is refused like any other when its time
// is up, and the next one gets its memory. Requests and answers have separate memories, so that there is room for answers even when
// requests fill theirs.
import type { Account, Accounts } from './accounts.js';
import type { Deadline, DeadlineWheel } from './deadline-wheel.js';
import { FairQueue, type FairQueueEntry } from './fair-queue.js';
import { limits } from '../shared/index.js';
import type { Holding, ShareBound } from './share.js';

interface MessageMemoryParts {
  readonly accounts: Accounts;
  readonly deadlines: DeadlineWheel;
  /** The subject's holding of the share that this memory is. */
  holdingOf(account: Account): Holding;
}

/** Exactly one of the two is called, once, when a wait for room ends. */
export interface RoomWaiter {
  onRoom(): void;
  /** @param bound the bound under which there was no room. */
  onNoRoom(bound: ShareBound): void;
}

/** For bytes that never wait, because they are in memory already. */
export const noWaiter: RoomWaiter = { onRoom: () => undefined, onNoRoom: () => undefined };

export class MessageMemory {
  readonly #parts: MessageMemoryParts;
  /** While a subject's share is full, its line is held back until it gives something back. */
  readonly #queue = new FairQueue<MessageHold>();
  /** The hold whose turn it is, while there is no room for it in total. */
  #next: MessageHold | undefined;

  constructor(parts: MessageMemoryParts) {
    this.#parts = parts;
    this.holding('').share.onGiven = (subject) => {
      this.#queue.letGo(subject);
      this.#serve();
    };
  }

  /** For a message that turns out to be large. The hold is empty at first. */
  hold(subject: string, waiter: RoomWaiter): MessageHold {
    return new MessageHold(this, subject, waiter);
  }

  /**
   * For `MessageHold`: the bound without room for this many bytes. Earlier waiters count as no room, so that they are not overtaken, except
   * by a subject that holds little: what is reserved for it would be of no use behind those for whom it is not.
   */
  boundAgainst(subject: string, bytes: number): ShareBound | undefined {
    const holding = this.holding(subject);
    const bound = holding.boundAgainst(bytes);
    if (bound !== undefined) return bound;
    if (this.isWaitedFor(subject)) return 'subjectMax';
    if (holding.isLittleWith(bytes)) return undefined;
    return this.#next !== undefined || this.#queue.hasTurn ? 'totalMax' : undefined;
  }

  /**
   * @param isShareFull whether there is no room for it in its subject's share: the whole line waits until the subject gives something back.
   * @returns its place in the queue, or the bound when too many wait.
   */
  wait(hold: MessageHold, isShareFull: boolean): FairQueueEntry<MessageHold> | ShareBound {
    const place = this.#queue.add(hold.subject, hold);
    if (place === 'key-full') return 'subjectMax';
    if (place === 'full') return 'totalMax';
    if (isShareFull && this.holding(hold.subject).held > 0) this.#queue.hold(hold.subject);
    return place;
  }

  /** Whether any message of the subject waits. */
  isWaitedFor(subject: string): boolean {
    return this.#queue.countOf(subject) > 0;
  }

  get deadlines(): DeadlineWheel {
    return this.#parts.deadlines;
  }

  /** The hold has stopped waiting: if it was next, the one behind it is. */
  leave(hold: MessageHold): void {
    if (this.#next !== hold) return;
    this.#next = undefined;
    this.#serve();
  }

  /** What the subject holds of this memory. */
  holding(subject: string): Holding {
    return this.#parts.holdingOf(this.#parts.accounts.of(subject));
  }

  /** Gives free room to the waiting holds. When called back, a hold may give back its room, or ask for more. */
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
        hold.waitOn();
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

/** What one message holds, from when it is known to be large until it is gone. */
export class MessageHold {
  readonly subject: string;
  readonly #memory: MessageMemory;
  readonly #waiter: RoomWaiter;
  #heldBytes = 0;
  wantedBytes = 0;
  #place: FairQueueEntry<MessageHold> | undefined;
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
   * Call when the message has, or will have, this many bytes in total.
   * @param wishedBytes for a message of unknown length: more than `bytes`, so that it seldom has to ask again.
   * @returns `wait`: do not read on until the waiter is called; or the bound under which there will be no room.
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
    // Behind others of its subject it is their turn that decides.
    const isShareFull = bound === 'subjectMax' && !this.#memory.isWaitedFor(this.subject);
    const place = this.#memory.wait(this, isShareFull);
    if (typeof place === 'string') return place;
    this.#place = place;
    this.#bound = bound;
    this.wantedBytes = moreBytes;
    this.#deadline = this.#memory.deadlines.after(limits.messageWaitMsMax, () => this.#giveUp(this.#bound));
    return 'wait';
  }

  /** Whether this many more bytes could be taken now, without overtaking anybody who waits. */
  hasRoomFor(bytes: number): boolean {
    return this.#memory.boundAgainst(this.subject, bytes) === undefined;
  }

  /** For bytes that are in memory already: they take no room that another message could have had. */
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
    this.#place = undefined;
    this.#stopWaiting();
    this.#waiter.onRoom();
  }

  /** For `MessageMemory`: it had its turn, but its subject has no room; it waits again, if it may. */
  waitOn(): void {
    const place = this.#memory.wait(this, true);
    this.#place = typeof place === 'string' ? undefined : place;
    if (typeof place === 'string') this.#giveUp(place);
  }

  #giveUp(bound: ShareBound): void {
    this.#stopWaiting();
    this.#waiter.onNoRoom(bound);
  }

  #stopWaiting(): void {
    if (!this.isWaiting) return;
    this.wantedBytes = 0;
    this.#deadline?.cancel();
    this.#place?.leave();
    this.#place = undefined;
    this.#memory.leave(this);
  }
}

// What one answer counts in its subject's share of large answers: the bytes that the caller has not read yet, which come and go, and a
// message handed over in pieces, which stays in memory until its last piece is written. Cold path: only for answers that are large or
// unread.

export class AnswerRoom {
  readonly #memory: MessageMemory;
  readonly #subject: string;
  #unread: MessageHold | undefined;
  #inPieces: MessageHold | undefined;

  constructor(memory: MessageMemory, subject: string) {
    this.#memory = memory;
    this.#subject = subject;
  }

  /** As `Exchange.makeRoom`. */
  make(bytes: number, waiter: RoomWaiter): 'room' | 'wait' | ShareBound {
    this.#unread ??= this.#memory.hold(this.#subject, waiter);
    return this.#unread.grow(bytes);
  }

  /** Counts bytes without asking for room: they are in memory already, and the relay has counted them until now. */
  countUnread(bytes: number): void {
    if (bytes < limits.countedFromBytes) return;
    // Room was made for these bytes, or they are a piece of a message that counts as a whole.
    if (this.#unread?.heldBytes === bytes || (this.#inPieces?.heldBytes ?? 0) > 0) return;
    this.#unread ??= this.#memory.hold(this.#subject, noWaiter);
    this.#unread.take(bytes);
  }

  /** The caller has read everything that was unread. */
  releaseUnread(): void {
    this.#unread?.release();
  }

  /** As `Exchange.countInPieces`. */
  countInPieces(bytes: number): void {
    if (bytes >= limits.countedFromBytes) {
      this.#inPieces ??= this.#memory.hold(this.#subject, noWaiter);
      this.#inPieces.take(bytes);
    } else if (bytes === 0) {
      this.#inPieces?.release();
    }
  }

  /** The answer is over. */
  release(): void {
    this.#unread?.release();
    this.#inPieces?.release();
  }
}
