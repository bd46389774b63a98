// Checks replies from Redis before ioredis parses them: whatever answers at that address may send anything, and must not end the process.
// ioredis allocates an array as long as a reply claims before any item has arrived, and throws on what it cannot parse where nothing can
// catch it. Cold path: scans the head of each reply, and skips over the bytes in between.
import { TLSSocket } from 'node:tls';
import { Redis, type Cluster } from 'ioredis';
import dataHandler from 'ioredis/built/DataHandler.js';
import { limits } from '../shared/limits.js';

/**
 * Items of arrays that a Redis has announced and not sent yet, all arrays together; the longest replies are pages of keys, and all slots
 * of a cluster. Beyond it, the connection is closed, and opened again.
 */
const REDIS_ITEMS_DUE_MAX = 1_000_000;

/** Nesting depth of arrays: the deepest replies are the slots of a cluster. */
const DEPTH_MAX = 16;
/** Length of a reply without a length prefix: a status, a number, an error message. */
const LINE_BYTES_MAX = 65_536;
const LF = 0x0a;
const LINE_END_BYTES = 2;

/** Replaces a string longer than anything that the gateway reads. */
const TOO_LARGE = `TOOLARGE a value is larger than ${limits.redisValueBytesMax} bytes`;
const NO_REPLY = 'Redis sent an invalid reply';
/** What a Redis does that gets plain text and expects TLS. */
const NO_ANSWER = 'it closed the connection without an answer: if it expects TLS, give --redis-mode tls or mtls';
/** The start of ioredis's error message, which continues with the reply. */
const UNASKED_BEGINNING = 'Command queue state error';

export class ReplyScan {
  /** Bytes left of the current string, including its line end. */
  #stringBytesLeft = 0;
  /** Whether the current string is dropped. */
  #isCut = false;
  #line = '';
  #itemsDue = 0;
  /** Items left in each array being received, outermost first. */
  readonly #due: number[] = [];
  readonly #valueBytesMax: number;

  constructor(valueBytesMax: number = limits.redisValueBytesMax) {
    this.#valueBytesMax = valueBytesMax;
  }

  /**
   * @returns the bytes to pass to ioredis: an incomplete head is held back until its rest arrives, and a value that is too large is
   *   replaced by an error. `undefined` for bytes that are not a Redis reply; then the scan must not be used again.
   */
  pass(chunk: Buffer): Buffer | undefined {
    const pieces: Buffer[] = [];
    let from = 0;
    const passUntil = (end: number): void => void (end > from && pieces.push(chunk.subarray(from, end)));
    for (let at = 0; at < chunk.length;) {
      if (this.#stringBytesLeft > 0) {
        const bytes = Math.min(this.#stringBytesLeft, chunk.length - at);
        this.#stringBytesLeft -= bytes;
        at += bytes;
        if (this.#isCut) from = at;
        continue;
      }
      const lf = chunk.indexOf(LF, at);
      const end = lf === -1 ? chunk.length : lf + 1;
      if (this.#line.length + end - at > LINE_BYTES_MAX) return undefined;
      const isContinued = this.#line !== '';
      this.#line += chunk.toString('latin1', at, end);
      const line = this.#line;
      if (lf !== -1 && !this.#acceptsLine()) return undefined;
      if (lf === -1 || isContinued || this.#isCut) {
        passUntil(at);
        from = end;
        if (lf !== -1) pieces.push(Buffer.from(this.#isCut ? `-${TOO_LARGE}\r\n` : line, 'latin1'));
      }
      at = end;
    }
    passUntil(chunk.length);
    const [first] = pieces;
    return pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces);
  }

  #acceptsLine(): boolean {
    const line = this.#line;
    this.#line = '';
    this.#takeOne();
    const kind = line[0] ?? '';
    this.#isCut = false;
    if (kind !== '$' && kind !== '*') return kind === '+' || kind === '-' || kind === ':';
    const length = Number(line.slice(1, -LINE_END_BYTES));
    // A null value has length -1.
    if (!Number.isSafeInteger(length) || length < -1) return false;
    if (kind === '$') this.#stringBytesLeft = length === -1 ? 0 : length + LINE_END_BYTES;
    else if (length > 0) this.#due.push(length);
    this.#isCut = kind === '$' && length > this.#valueBytesMax;
    if (kind === '*') this.#itemsDue += Math.max(0, length);
    return this.#itemsDue <= REDIS_ITEMS_DUE_MAX && this.#due.length <= DEPTH_MAX;
  }

  /** Counts the start of an item against the innermost incomplete array. */
  #takeOne(): void {
    while (this.#due.at(-1) === 0) this.#due.pop();
    if (this.#due.length === 0) return;
    this.#due[this.#due.length - 1]! -= 1;
    this.#itemsDue -= 1;
  }
}

/** Ends a connection on which anything but a Redis reply arrives. */
export function watchReplies(redis: Redis | Cluster): void {
  if (redis instanceof Redis) redis.on('connect', () => watchStream(redis.stream));
  else redis.on('+node', (node: Redis) => watchReplies(node));
}

function watchStream(stream: Redis['stream']): void {
  const scan = new ReplyScan();
  let isSilent = !(stream instanceof TLSSocket);
  const emit = stream.emit.bind(stream) as (event: string | symbol, ...values: unknown[]) => boolean;
  stream.emit = (event: string | symbol, ...values: unknown[]) => {
    const [chunk] = values;
    if (isSilent && event === 'error') return emit(event, new Error(NO_ANSWER));
    if (isSilent && event === 'end' && !stream.writableEnded) stream.destroy(new Error(NO_ANSWER));
    if (event === 'data') isSilent = false;
    if (event !== 'data' || !Buffer.isBuffer(chunk)) return emit(event, ...values);
    const passed = scan.pass(chunk);
    if (passed === undefined) stream.destroy(new Error(NO_REPLY));
    else if (passed.length > 0) emit(event, passed);
    return true;
  };
}

/** Whether a command failed because its reply was too large. */
export function isReplyTooLarge(error: unknown): boolean {
  return error instanceof Error && error.message === TOO_LARGE;
}

/** Whether a connection ended because of an impossible reply: its earlier replies may have belonged to other commands. */
export function isGarbled(error: unknown): boolean {
  return error instanceof Error && (error.message === NO_REPLY || error.message.startsWith(UNASKED_BEGINNING));
}

interface Handler {
  dispatch(take: () => void): void;
  returnFatalError(error: unknown): void;
}

/** ioredis throws on the next tick, which would end the process over one reply; fail only that connection, which is unusable. */
const { prototype } = dataHandler.default as unknown as { readonly prototype: Handler };
prototype.dispatch = function (this: Handler, take) {
  try {
    take();
  } catch (error) {
    this.returnFatalError(error);
  }
};
