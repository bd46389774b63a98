// Requests that are about to be written, held until the event loop has read what had arrived: a kept connection that the
// backend has closed shows it there, and its request then goes elsewhere instead of into nothing. One immediate serves
// all requests of a turn. Hot.

export interface BatchedWriter {
  /** The turn's reads are done. */
  writeNow(): void;
}

export class WriteBatch {
  #writers: BatchedWriter[] = [];
  readonly #flush = (): void => {
    const writers = this.#writers;
    this.#writers = [];
    for (const writer of writers) writer.writeNow();
  };

  add(writer: BatchedWriter): void {
    if (this.#writers.push(writer) === 1) setImmediate(this.#flush);
  }
}
