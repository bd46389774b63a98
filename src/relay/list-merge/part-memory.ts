// Memory for the parts of large lists, reused from list to list: throwing away memory of this size would cause a full garbage
// collection every few lists.
import { limits } from '../../shared/limits.js';
import { noteReturned } from '../../shared/returned-memory.js';

/** How many buffers are kept for reuse: more lists than this are seldom sent at once. */
const SPARES_MAX = 8;

export class PartMemory {
  readonly #spares: Uint8Array[] = [];

  take(): Uint8Array {
    return this.#spares.pop() ?? new Uint8Array(limits.listPartBytes);
  }

  /** @param memory to which nothing may refer any more. */
  giveBack(memory: Uint8Array): void {
    noteReturned(memory);
    if (memory.length === limits.listPartBytes && this.#spares.length < SPARES_MAX) this.#spares.push(memory);
  }
}
