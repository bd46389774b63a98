// Reads backends' messages of any size in slices, between which the event loop serves others; and once more, when a message may contain
// resource URIs or task ids, to find these. Cold path except for large messages.
import { backendMessageIn, BACKEND_DEPTH, type BackendMessage } from './json-rpc.js';
import { type JsonScanner, readings, type Reading, type ReadingExtras, type ReadingHandler } from '../bytes/index.js';
import { mayNameTask, NO_TASK_IDS, TASK_KEY_OVERLAP, TASK_LEADING, taskIdsIn } from './task-places.js';
import { leadingFilter, mayNameUri, NO_URIS, URI_DEPTH, URI_KEY_OVERLAP, URI_LEADING, urisIn } from './uri-places.js';

/**
 * Like `readBackendMessage`; for a response, its URIs are found as well.
 * @param subject the subject whose session it belongs to.
 * @param done called once, synchronously when there is time for all of it. The bytes must not change until then.
 * @param hasTasks whether task ids are found as well.
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

/** The same, but `done` is never called synchronously. */
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

type LargeMessageReader = (message: BackendMessage | undefined) => void;

/** Reads a large message of a backend, and a second time if it may contain URIs or task ids. */
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
      // Set explicitly: otherwise the whole message would be searched for them again in one go.
      this.#done(message && { ...message, uris: NO_URIS, taskIds: NO_TASK_IDS });
      return;
    }
    this.#isInSecond = true;
    const handler = (second: JsonScanner | undefined): void =>
      // The text is known to be JSON: only too many values can make it fail.
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
