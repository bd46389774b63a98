// How long this thread has been ready to run while others had the processor, as counted by Linux.
// Stays 0 where that is not counted, as on other systems. Cold path: read a few times a second.
import { readFileSync } from 'node:fs';

/** For the reading thread: nanoseconds on a processor, nanoseconds of waiting for one, time slices. */
const SCHEDSTAT = '/proc/thread-self/schedstat';

const FORM = /^\d+ (\d+) \d+\s*$/;

export class RunQueueWait {
  readonly #path: string;
  #totalMs = 0;

  constructor(path: string = SCHEDSTAT) {
    this.#path = path;
  }

  /** The total wait since the thread began. While it cannot be read, the last value stands, as if there was no wait since. */
  totalMs(): number {
    try {
      const waitNs = FORM.exec(readFileSync(this.#path, 'latin1'))?.[1];
      if (waitNs !== undefined) this.#totalMs = Number(waitNs) / 1_000_000;
    } catch {
      // Absent on other systems; or there is no free file descriptor for now.
    }
    return this.#totalMs;
  }
}
