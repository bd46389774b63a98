// What comes from Redis, before ioredis looks at it: whatever is between it and us may answer anything, and must not end the process. ioredis
// makes an array as long as a reply says that it is, before there is anything in it, and throws what it cannot read where nobody can
// catch it. Cold: a look at each head of a reply; what is between the heads is passed over.
import { Redis, type Cluster } from 'ioredis';
import dataHandler from 'ioredis/built/DataHandler.js';
import { limits } from '../shared/limits.js';

/** Items of arrays that are still to come, of all that are under way together. The longest replies are pages of keys, and all slots of a cluster. */
const ITEMS_DUE_MAX = 1_000_000;
/** Arrays within arrays: the deepest replies are the slots of a cluster. */
const DEPTH_MAX = 16;
/** Of a reply that has no length before it: a status, a number, the words of a refusal. */
const LINE_BYTES_MAX = 65_536;
const LF = 0x0a;
const LINE_END_BYTES = 2;

/** In place of a string that is longer than anything that the gateway reads. */
const TOO_LARGE = `TOOLARGE a value is larger than ${limits.redisValueBytesMax} bytes`;
const NO_REPLY = 'Redis answers what is no reply';
/** As ioredis says it, with what was answered behind it. */
const UNASKED_BEGINNING = 'Command queue state error';

export class ReplyScan {
  /** Of a string that has begun, its end included. */
  #stringBytesLeft = 0;
  /** Whether that goes nowhere. */
  #isCut = false;
  #line = '';
  #itemsDue = 0;
  /** Of each array that is under way, the outermost first. */
  readonly #due: number[] = [];
  readonly #valueBytesMax: number;

  constructor(valueBytesMax: number = limits.redisValueBytesMax) {
    this.#valueBytesMax = valueBytesMax;
  }

  /**
   * @returns what of it is to be read: without the beginning of a head, which comes with its rest, and with the refusal of what is too
   *   large in its place. `undefined` for what no Redis says; then nothing more may be given to it.
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
    // What is not there has the length -1.
    if (!Number.isSafeInteger(length) || length < -1) return false;
    if (kind === '$') this.#stringBytesLeft = length === -1 ? 0 : length + LINE_END_BYTES;
    else if (length > 0) this.#due.push(length);
    this.#isCut = kind === '$' && length > this.#valueBytesMax;
    if (kind === '*') this.#itemsDue += Math.max(0, length);
    return this.#itemsDue <= ITEMS_DUE_MAX && this.#due.length <= DEPTH_MAX;
  }

  /** An item has begun, of the innermost array that is not complete. */
  #takeOne(): void {
    while (this.#due.at(-1) === 0) this.#due.pop();
    if (this.#due.length === 0) return;
    this.#due[this.#due.length - 1]! -= 1;
    this.#itemsDue -= 1;
  }
}

/** Ends its connections over what no Redis says. */
export function watchReplies(redis: Redis | Cluster): void {
  if (redis instanceof Redis) redis.on('connect', () => watchStream(redis.stream));
  else redis.on('+node', (node: Redis) => watchReplies(node));
}

function watchStream(stream: Redis['stream']): void {
  const scan = new ReplyScan();
  const emit = stream.emit.bind(stream) as (event: string | symbol, ...values: unknown[]) => boolean;
  stream.emit = (event: string | symbol, ...values: unknown[]) => {
    const [chunk] = values;
    if (event !== 'data' || !Buffer.isBuffer(chunk)) return emit(event, ...values);
    const passed = scan.pass(chunk);
    if (passed === undefined) stream.destroy(new Error(NO_REPLY));
    else if (passed.length > 0) emit(event, passed);
    return true;
  };
}

/** Whether a command was refused because what it would have been answered with is too large. */
export function isTooLarge(error: unknown): boolean {
  return error instanceof Error && error.message === TOO_LARGE;
}

/** Whether a connection ended over what no Redis answers: what it has answered before may have been meant for other commands. */
export function isGarbled(error: unknown): boolean {
  return error instanceof Error && (error.message === NO_REPLY || error.message.startsWith(UNASKED_BEGINNING));
}

interface Handler {
  dispatch(take: () => void): void;
  returnFatalError(error: unknown): void;
}

/** ioredis throws it on the next tick: the process would end over one reply. A connection with such replies is of no use. */
const { prototype } = dataHandler.default as unknown as { readonly prototype: Handler };
prototype.dispatch = function (this: Handler, take) {
  try {
    take();
  } catch (error) {
    this.returnFatalError(error);
  }
};
