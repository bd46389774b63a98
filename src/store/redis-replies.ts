// What comes from Redis, before ioredis looks at it: whatever is between it and us may answer anything, and must not end the process. ioredis
// makes an array as long as a reply says that it is, before there is anything in it, and throws what it cannot read where nobody can
// catch it. Cold: a look at each head of a reply; what is between the heads is passed over.
import { Redis, type Cluster } from 'ioredis';
import dataHandler from 'ioredis/built/DataHandler.js';

/** Items of arrays that are still to come, of all that are under way together. The longest replies are pages of keys, and all slots of a cluster. */
const ITEMS_DUE_MAX = 1_000_000;
/** Arrays within arrays: the deepest replies are the slots of a cluster. */
const DEPTH_MAX = 16;
/** Of a reply that has no length before it: a status, a number, the words of a refusal. */
const LINE_BYTES_MAX = 65_536;
const LF = 0x0a;
const LINE_END_BYTES = 2;

export class ReplyScan {
  /** Of a string that has begun, its end included. */
  #stringBytesLeft = 0;
  #line = '';
  #itemsDue = 0;
  /** Of each array that is under way, the outermost first. */
  readonly #due: number[] = [];

  /** @returns false for what no Redis says; then nothing more may be given to it. */
  accepts(chunk: Buffer): boolean {
    for (let at = 0; at < chunk.length;) {
      if (this.#stringBytesLeft > 0) {
        const bytes = Math.min(this.#stringBytesLeft, chunk.length - at);
        this.#stringBytesLeft -= bytes;
        at += bytes;
        continue;
      }
      const lf = chunk.indexOf(LF, at);
      const end = lf === -1 ? chunk.length : lf + 1;
      if (this.#line.length + end - at > LINE_BYTES_MAX) return false;
      this.#line += chunk.toString('latin1', at, end);
      at = end;
      if (lf !== -1 && !this.#acceptsLine()) return false;
    }
    return true;
  }

  #acceptsLine(): boolean {
    const line = this.#line;
    this.#line = '';
    this.#takeOne();
    const kind = line[0] ?? '';
    if (kind !== '$' && kind !== '*') return kind === '+' || kind === '-' || kind === ':';
    const length = Number(line.slice(1, -LINE_END_BYTES));
    // What is not there has the length -1.
    if (!Number.isSafeInteger(length) || length < -1) return false;
    if (kind === '$') this.#stringBytesLeft = length === -1 ? 0 : length + LINE_END_BYTES;
    else if (length > 0) this.#due.push(length);
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
    if (event !== 'data' || !Buffer.isBuffer(chunk) || scan.accepts(chunk)) return emit(event, ...values);
    stream.destroy(new Error('Redis answers what is no reply'));
    return true;
  };
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
