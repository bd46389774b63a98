// Server-sent events (WHATWG HTML, 9.2): parses those of backends, in pieces of any size, and writes those for callers, as bytes. Hot path:
// every event that is relayed.
import { Buffer } from 'node:buffer';
import { BodyCollector } from './body-collector.js';
import { KIB } from '../shared/index.js';

/** The most bytes of an event's id, name or `retry`. A longer id is not used to resume, a longer name is cut, a longer `retry` ignored. */
export const EVENT_FIELD_BYTES_MAX = KIB;

export const STREAM_RETRY_MS = 1_000;

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const COLON = 0x3a;
const ZERO = 0x30;

/** The length of the longest known field names (`event`, `retry`). A longer name is read only so far, since it is unknown. */
const FIELD_NAME_BYTES_MAX = 5;

/** The `lastEventId` after an event whose id is too long. No other id contains NUL. */
export const TOO_LONG_ID = '\0';

const NO_BYTES = Buffer.alloc(0);
const LINE_FEED = Buffer.of(LF);

/** Receives the data of large events in pieces, which the parser does not join. */
export interface LargeEventHandler {
  /** The bytes of an event's first data line at which `accepts` is called, if the line is still incomplete. */
  readonly fromBytes: number;
  accepts(beginning: Buffer): boolean;
  /** Takes a piece of the data; the first one contains the beginning. @param piece valid until this returns. */
  onPiece(piece: Buffer): void;
  onEnd(): void;
}

/** Parses as browsers do, but does not report events with empty data, which MCP sends only for their id (C15). */
export class EventStreamParser {
  readonly #onEvent: (data: Buffer, event: string, lastEventId: string) => void;
  readonly #eventBytesMax: number;

  #isSound = true;
  #isFirstLine = true;
  /** Whether the last chunk ended with CR: an LF at the start of the next chunk belongs to it. */
  #endsWithCr = false;
  /** The beginning of a line that continues in the next chunk. */
  readonly #line: BodyCollector;

  #eventName = '';
  /** The last id received. It becomes `lastEventId` when the current event is complete, or too large. */
  #eventId = '';
  /** The id of the last complete or too large event; `''` for none, `TOO_LONG_ID` if too long. Changed only here, like `retryMs`. */
  lastEventId = '';
  retryMs: number | undefined = undefined;
  /** The number of the event's data lines so far. The first is not copied while it is the only one, but kept as `#firstLine`. */
  #lineCount = 0;
  #firstLine: Buffer = NO_BYTES;
  readonly #data: BodyCollector;

  readonly #largeHandler: LargeEventHandler | undefined;
  #takenBytes = 0;
  #isInTakenLine = false;
  /** Whether `#largeHandler` has declined the event of this line. */
  #isDeclined = false;

  /**
   * @param onEvent called by `push`. `data` may be a view of the chunk, and is then valid only as long as that is. `event` is `''` for
   *   `message` or none, and may be cut.
   * @param eventBytesMax the most bytes of the data of one event and the current line together.
   */
  constructor(
    onEvent: (data: Buffer, event: string, lastEventId: string) => void,
    eventBytesMax: number,
    largeHandler?: LargeEventHandler,
  ) {
    this.#onEvent = onEvent;
    this.#eventBytesMax = eventBytesMax;
    this.#line = new BodyCollector(eventBytesMax);
    this.#data = new BodyCollector(eventBytesMax);
    this.#largeHandler = largeHandler;
  }

  get keptBytes(): number {
    return this.#firstLine.length + this.#data.length + this.#line.length;
  }

  /** Parses a chunk. @returns false once an event was too large; then nothing is parsed any more. */
  push(chunk: Buffer): boolean {
    if (!this.#isSound || chunk.length === 0) return this.#isSound;
    let at = this.#endsWithCr && chunk[0] === LF ? 1 : 0;
    this.#endsWithCr = false;
    // The next LF and the next CR are each searched for only once the last one is behind: so the time is linear.
    let lf = chunk.indexOf(LF, at);
    let cr = chunk.indexOf(CR, at);
    while (lf !== -1 || cr !== -1) {
      const isCr = lf === -1 || (cr !== -1 && cr < lf);
      const end = isCr ? cr : lf;
      if (!this.#onPiece(chunk, at, end, true)) return false;
      at = end + 1;
      if (isCr) {
        if (at === chunk.length) this.#endsWithCr = true;
        else if (lf === at) at++;
      }
      if (lf !== -1 && lf < at) lf = chunk.indexOf(LF, at);
      if (cr !== -1 && cr < at) cr = chunk.indexOf(CR, at);
    }
    return this.#onPiece(chunk, at, chunk.length, false);
  }

  /** Takes a line, or the beginning of a line at the end of a chunk. @param isLineEnd whether the line ends in this chunk. */
  #onPiece(chunk: Buffer, start: number, end: number, isLineEnd: boolean): boolean {
    const dataBytes = this.#firstLine.length + this.#data.length + this.#takenBytes;
    if (dataBytes + this.#line.length + end - start > this.#eventBytesMax) {
      this.#isSound = false;
      this.lastEventId = this.#eventId;
      return false;
    }
    if (this.#isInTakenLine) {
      this.#handOverPiece(chunk.subarray(start, end));
      this.#isInTakenLine = !isLineEnd;
    } else if (!isLineEnd) {
      // The event continues in the next chunk, but the memory of this chunk must not be kept.
      this.#copyFirstLine();
      if (end > start) this.#line.add(chunk.subarray(start, end), 0);
      this.#offerLargeEvent();
    } else if (this.#line.length === 0) {
      this.#onLine(chunk, start, end);
    } else {
      this.#line.add(chunk.subarray(start, end), 0);
      const line = this.#line.take();
      this.#isDeclined = false;
      this.#onLine(line, 0, line.length);
    }
    return true;
  }

  /** Offers an event to `#largeHandler`, if it has become large while its first data line arrives. */
  #offerLargeEvent(): void {
    const large = this.#largeHandler;
    if (large === undefined || this.#isDeclined || this.#lineCount > 0 || this.#line.length < large.fromBytes) return;
    const line = this.#line.bytes;
    const start = this.#isFirstLine ? afterByteOrderMark(line, 0, line.length) : 0;
    const nameEnd = line.indexOf(COLON, start);
    const value = line[nameEnd + 1] === SPACE ? nameEnd + 2 : nameEnd + 1;
    this.#isDeclined = !hasText(line, start, nameEnd, 'data') || !large.accepts(line.subarray(value));
    if (this.#isDeclined) return;
    this.#isFirstLine = false;
    this.#lineCount = 1;
    this.#isInTakenLine = true;
    this.#handOverPiece(this.#line.take().subarray(value));
  }

  #handOverPiece(piece: Buffer): void {
    this.#takenBytes += piece.length;
    if (piece.length > 0) this.#largeHandler?.onPiece(piece);
  }

  #onLine(bytes: Buffer, from: number, end: number): void {
    let start = from;
    if (this.#isFirstLine) {
      this.#isFirstLine = false;
      start = afterByteOrderMark(bytes, start, end);
    }
    if (start === end) {
      this.#dispatch();
      return;
    }
    let nameEnd = start;
    const nameEndMax = Math.min(end, start + FIELD_NAME_BYTES_MAX + 1);
    while (nameEnd < nameEndMax && bytes[nameEnd] !== COLON) nameEnd++;
    let value = Math.min(nameEnd + 1, end);
    if (value < end && bytes[value] === SPACE) value++;
    // A comment has an empty field name, and is ignored like any unknown field.
    if (hasText(bytes, start, nameEnd, 'data')) this.#onData(bytes, value, end);
    else if (hasText(bytes, start, nameEnd, 'event')) this.#onEventName(bytes, value, end);
    else if (hasText(bytes, start, nameEnd, 'id')) this.#onId(bytes, value, end);
    else if (hasText(bytes, start, nameEnd, 'retry')) this.#onRetry(bytes, value, end);
  }

  #onData(bytes: Buffer, start: number, end: number): void {
    if (this.#takenBytes > 0) {
      this.#handOverPiece(LINE_FEED);
      this.#handOverPiece(bytes.subarray(start, end));
      return;
    }
    if (this.#lineCount++ === 0) {
      this.#firstLine = bytes.subarray(start, end);
      return;
    }
    this.#copyFirstLine();
    this.#data.add(LINE_FEED, 0);
    this.#data.add(bytes.subarray(start, end), 0);
  }

  #onEventName(bytes: Buffer, start: number, end: number): void {
    this.#eventName = hasText(bytes, start, end, 'message') ? '' : bytes.toString('utf8', start, keptEnd(start, end));
  }

  #onId(bytes: Buffer, start: number, end: number): void {
    const isKept = end === keptEnd(start, end);
    const id = isKept ? bytes.toString('utf8', start, end) : TOO_LONG_ID;
    if (!isKept || !id.includes('\0')) this.#eventId = id;
  }

  #onRetry(bytes: Buffer, start: number, end: number): void {
    if (end > keptEnd(start, end)) return;
    const digits = bytes.toString('latin1', start, end);
    if (/^[0-9]+$/.test(digits)) this.retryMs = Number(digits);
  }

  #copyFirstLine(): void {
    if (this.#firstLine.length > 0) this.#data.add(this.#firstLine, 0);
    this.#firstLine = NO_BYTES;
  }

  #dispatch(): void {
    const data = this.#data.length === 0 ? this.#firstLine : this.#data.take();
    const event = this.#eventName;
    this.lastEventId = this.#eventId;
    this.#firstLine = NO_BYTES;
    this.#lineCount = 0;
    this.#eventName = '';
    if (this.#takenBytes > 0) {
      this.#takenBytes = 0;
      this.#largeHandler?.onEnd();
    } else if (data.length > 0) {
      this.#onEvent(data, event, this.lastEventId);
    }
  }
}

/** Where the part of a value that is decoded ends: the whole value may be as long as an event. */
function keptEnd(start: number, end: number): number {
  return Math.min(end, start + EVENT_FIELD_BYTES_MAX);
}

/** The bytes without a byte order mark, which readers of JSON may ignore (RFC 8259, 8.1). */
export function withoutByteOrderMark(bytes: Buffer): Buffer {
  const start = afterByteOrderMark(bytes, 0, bytes.length);
  return start === 0 ? bytes : bytes.subarray(start);
}

function afterByteOrderMark(bytes: Buffer, start: number, end: number): number {
  const isMark = bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf;
  return isMark && end - start >= 3 ? start + 3 : start;
}

function hasText(bytes: Buffer, start: number, end: number, text: string): boolean {
  if (end - start !== text.length) return false;
  for (let index = 0; index < text.length; index++) {
    if (bytes[start + index] !== text.charCodeAt(index)) return false;
  }
  return true;
}

/** The texts before an event's data (`eventHead`), in place of a line break in it (`nextData`), and after it (`eventEnd`). */
export const eventHeadText = 'event: message\ndata: ';
const eventHead = Buffer.from(eventHeadText);
const nextData = Buffer.from('\ndata: ');
export const eventEnd = Buffer.from('\n\n');

/** A comment that only shows that the stream is alive. */
export const keepAliveComment = Buffer.from(': keep-alive\n\n');

/** Encodes data as an event, in a copy; the receiver sees line breaks as LF. Large data is sent in pieces (exchange/piece-source.ts). */
export function encodeEvent(data: Buffer): Buffer {
  if (hasLineBreak(data)) return Buffer.concat([eventHead, encodeLineBreaks(data, 0), eventEnd]);
  const event = Buffer.allocUnsafe(eventHead.length + data.length + eventEnd.length);
  eventHead.copy(event, 0);
  data.copy(event, eventHead.length);
  eventEnd.copy(event, event.length - eventEnd.length);
  return event;
}

/** Encodes data as an event with other lines before it. @param head these lines, in ASCII, and `data: ` at the end. */
export function encodeEventAfter(head: string, data: Buffer): Buffer {
  const lines = hasLineBreak(data) ? encodeLineBreaks(data, 0) : data;
  return Buffer.concat([Buffer.from(head), lines, eventEnd]);
}

/** What follows the first id of a stream: the delay before a client reconnects (S09), and no data. */
export const primingEventText = `retry: ${STREAM_RETRY_MS}\ndata: \n\n`;
const primingRest = Buffer.from(primingEventText);

/**
 * Encodes data as an event whose id ends with its position; for the first of a stream, also an event before it with only an id and the
 * delay. Heads are written byte by byte, which for so few bytes is faster than a call out of JavaScript.
 * @param idText the line of the id up to the position, in ASCII: `id: 3kT0_`.
 */
export function encodeNumberedEvent(idText: string, position: number, isFirst: boolean, data: Buffer): Buffer {
  const lines = hasLineBreak(data) ? encodeLineBreaks(data, 0) : data;
  const primingBytes = isFirst ? idLineBytes(idText, 0) + primingRest.length : 0;
  const headBytes = primingBytes + idLineBytes(idText, position) + eventHead.length;
  const event = Buffer.allocUnsafe(headBytes + lines.length + eventEnd.length);
  let at = isFirst ? writeBytes(event, writeId(event, 0, idText, 0), primingRest) : 0;
  at = writeBytes(event, writeId(event, at, idText, position), eventHead);
  lines.copy(event, at);
  writeBytes(event, at + lines.length, eventEnd);
  return event;
}

function idLineBytes(idText: string, position: number): number {
  return idText.length + digitCountOf(position) + 1;
}

function digitCountOf(number: number): number {
  let digits = 1;
  for (let limit = 10; number >= limit; limit *= 10) digits++;
  return digits;
}

function writeId(bytes: Buffer, from: number, idText: string, position: number): number {
  for (let index = 0; index < idText.length; index++) bytes[from + index] = idText.charCodeAt(index);
  const start = from + idText.length;
  const end = start + digitCountOf(position);
  let rest = position;
  for (let at = end - 1; at >= start; at--) {
    bytes[at] = ZERO + (rest % 10);
    rest = Math.floor(rest / 10);
  }
  bytes[end] = LF;
  return end + 1;
}

function writeBytes(bytes: Buffer, from: number, piece: Buffer): number {
  for (let index = 0; index < piece.length; index++) bytes[from + index] = piece[index]!;
  return from + piece.length;
}

export function hasLineBreak(data: Buffer): boolean {
  return data.includes(LF) || data.includes(CR);
}

/** Encodes the data from `from` on as lines of an event, without an object per line. */
export function encodeLineBreaks(data: Buffer, from: number): Buffer {
  let breaks = 0;
  for (let at = from; at < data.length; at++) if (data[at] === LF || data[at] === CR) breaks++;
  const lines = Buffer.allocUnsafe(data.length - from + breaks * (nextData.length - 1));
  let to = 0;
  for (let at = from; at < data.length; at++) {
    const byte = data[at]!;
    if (byte !== LF && byte !== CR) {
      lines[to++] = byte;
      continue;
    }
    for (let index = 0; index < nextData.length; index++) lines[to++] = nextData[index]!;
    if (byte === CR && data[at + 1] === LF) at++;
  }
  return lines.subarray(0, to);
}
