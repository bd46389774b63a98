// Counts the memory of large messages, with a bound per subject and in total. A message for which there is no room is not read further
// until there is: messages of one subject wait in order, round robin by subject. After a while a waiting message is refused. Small
// messages are bounded by the number of requests in flight.
//
// Messages that wait for each other are refused when their time is up, and the next one gets their memory. Requests and answers have
// separate memories, so that there is room for answers even when requests fill theirs.
import type { Accounts } from './share.js';
import type { Deadline, DeadlineWheel } from './deadline-wheel.js';
import { FairQueue, type FairQueueEntry } from './fair-queue.js';
import { limits } from '../shared/index.js';
import type { Share, ShareBound } from './share.js';

/** Called when a wait ends: either `onRoom` or `onNoRoom`, once. */
export interface MemoryWaiter {
  onRoom(): void;
  onNoRoom(bound: ShareBound): void;
}

/** The waiter of reservations that never wait, because their bytes are in memory already. */
export const noWaiter: MemoryWaiter = { onRoom: () => undefined, onNoRoom: () => undefined };

export class MessageMemory {
  readonly deadlines: DeadlineWheel;
  readonly #accounts: Accounts;
  readonly #shareName: 'requestBytes' | 'answerBytes';
  /** The reservations that wait. Those of a subject whose share is full are paused. */
  readonly #waiting = new FairQueue<MessageReservation>();
  /** The reservation that has left the queue, but waits for room in total; `undefined` for none. */
  #waitingForTotal: MessageReservation | undefined;

  constructor(accounts: Accounts, deadlines: DeadlineWheel, shareName: 'requestBytes' | 'answerBytes') {
    this.deadlines = deadlines;
    this.#accounts = accounts;
    this.#shareName = shareName;
    this.shareOf('').capacity.onGiven = (subject) => {
      this.#waiting.resume(subject);
      this.#serveWaiting();
    };
  }

  createReservation(subject: string, waiter: MemoryWaiter): MessageReservation {
    return new MessageReservation(this, subject, waiter);
  }

  /** Why this many more bytes would have to wait; `undefined` if they need not. Only a subject that uses little may overtake others. */
  boundExceededBy(subject: string, bytes: number): ShareBound | undefined {
    const share = this.shareOf(subject);
    const bound = share.boundExceededBy(bytes);
    if (bound !== undefined) return bound;
    if (this.hasWaiting(subject)) return 'subjectMax';
    if (share.isLittleWith(bytes)) return undefined;
    return this.#waitingForTotal !== undefined || this.#waiting.isReady ? 'totalMax' : undefined;
  }

  /** Queues a reservation. @param isShareFull whether its whole subject must wait for room. @returns the bound if too many wait. */
  wait(reservation: MessageReservation, isShareFull: boolean): FairQueueEntry<MessageReservation> | ShareBound {
    const { subject } = reservation;
    const entry = this.#waiting.add(subject, reservation);
    if (typeof entry !== 'string' && isShareFull && this.shareOf(subject).used > 0) this.#waiting.pause(subject);
    return entry;
  }

  hasWaiting(subject: string): boolean {
    return this.#waiting.countOf(subject) > 0;
  }

  /** Called when a reservation no longer waits. If it was the one for which all others waited, these are served. */
  leave(reservation: MessageReservation): void {
    if (this.#waitingForTotal !== reservation) return;
    this.#waitingForTotal = undefined;
    this.#serveWaiting();
  }

  shareOf(subject: string): Share {
    return this.#accounts.of(subject)[this.#shareName];
  }

  /** Gives free room to waiting reservations. Their waiters may release it, or ask for more, when they are called. */
  #serveWaiting(): void {
    for (;;) {
      const reservation = this.#waitingForTotal ?? this.#waiting.take();
      if (reservation === undefined) return;
      this.#waitingForTotal = undefined;
      const bound = this.shareOf(reservation.subject).tryTake(reservation.wantedBytes);
      if (bound === undefined) {
        reservation.onGranted();
      } else if (bound === 'totalMax') {
        this.#waitingForTotal = reservation;
        return;
      } else {
        reservation.waitAgain();
      }
    }
  }
}

export interface MessageMemories {
  readonly requests: MessageMemory;
  readonly answers: MessageMemory;
}

export function createMessageMemories(accounts: Accounts, deadlines: DeadlineWheel): MessageMemories {
  return {
    requests: new MessageMemory(accounts, deadlines, 'requestBytes'),
    answers: new MessageMemory(accounts, deadlines, 'answerBytes'),
  };
}

/** The memory that is counted for one message. The object may be used for several messages, one after the other. */
export class MessageReservation {
  readonly subject: string;
  readonly #memory: MessageMemory;
  readonly #waiter: MemoryWaiter;
  /** The bytes that are counted. Changed only here. */
  reservedBytes = 0;
  /** The bytes that the reservation waits for; 0 when it does not wait. */
  wantedBytes = 0;
  #queueEntry: FairQueueEntry<MessageReservation> | undefined;
  #bound: ShareBound = 'subjectMax';
  #deadline: Deadline | undefined;

  constructor(memory: MessageMemory, subject: string, waiter: MemoryWaiter) {
    this.#memory = memory;
    this.subject = subject;
    this.#waiter = waiter;
  }

  get isWaiting(): boolean {
    return this.wantedBytes > 0;
  }

  /**
   * Grows to this many bytes, which the message has, or will have, in total.
   * @param wishedBytes more than `bytes` where the length is unknown, so that `grow` is needed less often.
   * @returns `wait` if the message must not be read until the waiter is called; or the bound because of which it is refused.
   */
  grow(bytes: number, wishedBytes = bytes): 'room' | 'wait' | ShareBound {
    if (this.isWaiting) return 'wait';
    if (bytes <= this.reservedBytes) return 'room';
    const bytesMax = this.#memory.shareOf(this.subject).roomWhenEmpty;
    if (bytes > bytesMax) return 'subjectMax';
    let moreBytes = Math.max(bytes, Math.min(wishedBytes, bytesMax)) - this.reservedBytes;
    let bound = this.#memory.boundExceededBy(this.subject, moreBytes);
    if (bound !== undefined && wishedBytes > bytes) {
      moreBytes = bytes - this.reservedBytes;
      bound = this.#memory.boundExceededBy(this.subject, moreBytes);
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

  /** Whether `grow` by this many bytes would not have to wait. */
  hasRoomFor(bytes: number): boolean {
    return this.#memory.boundExceededBy(this.subject, bytes) === undefined;
  }

  /** Counts bytes that are in memory already, whether or not there is room. */
  take(bytes: number): void {
    this.reservedBytes += bytes;
    this.#memory.shareOf(this.subject).take(bytes);
  }

  /** Releases the memory, because the message is gone. Safe to call at any time. */
  release(): void {
    this.#stopWaiting();
    const bytes = this.reservedBytes;
    this.reservedBytes = 0;
    this.#memory.shareOf(this.subject).give(bytes);
  }

  onGranted(): void {
    this.reservedBytes += this.wantedBytes;
    this.#queueEntry = undefined;
    this.#stopWaiting();
    this.#waiter.onRoom();
  }

  /** Waits again, because the subject's share has no room any more. Called by `MessageMemory`. */
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

/** Counts an answer that its caller has not read yet, or that is sent in pieces. Cold path. */
export class AnswerMemory {
  readonly #memory: MessageMemory;
  readonly #subject: string;
  #unreadReservation: MessageReservation | undefined;
  #piecesReservation: MessageReservation | undefined;

  constructor(memory: MessageMemory, subject: string) {
    this.#memory = memory;
    this.#subject = subject;
  }

  reserve(bytes: number, waiter: MemoryWaiter): 'room' | 'wait' | ShareBound {
    this.#unreadReservation ??= this.#memory.createReservation(this.#subject, waiter);
    return this.#unreadReservation.grow(bytes);
  }

  /** Counts bytes of an answer that the caller does not read fast enough. The relay has counted them until now. */
  countUnread(bytes: number): void {
    if (bytes < limits.countedFromBytes) return;
    // These bytes are counted already, or belong to a message that is counted as a whole.
    if (this.#unreadReservation?.reservedBytes === bytes || (this.#piecesReservation?.reservedBytes ?? 0) > 0) return;
    this.#unreadReservation ??= this.#memory.createReservation(this.#subject, noWaiter);
    this.#unreadReservation.take(bytes);
  }

  releaseUnread(): void {
    this.#unreadReservation?.release();
  }

  /** Counts an answer that is sent in pieces. @param bytes of the whole answer; 0 when its last piece was handed over. */
  countSentInPieces(bytes: number): void {
    if (bytes >= limits.countedFromBytes) {
      this.#piecesReservation ??= this.#memory.createReservation(this.#subject, noWaiter);
      this.#piecesReservation.take(bytes);
    } else if (bytes === 0) {
      this.#piecesReservation?.release();
    }
  }

  release(): void {
    this.#unreadReservation?.release();
    this.#piecesReservation?.release();
  }
}
