// Requests that are about to be written, held until the event loop has read what had arrived: a kept connection that the
// backend has closed shows it there, and its request then goes elsewhere instead of into nothing. A connection that was
// freed by the very reads of this turn waits for the next turn's: a backend that closes after its answer does so right
// behind it. One immediate serves all requests of a turn. Hot.

export interface BatchedWriter {
  /** The turn's reads are done. */
  writeNow(): void;
}

export class WriteBatch {
  #writers: BatchedWriter[] = [];
  /** Those on connections freed in this turn. */
  #later: BatchedWriter[] = [];
  #turn = 0;
  #isScheduled = false;
  readonly #flush = (): void => {
    const writers = this.#writers;
    this.#turn += 1;
    this.#isScheduled = false;
    this.#writers = this.#later;
    this.#later = [];
    if (this.#writers.length > 0) this.#schedule();
    for (const writer of writers) writer.writeNow();
  };

  /** A connection becomes free. @returns the turn in which, for `add`. */
  noteFree(): number {
    this.#schedule();
    return this.#turn;
  }

  /** @param freedAtTurn what `noteFree` said when the writer's connection became free; -1 when it is a new one */
  add(writer: BatchedWriter, freedAtTurn: number): void {
    if (freedAtTurn === this.#turn) this.#later.push(writer);
    else this.#writers.push(writer);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#flush);
  }
}
