// The memory that large messages take while they are in the process: a share by subject and in total, like any other, but
// one that is waited for. Who finds no room reads no more of its message until there is some, its subject's others behind
// it and other subjects in turn; after a while it is refused. Small messages are not counted: requests in flight are.
//
// No two messages can wait for each other for ever: one that holds some of its memory and waits for more is refused like
// any other when its time is up, and its memory is what the next one waits for. Requests and answers have memories of
// their own, so that the answers of a process full of requests have room.
import type { Account, Accounts } from './accounts.js';
import type { Deadline, DeadlineWheel } from './deadline-wheel.js';
import { FairQueue, type FairPlace } from './fair-queue.js';
import { limits } from './limits.js';
import type { Holding, ShareBound } from './share.js';

export interface MessageMemoryParts {
  readonly accounts: Accounts;
  readonly deadlines: DeadlineWheel;
  /** Which share it is. */
  holdingOf(account: Account): Holding;
}

/** Who waits for room hears one of the two, once. */
export interface RoomWaiter {
  onRoom(): void;
  /** @param bound whose room it is that there was none of. */
  onNoRoom(bound: ShareBound): void;
}

/** For what never waits, as it is here already. */
export const noWaiter: RoomWaiter = { onRoom: () => undefined, onNoRoom: () => undefined };

export class MessageMemory {
  readonly #parts: MessageMemoryParts;
  /** A subject that has all of its share is held back in it until it gives something back. */
  readonly #queue = new FairQueue<MessageHold>({
    itemsMax: limits.messagesWaitingMax,
    itemsPerKeyMax: limits.messagesWaitingPerSubjectMax,
  });
  /** The one whose turn it is, while there is no room for it in total. */
  #next: MessageHold | undefined;

  constructor(parts: MessageMemoryParts) {
    this.#parts = parts;
  }

  /** For a message that turns out to be large. It holds nothing yet. */
  hold(subject: string, waiter: RoomWaiter): MessageHold {
    return new MessageHold(this, subject, waiter);
  }

  /** For `MessageHold`: takes so much if there is room, and nobody waits who was here before. */
  boundAgainst(subject: string, bytes: number): ShareBound | undefined {
    const bound = this.#holding(subject).boundAgainst(bytes);
    if (bound !== undefined) return bound;
    if (this.#queue.countOf(subject) > 0) return 'subjectMax';
    return this.#next !== undefined || this.#queue.hasTurn ? 'totalMax' : undefined;
  }

  /** For `MessageHold`: how large a message may be to have room ever. */
  messageBytesMax(subject: string): number {
    return this.#holding(subject).roomWhenEmpty;
  }

  take(subject: string, bytes: number): void {
    this.#holding(subject).take(bytes);
  }

  give(subject: string, bytes: number): void {
    this.#holding(subject).give(bytes);
    this.#queue.letGo(subject);
    this.#serve();
  }

  /** @returns where it waits; the bound when too many wait. */
  wait(hold: MessageHold, bound: ShareBound): FairPlace<MessageHold> | ShareBound {
    const place = this.#queue.add(hold.subject, hold);
    if (place === 'key-full') return 'subjectMax';
    if (place === 'full') return 'totalMax';
    if (bound === 'subjectMax' && this.#holding(hold.subject).held > 0) this.#queue.hold(hold.subject);
    return place;
  }

  after(delayMs: number, callback: () => void): Deadline {
    return this.#parts.deadlines.after(delayMs, callback);
  }

  /** It waits no more. */
  leave(hold: MessageHold): void {
    if (this.#next !== hold) return;
    this.#next = undefined;
    this.#serve();
  }

  #holding(subject: string): Holding {
    return this.#parts.holdingOf(this.#parts.accounts.of(subject));
  }

  /** Gives what there is to those who wait. Each may give back, or come again, while it is told. */
  #serve(): void {
    for (let hold = this.#next ?? this.#queue.take(); hold !== undefined; hold = this.#next ?? this.#queue.take()) {
      this.#next = undefined;
      const bound = this.#holding(hold.subject).tryTake(hold.wantedBytes);
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

/** Those of a process. */
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
  #place: FairPlace<MessageHold> | undefined;
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
   * The message has so many bytes by now, or will have them.
   * @param wishedBytes for a message whose length is not known: more than that, so that it seldom has to ask.
   * @returns `wait`: no more of it may be read until the waiter hears; or the bound of which there will be no room.
   */
  grow(bytes: number, wishedBytes = bytes): 'room' | 'wait' | ShareBound {
    if (this.isWaiting) return 'wait';
    if (bytes <= this.#heldBytes) return 'room';
    const bytesMax = this.#memory.messageBytesMax(this.subject);
    if (bytes > bytesMax) return 'subjectMax';
    const moreBytes = Math.max(bytes, Math.min(wishedBytes, bytesMax)) - this.#heldBytes;
    const bound = this.#memory.boundAgainst(this.subject, moreBytes);
    if (bound === undefined) {
      this.take(moreBytes);
      return 'room';
    }
    const place = this.#memory.wait(this, bound);
    if (typeof place === 'string') return place;
    this.#place = place;
    this.#bound = bound;
    this.wantedBytes = moreBytes;
    this.#deadline = this.#memory.after(limits.messageWaitMsMax, () => this.#onTimeUp());
    return 'wait';
  }

  /** Whether so much more could be taken now, and nobody waits who was here before. */
  hasRoomFor(bytes: number): boolean {
    return this.#memory.boundAgainst(this.subject, bytes) === undefined;
  }

  /** For what is there already: it takes no room away that another would not have had anyway. */
  take(bytes: number): void {
    this.#heldBytes += bytes;
    this.#memory.take(this.subject, bytes);
  }

  /** The message is gone; it may come to hold something again. Safe to call at any time. */
  release(): void {
    this.#stopWaiting();
    const bytes = this.#heldBytes;
    this.#heldBytes = 0;
    if (bytes > 0) this.#memory.give(this.subject, bytes);
  }

  /** For `MessageMemory`: it was taken. */
  onGranted(): void {
    this.#heldBytes += this.wantedBytes;
    this.#place = undefined;
    this.#stopWaiting();
    this.#waiter.onRoom();
  }

  /** For `MessageMemory`: it was its turn, and its subject has no room. */
  waitOn(): void {
    const place = this.#memory.wait(this, 'subjectMax');
    this.#place = typeof place === 'string' ? undefined : place;
  }

  #onTimeUp(): void {
    const bound = this.#bound;
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
