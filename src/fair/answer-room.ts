// What one answer counts in its subject's share of large answers: the bytes that the caller has not read yet, which come and go, and a
// message handed over in pieces, which stays in memory until its last piece is written. Cold path: only for answers that are large or
// unread.
import { limits } from '../shared/index.js';
import { noWaiter, type MessageHold, type MessageMemory, type RoomWaiter } from './message-memory.js';
import type { ShareBound } from './share.js';

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
