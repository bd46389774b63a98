// Large JSON texts are read a slice at a time, between which the event loop serves others: however many there are, they
// take it for a few milliseconds a turn, together. Every other slice is of the text that came first, and every other of
// the one that has the least left, so that none waits for ever and a small one does not wait for a giant.
import { isUtf8 } from 'node:buffer';
import { limits } from '../shared/limits.js';
import { JsonScanner } from './json-scanner.js';
import type { NodeFilter } from './node-filter.js';

/** A text that is being read. */
export interface Reading {
  /** Nobody wants to know any more: nothing is called back. */
  cancel(): void;
}

export interface ReadingExtras {
  /** As for `JsonScanner.scan`. */
  readonly filter?: NodeFilter;
  /** Sees where each slice begins and ends, in order. */
  readonly onSlice?: (start: number, end: number) => void;
}

/** @param tape `undefined` when the text is not JSON; otherwise good until the callback returns. */
export type ReadingHandler = (tape: JsonScanner | undefined) => void;

export class ReadingQueue {
  /** In the order in which they came. */
  readonly #readings: SlicedReading[] = [];
  readonly #spareScanners: JsonScanner[] = [];
  #startedCount = 0;
  #isTurnDue = false;
  #isTurnOfOldest = false;
  /** What is left of this turn of the event loop for all of them, ms. */
  #leftMs: number = limits.readingTurnMs;

  /**
   * Checks that the bytes are JSON in UTF-8, and writes down where its values are. They must stay as they are meanwhile.
   * @param depthMax as for `JsonScanner.scan`.
   * @param handler called once, never from within.
   */
  read(bytes: Uint8Array, depthMax: number, handler: ReadingHandler, extras?: ReadingExtras): Reading {
    const reading = new SlicedReading(bytes, depthMax, extras, handler, () => this.#remove(reading));
    this.#readings.push(reading);
    this.#plan();
    return reading;
  }

  /**
   * The same, begun at once if no other text is being read: the handler is called from within when there is time for all
   * of the text in this turn. So it is looked at, and goes on, while the processor's caches still hold it.
   */
  readNow(bytes: Uint8Array, depthMax: number, handler: ReadingHandler, extras?: ReadingExtras): Reading {
    const isFirst = this.#readings.length === 0;
    const reading = this.read(bytes, depthMax, handler, extras);
    if (isFirst && this.#leftMs > 0) this.#turn();
    return reading;
  }

  #plan(): void {
    if (this.#isTurnDue || this.#readings.length === 0) return;
    this.#isTurnDue = true;
    setImmediate(() => {
      this.#isTurnDue = false;
      // One slice at least, whatever was read in the turn before this.
      this.#turn();
      this.#leftMs = limits.readingTurnMs;
      this.#plan();
    });
  }

  #turn(): void {
    const startMs = performance.now();
    let nowMs = startMs;
    do {
      const reading = this.#next();
      if (reading === undefined) break;
      this.#start(reading);
      const outcome = reading.readSlice();
      if (outcome !== 'unfinished') {
        // It stays in the queue until it was told, so that nothing is read from within.
        reading.handler(outcome === 'sound' ? reading.scanner : undefined);
        this.#remove(reading);
      }
      nowMs = performance.now();
    } while (nowMs - startMs < this.#leftMs);
    this.#leftMs -= nowMs - startMs;
  }

  #next(): SlicedReading | undefined {
    this.#isTurnOfOldest = !this.#isTurnOfOldest;
    let chosen: SlicedReading | undefined;
    const mayStart = this.#startedCount < limits.readingsStartedMax;
    for (const reading of this.#readings) {
      if (reading.scanner === undefined && !mayStart) continue;
      if (chosen === undefined || reading.bytesLeft < chosen.bytesLeft) chosen = reading;
      if (this.#isTurnOfOldest) break;
    }
    return chosen;
  }

  #start(reading: SlicedReading): void {
    if (reading.scanner !== undefined) return;
    this.#startedCount += 1;
    reading.start(this.#spareScanners.pop() ?? new JsonScanner());
  }

  #remove(reading: SlicedReading): void {
    const index = this.#readings.indexOf(reading);
    if (index === -1) return;
    this.#readings.splice(index, 1);
    if (reading.scanner === undefined) return;
    this.#startedCount -= 1;
    reading.scanner.shrink();
    this.#spareScanners.push(reading.scanner);
  }
}

class SlicedReading implements Reading {
  readonly handler: ReadingHandler;
  /** Once it was started. */
  scanner: JsonScanner | undefined;
  readonly #bytes: Uint8Array;
  readonly #depthMax: number;
  readonly #extras: ReadingExtras | undefined;
  readonly #onCancel: () => void;
  #at = 0;

  constructor(
    bytes: Uint8Array,
    depthMax: number,
    extras: ReadingExtras | undefined,
    handler: ReadingHandler,
    onCancel: () => void,
  ) {
    this.#bytes = bytes;
    this.#depthMax = depthMax;
    this.#extras = extras;
    this.handler = handler;
    this.#onCancel = onCancel;
  }

  get bytesLeft(): number {
    return this.#bytes.length - this.#at;
  }

  start(scanner: JsonScanner): void {
    scanner.begin(this.#depthMax, this.#extras?.filter);
    this.scanner = scanner;
  }

  readSlice(): 'unfinished' | 'sound' | 'unsound' {
    const end = characterStart(this.#bytes, this.#at + limits.readingSliceBytes);
    const slice = this.#bytes.subarray(this.#at, end);
    this.#extras?.onSlice?.(this.#at, end);
    this.#at = end;
    const { scanner } = this;
    if (scanner?.push(slice) !== true || !(scanner.isChunkAscii || isUtf8(slice))) return 'unsound';
    if (end < this.#bytes.length) return 'unfinished';
    return scanner.finish() ? 'sound' : 'unsound';
  }

  cancel(): void {
    this.#onCancel();
  }
}

/** Where the character begins that the offset is in. A character has four bytes at most; what is longer is none. */
function characterStart(bytes: Uint8Array, offset: number): number {
  if (offset >= bytes.length) return bytes.length;
  let at = offset;
  while (at > offset - 3 && (bytes[at]! & 0xc0) === 0x80) at -= 1;
  return at;
}

/** Of this process. */
export const readings = new ReadingQueue();
