// Large JSON texts are read a slice at a time, between which the event loop serves others: however many there are, they
// take it for a few milliseconds a turn, together. Subjects have a slice each in turn. Of one subject's slices every other is of the
// text that came first, and every other of the one that has the least left, so that none waits for ever and a small one does
// not wait for a giant.
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
  /** Of each subject that has something to be read, in the order of their turns. */
  readonly #lines: Line[] = [];
  readonly #spareScanners: JsonScanner[] = [];
  #startedCount = 0;
  #isTurnDue = false;
  /** What is left of this turn of the event loop for all of them, ms. */
  #leftMs: number = limits.readingTurnMs;

  /**
   * Checks that the bytes are JSON in UTF-8, and writes down where its values are. They must stay as they are meanwhile.
   * @param subject on whose behalf it is read.
   * @param depthMax as for `JsonScanner.scan`.
   * @param handler called once, never from within.
   */
  read(subject: string, bytes: Uint8Array, depthMax: number, handler: ReadingHandler, extras?: ReadingExtras): Reading {
    return this.readPieces(subject, [bytes], depthMax, handler, extras);
  }

  /** The same of bytes that are not in one place: offsets are counted over all of them. @param pieces each ends with a whole character. */
  readPieces(
    subject: string,
    pieces: readonly Uint8Array[],
    depthMax: number,
    handler: ReadingHandler,
    extras?: ReadingExtras,
  ): Reading {
    const line = this.#lineOf(subject);
    const reading = new SlicedReading(pieces, depthMax, extras, handler, () => this.#remove(line, reading));
    line.readings.push(reading);
    this.#plan();
    return reading;
  }

  /**
   * The same, begun at once if no other text is being read: the handler is called from within when there is time for all
   * of the text in this turn. So it is looked at, and goes on, while the processor's caches still hold it.
   */
  readNow(
    subject: string,
    bytes: Uint8Array,
    depthMax: number,
    handler: ReadingHandler,
    extras?: ReadingExtras,
  ): Reading {
    const isFirst = this.#lines.length === 0;
    const reading = this.read(subject, bytes, depthMax, handler, extras);
    if (isFirst && this.#leftMs > 0) this.#turn();
    return reading;
  }

  #plan(): void {
    if (this.#isTurnDue || this.#lines.length === 0) return;
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
      const line = this.#nextLine();
      const reading = line?.next(this.#mayStart(line));
      if (line === undefined || reading === undefined) break;
      this.#start(line, reading);
      const outcome = reading.readSlice();
      if (outcome !== 'unfinished') {
        // It stays in the queue until it was told, so that nothing is read from within.
        reading.handler(outcome === 'sound' ? reading.scanner : undefined);
        this.#remove(line, reading);
      }
      nowMs = performance.now();
    } while (nowMs - startMs < this.#leftMs);
    this.#leftMs -= nowMs - startMs;
  }

  #lineOf(subject: string): Line {
    const known = this.#lines.find((line) => line.subject === subject);
    if (known !== undefined) return known;
    const line = new Line(subject);
    this.#lines.push(line);
    return line;
  }

  /** The first that has something to read; its next turn comes behind those of all others. */
  #nextLine(): Line | undefined {
    const index = this.#lines.findIndex((line) => line.startedCount > 0 || this.#mayStart(line));
    const [line] = index === -1 ? [] : this.#lines.splice(index, 1);
    if (line !== undefined) this.#lines.push(line);
    return line;
  }

  #mayStart({ startedCount }: Line): boolean {
    return this.#startedCount < limits.readingsStartedMax && startedCount < limits.readingsStartedPerSubjectMax;
  }

  #start(line: Line, reading: SlicedReading): void {
    if (reading.scanner !== undefined) return;
    this.#startedCount += 1;
    line.startedCount += 1;
    reading.start(this.#spareScanners.pop() ?? new JsonScanner());
  }

  #remove(line: Line, reading: SlicedReading): void {
    const index = line.readings.indexOf(reading);
    if (index === -1) return;
    line.readings.splice(index, 1);
    if (line.readings.length === 0) this.#lines.splice(this.#lines.indexOf(line), 1);
    if (reading.scanner === undefined) return;
    this.#startedCount -= 1;
    line.startedCount -= 1;
    reading.scanner.shrink();
    this.#spareScanners.push(reading.scanner);
  }
}

/** What is to be read of one subject. */
class Line {
  readonly subject: string;
  /** In the order in which they came. */
  readonly readings: SlicedReading[] = [];
  startedCount = 0;
  #isTurnOfOldest = false;

  constructor(subject: string) {
    this.subject = subject;
  }

  /** @param mayStart whether one that has not begun may. */
  next(mayStart: boolean): SlicedReading | undefined {
    this.#isTurnOfOldest = !this.#isTurnOfOldest;
    let chosen: SlicedReading | undefined;
    for (const reading of this.readings) {
      if (reading.scanner === undefined && !mayStart) continue;
      if (chosen === undefined || reading.bytesLeft < chosen.bytesLeft) chosen = reading;
      if (this.#isTurnOfOldest) break;
    }
    return chosen;
  }
}

class SlicedReading implements Reading {
  readonly handler: ReadingHandler;
  /** Once it was started. */
  scanner: JsonScanner | undefined;
  readonly #pieces: readonly Uint8Array[];
  readonly #bytesTotal: number;
  readonly #depthMax: number;
  readonly #extras: ReadingExtras | undefined;
  readonly #onCancel: () => void;
  /** Which piece it is at, what those before it had, and how far in it. */
  #index = 0;
  #before = 0;
  #at = 0;

  constructor(
    pieces: readonly Uint8Array[],
    depthMax: number,
    extras: ReadingExtras | undefined,
    handler: ReadingHandler,
    onCancel: () => void,
  ) {
    this.#pieces = pieces;
    this.#bytesTotal = pieces.reduce((bytes, { length }) => bytes + length, 0);
    this.#depthMax = depthMax;
    this.#extras = extras;
    this.handler = handler;
    this.#onCancel = onCancel;
  }

  get bytesLeft(): number {
    return this.#bytesTotal - this.#before - this.#at;
  }

  start(scanner: JsonScanner): void {
    scanner.begin(this.#depthMax, this.#extras?.filter);
    this.scanner = scanner;
  }

  readSlice(): 'unfinished' | 'sound' | 'unsound' {
    const piece = this.#pieces[this.#index]!;
    const end = characterStart(piece, this.#at + limits.readingSliceBytes);
    const slice = piece.subarray(this.#at, end);
    this.#extras?.onSlice?.(this.#before + this.#at, this.#before + end);
    this.#at = end;
    if (end === piece.length) this.#endPiece(piece);
    const { scanner } = this;
    if (scanner?.push(slice) !== true || !(scanner.isChunkAscii || isUtf8(slice))) return 'unsound';
    if (this.#index < this.#pieces.length) return 'unfinished';
    return scanner.finish() ? 'sound' : 'unsound';
  }

  #endPiece({ length }: Uint8Array): void {
    this.#before += length;
    this.#index += 1;
    this.#at = 0;
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
