// Scans large JSON texts in slices. All texts together take about a millisecond of each turn of the event loop. Subjects are served round
// robin, one slice each. A subject's slices go alternately to its oldest text and to the one with the least left, so that no text waits
// forever, and no small one waits for huge ones.
import { isUtf8 } from 'node:buffer';
import { limits, KIB } from '../shared/index.js';
import { JsonScanner, type NodeFilter } from './json-scanner.js';

/** The most bytes of one slice. A slice ends with a whole character. */
export const SCAN_SLICE_BYTES = 64 * KIB;
/** The most texts whose scan has started, each with a tape. Further texts wait. */
export const SCANS_STARTED_MAX = 8;
const SCANS_STARTED_PER_SUBJECT_MAX = 2;

export interface Scan {
  /** Cancels the scan: the handler is not called any more. */
  cancel(): void;
}

export interface ScanOptions {
  readonly filter?: NodeFilter;
  readonly onSlice?: (start: number, end: number) => void;
}

/** Called with the result. @param tape valid until this returns; `undefined` if the text is not JSON. */
export type ScanHandler = (tape: JsonScanner | undefined) => void;

export class ScanQueue {
  readonly #lines: Line[] = [];
  readonly #spareScanners: JsonScanner[] = [];
  #startedCount = 0;
  #isTurnDue = false;
  /** Time left in this turn of the event loop. */
  #turnLeftMs: number = limits.turnMs;

  /**
   * Checks that the bytes are JSON in UTF-8, and records where the values are. The bytes must not change meanwhile.
   * @param subject for the round robin.
   * @param depthMax as for `JsonScanner.scan`.
   * @param handler called once, never synchronously.
   */
  scan(subject: string, bytes: Uint8Array, depthMax: number, handler: ScanHandler, extras?: ScanOptions): Scan {
    return this.scanPieces(subject, [bytes], depthMax, handler, extras);
  }

  /** Like `scan`, for a text in pieces: offsets count over all of them. @param pieces each must end with a whole character. */
  scanPieces(
    subject: string,
    pieces: readonly Uint8Array[],
    depthMax: number,
    handler: ScanHandler,
    extras?: ScanOptions,
  ): Scan {
    const line = this.#findOrAddLine(subject);
    const scan = new SlicedScan(pieces, depthMax, extras, handler, () => this.#removeScan(line, scan));
    line.scans.push(scan);
    this.#planTurn();
    return scan;
  }

  /** Like `scan`, but begins at once if no other text waits, and calls back synchronously if this turn has the time. */
  scanNow(subject: string, bytes: Uint8Array, depthMax: number, handler: ScanHandler, extras?: ScanOptions): Scan {
    const isFirst = this.#lines.length === 0;
    const scan = this.scan(subject, bytes, depthMax, handler, extras);
    if (isFirst && this.#turnLeftMs > 0) this.#runTurn();
    return scan;
  }

  #planTurn(): void {
    if (this.#isTurnDue || this.#lines.length === 0) return;
    this.#isTurnDue = true;
    setImmediate(() => {
      this.#isTurnDue = false;
      // This scans at least one slice, whatever the previous turn took.
      this.#runTurn();
      this.#turnLeftMs = limits.turnMs;
      this.#planTurn();
    });
  }

  #runTurn(): void {
    const startMs = performance.now();
    let nowMs = startMs;
    do {
      const line = this.#takeNextLine();
      const scan = line?.chooseScan(this.#mayStart(line));
      if (line === undefined || scan === undefined) break;
      this.#startScan(line, scan);
      const outcome = scan.scanSlice();
      if (outcome !== 'unfinished') {
        // The scan is removed after its handler has run: until then, a scan that the handler adds does not start synchronously.
        scan.handler(outcome === 'sound' ? scan.scanner : undefined);
        this.#removeScan(line, scan);
      }
      nowMs = performance.now();
    } while (nowMs - startMs < this.#turnLeftMs);
    this.#turnLeftMs -= nowMs - startMs;
  }

  #findOrAddLine(subject: string): Line {
    const existingLine = this.#lines.find((line) => line.subject === subject);
    if (existingLine !== undefined) return existingLine;
    const line = new Line(subject);
    this.#lines.push(line);
    return line;
  }

  /** Takes the first line with something to scan, and moves it to the end. */
  #takeNextLine(): Line | undefined {
    const index = this.#lines.findIndex((line) => line.startedCount > 0 || this.#mayStart(line));
    const [line] = index === -1 ? [] : this.#lines.splice(index, 1);
    if (line !== undefined) this.#lines.push(line);
    return line;
  }

  #mayStart({ startedCount }: Line): boolean {
    return this.#startedCount < SCANS_STARTED_MAX && startedCount < SCANS_STARTED_PER_SUBJECT_MAX;
  }

  #startScan(line: Line, scan: SlicedScan): void {
    if (scan.scanner !== undefined) return;
    this.#startedCount += 1;
    line.startedCount += 1;
    scan.start(this.#spareScanners.pop() ?? new JsonScanner());
  }

  #removeScan(line: Line, scan: SlicedScan): void {
    const index = line.scans.indexOf(scan);
    if (index === -1) return;
    line.scans.splice(index, 1);
    if (line.scans.length === 0) this.#lines.splice(this.#lines.indexOf(line), 1);
    if (scan.scanner === undefined) return;
    this.#startedCount -= 1;
    line.startedCount -= 1;
    scan.scanner.clearAndShrink();
    this.#spareScanners.push(scan.scanner);
  }
}

class Line {
  readonly subject: string;
  readonly scans: SlicedScan[] = [];
  startedCount = 0;
  #isOldestChosen = false;

  constructor(subject: string) {
    this.subject = subject;
  }

  /** The scan of this subject to go on with. @param mayStart whether it may be one that has not started. */
  chooseScan(mayStart: boolean): SlicedScan | undefined {
    this.#isOldestChosen = !this.#isOldestChosen;
    let chosen: SlicedScan | undefined;
    for (const scan of this.scans) {
      if (scan.scanner === undefined && !mayStart) continue;
      if (chosen === undefined || scan.bytesLeft < chosen.bytesLeft) chosen = scan;
      if (this.#isOldestChosen) break;
    }
    return chosen;
  }
}

class SlicedScan implements Scan {
  readonly handler: ScanHandler;
  scanner: JsonScanner | undefined;
  readonly #pieces: readonly Uint8Array[];
  readonly #bytesTotal: number;
  readonly #depthMax: number;
  readonly #options: ScanOptions | undefined;
  readonly cancel: () => void;
  /** The current piece, the bytes before it, and the offset in it. */
  #pieceIndex = 0;
  #earlierBytes = 0;
  #offset = 0;

  constructor(
    pieces: readonly Uint8Array[],
    depthMax: number,
    extras: ScanOptions | undefined,
    handler: ScanHandler,
    cancel: () => void,
  ) {
    this.#pieces = pieces;
    this.#bytesTotal = pieces.reduce((bytes, { length }) => bytes + length, 0);
    this.#depthMax = depthMax;
    this.#options = extras;
    this.handler = handler;
    this.cancel = cancel;
  }

  get bytesLeft(): number {
    return this.#bytesTotal - this.#earlierBytes - this.#offset;
  }

  start(scanner: JsonScanner): void {
    scanner.begin(this.#depthMax, this.#options?.filter);
    this.scanner = scanner;
  }

  scanSlice(): 'unfinished' | 'sound' | 'unsound' {
    const piece = this.#pieces[this.#pieceIndex]!;
    const end = startOfCharacter(piece, this.#offset + SCAN_SLICE_BYTES);
    const slice = piece.subarray(this.#offset, end);
    this.#options?.onSlice?.(this.#earlierBytes + this.#offset, this.#earlierBytes + end);
    this.#offset = end;
    if (end === piece.length) {
      this.#earlierBytes += end;
      this.#pieceIndex += 1;
      this.#offset = 0;
    }
    const { scanner } = this;
    if (scanner?.push(slice) !== true || !(scanner.isChunkAscii || isUtf8(slice))) return 'unsound';
    if (this.#pieceIndex < this.#pieces.length) return 'unfinished';
    return scanner.finish() ? 'sound' : 'unsound';
  }
}

/** Where the character at the offset starts, at most three bytes before: no character has more than four. */
function startOfCharacter(bytes: Uint8Array, offset: number): number {
  if (offset >= bytes.length) return bytes.length;
  let at = offset;
  while (at > offset - 3 && (bytes[at]! & 0xc0) === 0x80) at -= 1;
  return at;
}

export const scanQueue = new ScanQueue();
