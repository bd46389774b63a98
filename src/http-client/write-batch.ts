// Holds requests until the event loop has read what had arrived: if the backend has closed a kept connection, that read shows it, and the
// request goes to another connection instead of being lost. A connection that was freed by the reads of this turn waits for the reads of
// the next one, since a backend that closes after its answer does so right behind it. One immediate serves all requests of a turn. Hot
// path.

export interface BatchedWriter {
  /** Called when the turn's reads are done. */
  writeNow(): void;
}

export class WriteBatch {
  #writers: BatchedWriter[] = [];
  /** Writers on connections freed in this turn. */
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

  /** Notes that a connection has become free. @returns the current turn, to pass to `add`. */
  noteFree(): number {
    this.#schedule();
    return this.#turn;
  }

  /** @param freedAtTurn the result of `noteFree` when the writer's connection became free; -1 for a new connection */
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
