// How long this thread has been ready to run while others had the processor, as Linux counts it. Where nobody counts it, as on
// other systems, it stays 0. Cold: read a few times a second.
import { readFileSync } from 'node:fs';

/** Of the thread that reads it: nanoseconds on a processor, nanoseconds of waiting for one, turns. */
const SCHEDSTAT = '/proc/thread-self/schedstat';

const FORM = /^\d+ (\d+) \d+\s*$/;

export class RunQueueWait {
  readonly #path: string;
  #isKnown = true;
  #totalMs = 0;

  constructor(path: string = SCHEDSTAT) {
    this.#path = path;
  }

  /** Since the thread began. */
  totalMs(): number {
    if (this.#isKnown) this.#read();
    return this.#totalMs;
  }

  #read(): void {
    let text = '';
    try {
      text = readFileSync(this.#path, 'latin1');
    } catch (error) {
      // A process without a descriptor to spare knows no more for now: the last value says that there was no wait since.
      if (!isAbsent(error)) return;
    }
    const waitNs = FORM.exec(text)?.[1];
    if (waitNs === undefined) this.#isKnown = false;
    else this.#totalMs = Number(waitNs) / 1_000_000;
  }
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'EACCES');
}
