// How long this thread has been ready to run while others had the processor, as counted by Linux.
// Stays 0 where that is not counted, as on other systems. Cold path: read a few times a second.
import { readFileSync } from 'node:fs';

/** For the reading thread: nanoseconds on a processor, nanoseconds of waiting for one, time slices. */
const SCHEDSTAT = '/proc/thread-self/schedstat';

const FORM = /^\d+ (\d+) \d+\s*$/;

export class RunQueueWait {
  readonly #path: string;
  #isKnown = true;
  #totalMs = 0;

  constructor(path: string = SCHEDSTAT) {
    this.#path = path;
  }

  /** The total wait since the thread began. */
  totalMs(): number {
    if (this.#isKnown) this.#read();
    return this.#totalMs;
  }

  #read(): void {
    let text = '';
    try {
      text = readFileSync(this.#path, 'latin1');
    } catch (error) {
      // Without a free file descriptor the file cannot be read for now: the last value stands, as if there was no wait since.
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
