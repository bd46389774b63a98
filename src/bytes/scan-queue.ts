// Reads large JSON texts in slices, between which the event loop serves others: all readings together take a millisecond per turn of the
// event loop, however many there are. Subjects take turns, one slice each. A subject's slices alternate between its oldest text and the
// text with the least left, so that no text waits forever, and a small one does not wait for a huge one.
import { isUtf8 } from 'node:buffer';
import { limits, KIB } from '../shared/index.js';
import { JsonScanner, type NodeFilter } from './json-scanner.js';

/** Bytes of one slice of a large message that is scanned in slices. A slice ends before a character that would exceed it. */
export const SCAN_SLICE_BYTES = 64 * KIB;
/** Large messages that are scanned at once; each has a tape in memory. Beyond that, further ones wait. */
export const SCANS_STARTED_MAX = 8;
/** Large messages of one subject that are scanned at once: the oldest and the smallest. Beyond that, its other messages wait. */
const SCANS_STARTED_PER_SUBJECT_MAX = 2;

/** A text that is being read. */
export interface Scan {
  /** Stops the reading: its handler is not called any more. */
  cancel(): void;
}

export interface ScanOptions {
  /** As for `JsonScanner.scan`. */
  readonly filter?: NodeFilter;
  /** Called with the start and end of each slice, in order. */
  readonly onSlice?: (start: number, end: number) => void;
}

/** @param tape `undefined` when the text is not JSON; otherwise valid until the callback returns. */
export type ScanHandler = (tape: JsonScanner | undefined) => void;

export class ScanQueue {
  /** One line for each subject that has texts to read, in the order of their turns. */
  readonly #lines: Line[] = [];
  readonly #spareScanners: JsonScanner[] = [];
  #startedCount = 0;
  #isTurnDue = false;
  /** Time left for all readings in this turn of the event loop, in ms. */
  #leftMs: number = limits.turnMs;

  /**
   * Checks that the bytes are JSON in UTF-8, and records where the values are. The bytes must not change meanwhile.
   * @param subject the subject on whose behalf the text is read.
   * @param depthMax as for `JsonScanner.scan`.
   * @param handler called once, never synchronously.
   */
  read(subject: string, bytes: Uint8Array, depthMax: number, handler: ScanHandler, extras?: ScanOptions): Scan {
    return this.readPieces(subject, [bytes], depthMax, handler, extras);
  }

  /** Like `read`, for several pieces, with offsets counted over all of them. @param pieces each must end with a whole character. */
  readPieces(
    subject: string,
    pieces: readonly Uint8Array[],
    depthMax: number,
    handler: ScanHandler,
    extras?: ScanOptions,
  ): Scan {
    const line = this.#lineOf(subject);
    const reading = new SlicedScan(pieces, depthMax, extras, handler, () => this.#remove(line, reading));
    line.scanQueue.push(reading);
    this.#plan();
    return reading;
  }

  /**
   * Like `read`, but starts at once if no other text is being read, and calls the handler synchronously if this turn has time for the whole
   * text, which is then processed while it is in the processor's caches.
   */
  readNow(subject: string, bytes: Uint8Array, depthMax: number, handler: ScanHandler, extras?: ScanOptions): Scan {
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
      // At least one slice is read, whatever was read in the previous turn.
      this.#turn();
      this.#leftMs = limits.turnMs;
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
        // Removed only after the handler returns, so that the handler starts no other reading synchronously.
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

  /** The first line that has something to read; it moves to the end of the order. */
  #nextLine(): Line | undefined {
    const index = this.#lines.findIndex((line) => line.startedCount > 0 || this.#mayStart(line));
    const [line] = index === -1 ? [] : this.#lines.splice(index, 1);
    if (line !== undefined) this.#lines.push(line);
    return line;
  }

  #mayStart({ startedCount }: Line): boolean {
    return this.#startedCount < SCANS_STARTED_MAX && startedCount < SCANS_STARTED_PER_SUBJECT_MAX;
  }

  #start(line: Line, reading: SlicedScan): void {
    if (reading.scanner !== undefined) return;
    this.#startedCount += 1;
    line.startedCount += 1;
    reading.start(this.#spareScanners.pop() ?? new JsonScanner());
  }

  #remove(line: Line, reading: SlicedScan): void {
    const index = line.scanQueue.indexOf(reading);
    if (index === -1) return;
    line.scanQueue.splice(index, 1);
    if (line.scanQueue.length === 0) this.#lines.splice(this.#lines.indexOf(line), 1);
    if (reading.scanner === undefined) return;
    this.#startedCount -= 1;
    line.startedCount -= 1;
    reading.scanner.shrink();
    this.#spareScanners.push(reading.scanner);
  }
}

/** The texts to be read for one subject. */
class Line {
  readonly subject: string;
  /** In order of arrival. */
  readonly scanQueue: SlicedScan[] = [];
  startedCount = 0;
  #isTurnOfOldest = false;

  constructor(subject: string) {
    this.subject = subject;
  }

  /** @param mayStart whether a reading that has not started may be chosen. */
  next(mayStart: boolean): SlicedScan | undefined {
    this.#isTurnOfOldest = !this.#isTurnOfOldest;
    let chosen: SlicedScan | undefined;
    for (const reading of this.scanQueue) {
      if (reading.scanner === undefined && !mayStart) continue;
      if (chosen === undefined || reading.bytesLeft < chosen.bytesLeft) chosen = reading;
      if (this.#isTurnOfOldest) break;
    }
    return chosen;
  }
}

class SlicedScan implements Scan {
  readonly handler: ScanHandler;
  /** Set once the reading has started. */
  scanner: JsonScanner | undefined;
  readonly #pieces: readonly Uint8Array[];
  readonly #bytesTotal: number;
  readonly #depthMax: number;
  readonly #extras: ScanOptions | undefined;
  readonly #onCancel: () => void;
  /** The index of the current piece, the bytes of all pieces before it, and the offset in it. */
  #index = 0;
  #earlierBytes = 0;
  #offset = 0;

  constructor(
    pieces: readonly Uint8Array[],
    depthMax: number,
    extras: ScanOptions | undefined,
    handler: ScanHandler,
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
    return this.#bytesTotal - this.#earlierBytes - this.#offset;
  }

  start(scanner: JsonScanner): void {
    scanner.begin(this.#depthMax, this.#extras?.filter);
    this.scanner = scanner;
  }

  readSlice(): 'unfinished' | 'sound' | 'unsound' {
    const piece = this.#pieces[this.#index]!;
    const end = characterStart(piece, this.#offset + SCAN_SLICE_BYTES);
    const slice = piece.subarray(this.#offset, end);
    this.#extras?.onSlice?.(this.#earlierBytes + this.#offset, this.#earlierBytes + end);
    this.#offset = end;
    if (end === piece.length) this.#endPiece(piece);
    const { scanner } = this;
    if (scanner?.push(slice) !== true || !(scanner.isChunkAscii || isUtf8(slice))) return 'unsound';
    if (this.#index < this.#pieces.length) return 'unfinished';
    return scanner.finish() ? 'sound' : 'unsound';
  }

  #endPiece({ length }: Uint8Array): void {
    this.#earlierBytes += length;
    this.#index += 1;
    this.#offset = 0;
  }

  cancel(): void {
    this.#onCancel();
  }
}

/** The start of the character at the offset. A character has at most four bytes; longer sequences are invalid. */
function characterStart(bytes: Uint8Array, offset: number): number {
  if (offset >= bytes.length) return bytes.length;
  let at = offset;
  while (at > offset - 3 && (bytes[at]! & 0xc0) === 0x80) at -= 1;
  return at;
}

/** The queue shared by the whole process. */
export const readings = new ScanQueue();
