// A subject's share of session bytes as parts of a session see it: a limit, and the bytes held.
import type { MessageBudget } from '../../src/upstream/session/known-mirrors.js';

export class BoundedShare implements MessageBudget {
  heldBytes = 0;
  readonly bytesMax: number;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  keep(bytes: number): void {
    this.heldBytes += bytes;
  }

  drop(bytes: number): void {
    this.heldBytes -= bytes;
  }

  hasRoomFor(bytes: number): boolean {
    return this.heldBytes + bytes <= this.bytesMax;
  }
}
