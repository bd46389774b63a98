// What one answer has counted of its subject's share of large answers: what the caller has not read, which goes and comes
// back, and a message that is handed over in pieces, which is in memory until the last of them is. Cold: made for answers
// that are large or not read.
import { limits } from './limits.js';
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

  /** Counts although nobody asked for room: it is here already, and the relay has counted it until now. */
  countUnread(bytes: number): void {
    if (bytes < limits.countedFromBytes) return;
    // Room was made for it, or it is a piece of what counts as a whole.
    if (this.#unread?.heldBytes === bytes || (this.#inPieces?.heldBytes ?? 0) > 0) return;
    this.#unread ??= this.#memory.hold(this.#subject, noWaiter);
    this.#unread.take(bytes);
  }

  /** The caller has read what it had not. */
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
