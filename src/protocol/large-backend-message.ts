// Messages of backends of any size, read in slices with others' turns of the event loop between them; and a second time, when
// it is an answer that may have URIs of resources in it, to find these. Cold but for large messages.
import { backendMessageIn, BACKEND_DEPTH, type BackendMessage } from './json-rpc.js';
import type { JsonScanner } from './json-scanner.js';
import { readings, type Reading, type ReadingExtras, type ReadingHandler } from './reading-queue.js';
import { filterOf, mayNameUri, URI_DEPTH, URI_KEY_OVERLAP, urisIn } from './uri-places.js';

/**
 * As `readBackendMessage`; of an answer the URIs in it are told, too.
 * @param done called once, from within when there is time for all of it. The bytes must stay as they are until then.
 */
export function readLargeBackendMessage(bytes: Buffer, done: LargeMessageReader): Reading {
  return new LargeReading(bytes, done, (...reading) => readings.readNow(bytes, BACKEND_DEPTH, ...reading));
}

/** The same, never called back from within. */
export function readLargeBackendMessageLater(bytes: Buffer, done: LargeMessageReader): Reading {
  return new LargeReading(bytes, done, (...reading) => readings.read(bytes, BACKEND_DEPTH, ...reading));
}

export type LargeMessageReader = (message: BackendMessage | undefined) => void;

/** Reads a large message of a backend, and once more if it is an answer that may have URIs. */
class LargeReading implements Reading {
  readonly #bytes: Buffer;
  readonly #done: LargeMessageReader;
  #reading: Reading | undefined;
  #mayNameUri = false;
  #isInSecond = false;

  constructor(
    bytes: Buffer,
    done: LargeMessageReader,
    start: (handler: ReadingHandler, extras: ReadingExtras) => Reading,
  ) {
    this.#bytes = bytes;
    this.#done = done;
    const onSlice = (from: number, to: number): void => {
      this.#mayNameUri ||= mayNameUri(bytes.subarray(Math.max(0, from - URI_KEY_OVERLAP), to));
    };
    const reading = start((tape) => this.#onRead(tape), { onSlice });
    if (!this.#isInSecond) this.#reading = reading;
  }

  cancel(): void {
    this.#reading?.cancel();
  }

  #onRead(tape: JsonScanner | undefined): void {
    const message = tape && backendMessageIn(tape, this.#bytes);
    if (message?.kind !== 'response' || !this.#mayNameUri) {
      this.#done(message);
      return;
    }
    this.#isInSecond = true;
    const handler = (second: JsonScanner | undefined): void =>
      // It is JSON: only too many values are a fault.
      this.#done(second && { ...message, uris: urisIn(second, this.#bytes) });
    this.#reading = readings.read(this.#bytes, URI_DEPTH, handler, { filter: filterOf(this.#bytes) });
  }
}
