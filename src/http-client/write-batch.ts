// Holds requests until the event loop has read what has arrived: if the backend has closed a free connection, that read shows it, and the
// request goes to another connection instead of being lost. A request on a connection that became free in this turn waits for the reads of
// the next turn, since a backend that closes after its answer does so at once. One immediate serves all requests of a turn. Hot path.

export interface BatchedWriter {
  /** Called when the turn's reads are done. */
  writeNow(): void;
}

export class WriteBatch {
  #writers: BatchedWriter[] = [];
  /** Writers on connections that became free in this turn. */
  #nextTurnWriters: BatchedWriter[] = [];
  #turn = 0;
  #isScheduled = false;
  readonly #flush = (): void => {
    const writers = this.#writers;
    this.#turn += 1;
    this.#isScheduled = false;
    this.#writers = this.#nextTurnWriters;
    this.#nextTurnWriters = [];
    if (this.#writers.length > 0) this.#schedule();
    for (const writer of writers) writer.writeNow();
  };

  /** Notes that a connection has become free. @returns the current turn, to pass to `add`. */
  noteFree(): number {
    this.#schedule();
    return this.#turn;
  }

  /** @param freedAtTurn the result of `noteFree` when the writer's connection became free; -1 for a new connection. */
  add(writer: BatchedWriter, freedAtTurn: number): void {
    if (freedAtTurn === this.#turn) this.#nextTurnWriters.push(writer);
    else this.#writers.push(writer);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#flush);
  }
}
