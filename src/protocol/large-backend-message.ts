// Messages of backends of any size, read in slices with others' turns of the event loop between them; and a second time, when
// one may have URIs of resources or ids of tasks in it, to find these. Cold but for large messages.
import { backendMessageIn, BACKEND_DEPTH, type BackendMessage } from './json-rpc.js';
import type { JsonScanner } from './json-scanner.js';
import { readings, type Reading, type ReadingExtras, type ReadingHandler } from './reading-queue.js';
import { mayNameTask, NO_TASK_IDS, TASK_KEY_OVERLAP, TASK_LEADING, taskIdsIn } from './task-places.js';
import { leadingFilter, mayNameUri, NO_URIS, URI_DEPTH, URI_KEY_OVERLAP, URI_LEADING, urisIn } from './uri-places.js';

/**
 * As `readBackendMessage`; of an answer the URIs in it are told, too.
 * @param subject whose session it belongs to.
 * @param done called once, from within when there is time for all of it. The bytes must stay as they are until then.
 * @param hasTasks whether ids of tasks are told as well.
 */
export function readLargeBackendMessage(
  subject: string,
  bytes: Buffer,
  done: LargeMessageReader,
  hasTasks = false,
): Reading {
  return new LargeReading(subject, bytes, hasTasks, done, (...reading) =>
    readings.readNow(subject, bytes, BACKEND_DEPTH, ...reading),
  );
}

/** The same, never called back from within. */
export function readLargeBackendMessageLater(
  subject: string,
  bytes: Buffer,
  done: LargeMessageReader,
  hasTasks = false,
): Reading {
  return new LargeReading(subject, bytes, hasTasks, done, (...reading) =>
    readings.read(subject, bytes, BACKEND_DEPTH, ...reading),
  );
}

export type LargeMessageReader = (message: BackendMessage | undefined) => void;

/** Reads a large message of a backend, and once more if there may be something in it that is to be found. */
class LargeReading implements Reading {
  readonly #subject: string;
  readonly #bytes: Buffer;
  readonly #hasTasks: boolean;
  readonly #done: LargeMessageReader;
  #reading: Reading | undefined;
  #mayNameUri = false;
  #mayNameTask = false;
  #isInSecond = false;

  constructor(
    subject: string,
    bytes: Buffer,
    hasTasks: boolean,
    done: LargeMessageReader,
    start: (handler: ReadingHandler, extras: ReadingExtras) => Reading,
  ) {
    this.#subject = subject;
    this.#bytes = bytes;
    this.#hasTasks = hasTasks;
    this.#done = done;
    const onSlice = (from: number, to: number): void => {
      this.#mayNameUri ||= mayNameUri(bytes.subarray(Math.max(0, from - URI_KEY_OVERLAP), to));
      if (this.#hasTasks) this.#mayNameTask ||= mayNameTask(bytes.subarray(Math.max(0, from - TASK_KEY_OVERLAP), to));
    };
    const reading = start((tape) => this.#onRead(tape), { onSlice });
    if (!this.#isInSecond) this.#reading = reading;
  }

  cancel(): void {
    this.#reading?.cancel();
  }

  #onRead(tape: JsonScanner | undefined): void {
    const message = tape && backendMessageIn(tape, this.#bytes);
    const mayNameUri = this.#mayNameUri && message?.kind === 'response';
    if (message === undefined || (!mayNameUri && !this.#mayNameTask)) {
      // Said, so that nobody looks for them again in all of it at once.
      this.#done(message && { ...message, uris: NO_URIS, taskIds: NO_TASK_IDS });
      return;
    }
    this.#isInSecond = true;
    const handler = (second: JsonScanner | undefined): void =>
      // It is JSON: only too many values are a fault.
      this.#done(
        second && {
          ...message,
          uris: mayNameUri ? urisIn(second, this.#bytes) : NO_URIS,
          taskIds: this.#mayNameTask ? taskIdsIn(second, this.#bytes) : NO_TASK_IDS,
        },
      );
    const leading = [...(mayNameUri ? URI_LEADING : []), ...(this.#mayNameTask ? TASK_LEADING : [])];
    const filter = leadingFilter(this.#bytes, leading);
    this.#reading = readings.read(this.#subject, this.#bytes, URI_DEPTH, handler, { filter });
  }
}
