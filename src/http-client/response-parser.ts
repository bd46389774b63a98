// Parses HTTP/1.1 responses strictly, in pieces of any size (RFC 9112). What two parsers could interpret differently is refused: a wrong
// guess about where a response ends would give a client the response to another. Hot path: the head is parsed in place, and the few headers
// that matter are told apart by length before anything is decoded.
//
//   done ── begin ──> head ── a length ──> length ── all of it ──> done
//   head ── chunked ──> chunk-size ── a chunk ──> chunk-data ── all of it ──> chunk-end ── its line ──> chunk-size
//   chunk-size ── the last chunk ──> trailer ── an empty line ──> done
//   head ── neither ──> until-close ── the connection ends ──> done
//   head ── no body ──> done
//
// An interim response (1xx) leaves the state at `head`. For speed, the state is assigned directly.
import { HTTP_TOKEN, limits, REMEMBERED_HEADER_CHARS_MAX } from '../shared/index.js';
import { connectionBounds } from './connection-bounds.js';
import type { UpstreamHandler } from './http-upstream.js';

/** Whether a refusal is temporary, so that the response may have `retry-after`. */
export function isTemporaryRefusal(status: number): boolean {
  return status === 429 || status === 503;
}

/** An encoding in words for callers; `''` for none. None is requested, but some servers encode a response all the same. */
export function encodingInWords(value: string): string {
  if (value === '' || value.toLowerCase() === 'identity') return '';
  return /^[\w-]{1,32}$/.test(value) ? value : 'unknown';
}

/** `content-type` values whose media type is cached, per worker. Beyond that, all are forgotten. */
const MEDIA_TYPES_MAX = 256;

/** Receives the response. `call` is read anew for each piece, because a handler may abort the call after any piece. */
export interface ResponseReceiver {
  readonly call: { readonly handler: Pick<UpstreamHandler, 'onHead' | 'onData'> | undefined } | undefined;
}

type State = 'head' | 'length' | 'chunk-size' | 'chunk-data' | 'chunk-end' | 'trailer' | 'until-close' | 'done';

/** Returned by `push` for bytes that cannot be a response. */
export const INVALID = -1;

const CR = 0x0d;
const LF = 0x0a;
const SPACE = 0x20;
const TAB = 0x09;
const COLON = 0x3a;

/** The rest of a body that ends with its connection: longer than any chunk, and a small integer, as other lengths are. */
const BYTES_WITHOUT_END = 0x3fffffff;

export class ResponseParser {
  readonly #receiver: ResponseReceiver;
  /** The state, which is `done` before the first `begin`, too. Changed only here, like `canReuseConnection`, `idleMsMax` and `encoding`. */
  state: State = 'done';
  #partial: Buffer | undefined;
  #remainingBytes = 0;
  #trailerBytes = 0;
  canReuseConnection = true;
  /** The last value of `keep-alive`, from which `idleMsMax` was computed: usually, all responses have one value. */
  #keepAliveValue = '';
  /** How long a free connection is kept: less than the backend announces. */
  idleMsMax: number = connectionBounds.upstreamConnectionIdleMs;
  /** The encoding because of which a response was refused; `''` if none was. */
  encoding = '';

  #status = 0;
  #contentType = '';
  #sessionId = '';
  #statusHeader = '';
  #lengthBytes = -1;
  #isChunked = false;

  constructor(receiver: ResponseReceiver) {
    this.#receiver = receiver;
  }

  begin(): void {
    this.state = 'head';
    this.canReuseConnection = true;
    this.#partial = undefined;
  }

  /**
   * Takes bytes; of an event stream only some, because each event may cost much: the caller pushes the rest.
   * @returns how many were taken; fewer in the state `done`, where the others belong to no response. `INVALID` if they cannot be a
   *   response: then the parser must not be used any more.
   */
  push(chunk: Buffer): number {
    let at = 0;
    while (at < chunk.length && !(at >= connectionBounds.upstreamEventBytesAtOnce && this.#isEventStream)) {
      switch (this.state) {
        case 'head':
          at = this.#onHeadBytes(chunk, at);
          break;
        case 'length':
        case 'chunk-data':
          at = this.#onBodyBytes(chunk, at, this.#remainingBytes);
          break;
        case 'chunk-size':
          at = this.#onLine(chunk, at, connectionBounds.upstreamChunkLineBytesMax);
          break;
        case 'chunk-end':
          at = this.#onLine(chunk, at, 0);
          break;
        case 'trailer':
          at = this.#onLine(chunk, at, limits.upstreamHeaderBytesMax);
          break;
        case 'until-close':
          at = this.#onBodyBytes(chunk, at, BYTES_WITHOUT_END);
          break;
        case 'done':
          return at;
      }
      if (at === INVALID) return INVALID;
    }
    return at;
  }

  /** Called when the connection has ended. @returns whether that completes the response: only one without a length and without chunks. */
  end(): boolean {
    if (this.state !== 'until-close') return false;
    this.state = 'done';
    return true;
  }

  get #isEventStream(): boolean {
    return this.#contentType === 'text/event-stream';
  }

  /** Consumes the bytes of the head. @returns the index after these, or `INVALID`, like `#onBodyBytes` and `#onLine`. */
  #onHeadBytes(chunk: Buffer, at: number): number {
    const partial = this.#partial;
    if (partial === undefined) {
      const end = chunk.indexOf(HEAD_END, at);
      if (end !== -1) return this.#parseHead(chunk, at, end + 2) ? end + 4 : INVALID;
      return this.#keepHead(Buffer.from(chunk.subarray(at)), 0) ? chunk.length : INVALID;
    }
    const joined = Buffer.concat([partial, chunk.subarray(at)]);
    const end = joined.indexOf(HEAD_END, Math.max(0, partial.length - 3));
    if (end === -1) return this.#keepHead(joined, partial.length) ? chunk.length : INVALID;
    this.#partial = undefined;
    return this.#parseHead(joined, 0, end + 2) ? at + end + 4 - partial.length : INVALID;
  }

  /** Keeps the beginning of a head. @param seenBytes how many were checked before. @returns false if the bytes cannot become a head. */
  #keepHead(bytes: Buffer, seenBytes: number): boolean {
    this.#partial = bytes;
    const known = Math.min(bytes.length, PROTOCOL.length);
    if (bytes.length > limits.upstreamHeaderBytesMax || bytes.compare(PROTOCOL, 0, known, 0, known) !== 0) return false;
    // A head whose lines end in a lone LF would never be complete, and the call would time out.
    for (let lf = bytes.indexOf(LF, seenBytes); lf !== -1; lf = bytes.indexOf(LF, lf + 1))
      if (bytes[lf - 1] !== CR) return false;
    return true;
  }

  /** @param end the index after the end of the last header line. */
  #parseHead(bytes: Buffer, start: number, end: number): boolean {
    if (end - start > limits.upstreamHeaderBytesMax) return false;
    const lineEnd = bytes.indexOf(CR, start);
    if (!this.#parseStatusLine(bytes, start, lineEnd)) return false;
    for (let at = lineEnd + 2; at < end;) {
      const next = this.#parseHeader(bytes, at);
      if (next === INVALID) return false;
      at = next;
    }
    return this.#onHead();
  }

  #parseStatusLine(bytes: Buffer, start: number, end: number): boolean {
    const line = bytes.toString('latin1', start, end);
    if (bytes[end + 1] !== LF || !STATUS_LINE.test(line)) return false;
    this.#status = Number(line.slice(9, 12));
    this.#contentType = '';
    this.#sessionId = '';
    this.#statusHeader = '';
    this.#lengthBytes = -1;
    this.#isChunked = false;
    this.canReuseConnection = line.startsWith('HTTP/1.1');
    return true;
  }

  /** Parses a header. @returns where the next line begins, or `INVALID`. */
  #parseHeader(bytes: Buffer, start: number): number {
    let colon = start;
    while (byteKinds[bytes[colon]!] === TOKEN) colon += 1;
    // The name is empty, white space precedes the colon, or the line is folded.
    if (colon === start || bytes[colon] !== COLON) return INVALID;
    let lineEnd = bytes.indexOf(CR, colon);
    if (lineEnd === -1 || bytes[lineEnd + 1] !== LF) return INVALID;
    const next = lineEnd + 2;
    let valueStart = colon + 1;
    while (valueStart < lineEnd && byteKinds[bytes[valueStart]!] === BLANK) valueStart += 1;
    while (lineEnd > valueStart && byteKinds[bytes[lineEnd - 1]!] === BLANK) lineEnd -= 1;
    if (!isFieldText(bytes, valueStart, lineEnd)) return INVALID;
    return this.#takeHeader(bytes, start, colon, valueStart, lineEnd) ? next : INVALID;
  }

  #takeHeader(bytes: Buffer, nameStart: number, nameEnd: number, start: number, end: number): boolean {
    switch (nameEnd - nameStart) {
      case 8:
        if (this.#status >= 300 && this.#status < 400 && hasName(bytes, nameStart, 'location'))
          this.#statusHeader = bytes.toString('latin1', start, end);
        break;
      case 10:
        this.#takeTenCharHeader(bytes, nameStart, start, end);
        break;
      case 11:
        if (isTemporaryRefusal(this.#status) && hasName(bytes, nameStart, 'retry-after'))
          this.#statusHeader = bytes.toString('latin1', start, end);
        break;
      case 12:
        if (hasName(bytes, nameStart, 'content-type'))
          this.#contentType = mediaType(bytes.toString('latin1', start, end));
        break;
      case 14:
        if (hasName(bytes, nameStart, 'content-length')) return this.#onLength(bytes.toString('latin1', start, end));
        if (hasName(bytes, nameStart, 'mcp-session-id')) {
          if (end - start > connectionBounds.upstreamSessionIdBytesMax) return false;
          this.#sessionId = bytes.toString('latin1', start, end);
        }
        break;
      case 16:
        return this.#takeSixteenCharHeader(bytes, nameStart, start, end);
      case 17:
        if (hasName(bytes, nameStart, 'transfer-encoding')) return this.#onCoding(bytes.toString('latin1', start, end));
        break;
      default:
    }
    return true;
  }

  #takeTenCharHeader(bytes: Buffer, nameStart: number, start: number, end: number): void {
    if (hasName(bytes, nameStart, 'connection')) this.#onConnection(bytes.toString('latin1', start, end));
    else if (hasName(bytes, nameStart, 'keep-alive')) this.#onKeepAlive(bytes.toString('latin1', start, end));
    else if (this.#status >= 200 && this.#status < 300 && hasName(bytes, nameStart, 'set-cookie'))
      this.#statusHeader += (this.#statusHeader && '\n') + bytes.toString('latin1', start, end);
  }

  #takeSixteenCharHeader(bytes: Buffer, nameStart: number, start: number, end: number): boolean {
    // Nobody reads what comes with 202.
    if (hasName(bytes, nameStart, 'content-encoding') && this.#status !== 202)
      this.encoding = encodingInWords(bytes.toString('latin1', start, end));
    else if ((this.#status === 401 || this.#status === 403) && hasName(bytes, nameStart, 'www-authenticate'))
      this.#statusHeader += (this.#statusHeader && ', ') + bytes.toString('latin1', start, end);
    return this.encoding === '';
  }

  #onConnection(value: string): void {
    if (value !== 'keep-alive' && /(^|,)\s*close\s*(,|$)/i.test(value)) this.canReuseConnection = false;
  }

  #onKeepAlive(value: string): void {
    if (value === this.#keepAliveValue) return;
    this.#keepAliveValue = value;
    const seconds = /(?:^|[,\s])timeout=(\d{1,6})/i.exec(value)?.[1];
    const { upstreamConnectionIdleMs, upstreamConnectionIdleMsMax, upstreamKeepAliveMarginMs } = connectionBounds;
    this.idleMsMax =
      seconds === undefined
        ? upstreamConnectionIdleMs
        : Math.min(upstreamConnectionIdleMsMax, Number(seconds) * 1_000 - upstreamKeepAliveMarginMs);
  }

  #onLength(value: string): boolean {
    // Equal ones count as one (RFC 9110, 8.6); different ones are a sign of response smuggling.
    const digits = LENGTHS.exec(value)?.[1];
    if (digits === undefined || (this.#lengthBytes !== -1 && this.#lengthBytes !== Number(digits))) return false;
    this.#lengthBytes = Number(digits);
    return true;
  }

  #onCoding(value: string): boolean {
    if (this.#isChunked || value.toLowerCase() !== 'chunked') return false;
    this.#isChunked = true;
    return true;
  }

  #onHead(): boolean {
    const status = this.#status;
    if (status < 200) {
      // The final response follows. A protocol switch was not requested.
      return status !== 101 && !this.#isChunked && this.#lengthBytes <= 0;
    }
    if (this.#isChunked && this.#lengthBytes !== -1) return false;
    const hasBody = status !== 204 && status !== 304;
    if (!hasBody || this.#lengthBytes === 0) this.state = 'done';
    else if (this.#isChunked) this.state = 'chunk-size';
    else if (this.#lengthBytes > 0) {
      this.state = 'length';
      this.#remainingBytes = this.#lengthBytes;
    } else {
      this.state = 'until-close';
      this.canReuseConnection = false;
    }
    const bodyBytes = hasBody ? this.#lengthBytes : 0;
    this.#receiver.call?.handler?.onHead(status, this.#contentType, this.#sessionId, bodyBytes, this.#statusHeader);
    return true;
  }

  #onBodyBytes(chunk: Buffer, at: number, leftBytes: number): number {
    const eventBytesMax = connectionBounds.upstreamEventBytesAtOnce;
    const bytesMax = chunk.length > eventBytesMax && this.#isEventStream ? eventBytesMax : chunk.length;
    const end = Math.min(chunk.length, at + Math.min(leftBytes, bytesMax));
    this.#remainingBytes = leftBytes - (end - at);
    if (this.#remainingBytes === 0) this.state = this.state === 'chunk-data' ? 'chunk-end' : 'done';
    this.#receiver.call?.handler?.onData(at === 0 && end === chunk.length ? chunk : chunk.subarray(at, end));
    return end;
  }

  /** A line is a chunk size, the end of a chunk, or a trailer field. */
  #onLine(chunk: Buffer, at: number, lineBytesMax: number): number {
    const lf = chunk.indexOf(LF, at);
    const end = lf === -1 ? chunk.length : lf + 1;
    const partial = this.#partial;
    const line = partial === undefined ? chunk.subarray(at, end) : Buffer.concat([partial, chunk.subarray(at, end)]);
    if (line.length > lineBytesMax + 2) return INVALID;
    if (lf === -1) {
      this.#partial = partial === undefined ? Buffer.from(line) : line;
      return end;
    }
    this.#partial = undefined;
    if (line.length < 2 || line[line.length - 2] !== CR) return INVALID;
    return this.#onLineText(line.toString('latin1', 0, line.length - 2)) ? end : INVALID;
  }

  #onLineText(text: string): boolean {
    if (this.state === 'chunk-end') {
      this.state = 'chunk-size';
      return text === '';
    }
    if (this.state === 'chunk-size') return this.#onChunkSize(text);
    this.#trailerBytes += text.length;
    if (text !== '') return this.#trailerBytes <= limits.upstreamHeaderBytesMax && TRAILER_FIELD.test(text);
    this.state = 'done';
    return true;
  }

  #onChunkSize(text: string): boolean {
    const size = CHUNK_SIZE.exec(text)?.[1];
    if (size === undefined) return false;
    this.#remainingBytes = Number.parseInt(size, 16);
    this.state = this.#remainingBytes === 0 ? 'trailer' : 'chunk-data';
    this.#trailerBytes = 0;
    return true;
  }
}

const QUOTED = '"(?:[\\t \\x21\\x23-\\x5b\\x5d-\\x7e\\x80-\\xff]|\\\\[\\t -~\\x80-\\xff])*"';
/** A chunk's size line (RFC 9112, 7.1.1). Extensions are ignored, but malformed ones are refused: parsers differ about them. */
const CHUNK_SIZE = new RegExp(
  `^([0-9a-fA-F]{1,8})(?:[ \\t]*;[ \\t]*${HTTP_TOKEN}(?:[ \\t]*=[ \\t]*(?:${HTTP_TOKEN}|${QUOTED}))?)*$`,
);

const TRAILER_FIELD = new RegExp(`^${HTTP_TOKEN}:[\\t\\x20-\\x7e\\x80-\\xff]*$`);

/** The value of `content-length`; a sender or proxy may have repeated it. */
const LENGTHS = /^(\d{1,15})(?:[\t ]*,[\t ]*\1)*$/;

/** A status line. Its reason has no lone CR, LF or NUL, about which parsers differ. */
const STATUS_LINE = /^HTTP\/1\.[01] [1-9]\d\d(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const PROTOCOL = Buffer.from('HTTP/1.');
const HEAD_END = Buffer.from('\r\n\r\n');

/** Kinds of bytes: those of a header's name (RFC 9110, 5.6.2), and the white space around its value. */
const TOKEN = 1;
const BLANK = 2;
const byteKinds = new Uint8Array(256);
for (const char of "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") {
  byteKinds[char.charCodeAt(0)] = TOKEN;
}
byteKinds[SPACE] = byteKinds[TAB] = BLANK;

/** Whether a header's value has no control characters: parsers differ about a lone CR, LF or NUL. */
function isFieldText(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at]!;
    if ((byte < SPACE && byte !== TAB) || byte === 0x7f) return false;
  }
  return true;
}

function hasName(bytes: Buffer, start: number, lowerCaseName: string): boolean {
  for (let index = 0; index < lowerCaseName.length; index += 1) {
    const expected = lowerCaseName.charCodeAt(index);
    const byte = bytes[start + index]!;
    // A capital differs in one bit from a small letter; in `-`, this bit is set already.
    if ((byte | 0x20) !== expected) return false;
  }
  return true;
}

const MESSAGE_TYPES = ['application/json', 'text/event-stream'];

/** Media types by `content-type` value: most responses cost one look-up. */
const mediaTypes = new Map<string, string>();

function mediaType(value: string): string {
  if (value.length > REMEMBERED_HEADER_CHARS_MAX) return parseMediaType(value);
  const known = mediaTypes.get(value);
  if (known !== undefined) return known;
  const type = parseMediaType(value);
  if (mediaTypes.size >= MEDIA_TYPES_MAX) mediaTypes.clear();
  mediaTypes.set(value, type);
  return type;
}

function parseMediaType(value: string): string {
  const type = value.trim().toLowerCase();
  // As in Python's client; some proxies repeat the value: "application/json, application/json".
  return MESSAGE_TYPES.find((known) => type.startsWith(known)) ?? type.split(';')[0]!.trimEnd();
}
