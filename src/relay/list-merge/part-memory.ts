// Memory that parts of large lists come in, used again by list after list: memory of that size that is thrown away brings
// on a full garbage collection every few lists.
import { limits } from '../../shared/limits.js';
import { noteReturned } from '../../shared/returned-memory.js';

/** More are not kept: so many lists are seldom given away at once. */
const SPARES_MAX = 8;

export class PartMemory {
  readonly #spares: Uint8Array[] = [];

  take(): Uint8Array {
    return this.#spares.pop() ?? new Uint8Array(limits.listPartBytes);
  }

  /** Nothing may refer to it any more. */
  giveBack(memory: Uint8Array): void {
    noteReturned(memory);
    if (memory.length === limits.listPartBytes && this.#spares.length < SPARES_MAX) this.#spares.push(memory);
  }
}
