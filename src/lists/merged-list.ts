// A merged list as an answer: on the event loop if it is small, in the list thread if it is large. Exactly one of `respondTo` and `drop` is
// called, once.
import { largeMemory } from '../fair/index.js';
import { LIST_PART_BYTES } from '../upstream/index.js';
import { answerEncoded, type AnswerFrame, type Exchange } from '../exchange/index.js';
import type { ListMemory } from './list-memory.js';
import type { ListPool } from './list-pool.js';
import { type KeptOutcome, type NextPartOutcome } from './thread-tasks.js';

export interface MergedList {
  /** The first names of items that are left out, for the log. */
  readonly unreachableNames: readonly string[];
  /** Answers the exchange that the list was made for. @param isStreaming whether its event stream is open already. */
  respondTo(exchange: Exchange, isStreaming?: boolean): void;
  drop(): void;
}

const NO_BUFFER = new Uint8Array(0);

interface ListInThread extends KeptOutcome {
  readonly subject: string;
  readonly key: number;
  readonly framing: AnswerFrame['framing'];
}

export class SmallList implements MergedList {
  readonly unreachableNames: readonly string[];
  readonly #bytes: Buffer;

  constructor(bytes: Buffer, unreachableNames: readonly string[]) {
    this.#bytes = bytes;
    this.unreachableNames = unreachableNames;
  }

  respondTo(exchange: Exchange, isStreaming = false): void {
    answerEncoded(exchange, this.#bytes, undefined, isStreaming);
  }

  drop(): void {
    // Nothing is kept in the thread or counted in a share.
  }
}

type State = 'asking' | 'waiting' | 'over';

/**
 * A list in the list thread. Requests a part, writes it, and reuses its buffer for the next part: the event loop holds one part at a time.
 *
 *   asking ── a part, after which the exchange is full ──> waiting ── drained ──> asking
 *   asking ── the last part, or the thread failed: the caller is cut ──> over
 *   asking, waiting ── the caller went away, or its exchange refused the list ──> over
 */
export class LargeList implements MergedList {
  readonly #pool: ListPool;
  readonly #memory: ListMemory;
  readonly #list: ListInThread;
  #exchange: Exchange | undefined;
  /** The buffer of the part that was written most recently, until the exchange has drained. */
  #buffer: Uint8Array = NO_BUFFER;
  #sentBytes = 0;
  #state: State = 'asking';

  /** @param list its bytes count in the subject's share already. */
  constructor(pool: ListPool, memory: ListMemory, list: ListInThread) {
    this.#pool = pool;
    this.#memory = memory;
    this.#list = list;
  }

  get unreachableNames(): readonly string[] {
    return this.#list.unreachableNames;
  }

  respondTo(exchange: Exchange, isStreaming = false): void {
    if (exchange.isAborted) {
      this.drop();
      exchange.reset();
      return;
    }
    this.#exchange = exchange;
    exchange.onAbort = () => this.drop();
    exchange.onDrain = () => {
      if (this.#state === 'waiting') this.#requestPart(this.#buffer);
    };
    const contentType = this.#list.framing === 'event' ? 'text/event-stream' : 'application/json';
    if (!isStreaming) exchange.openBody(contentType, this.#list.bytes);
    this.#requestPart(largeMemory.take(LIST_PART_BYTES));
  }

  drop(): void {
    if (this.#state === 'over' || !this.#transition(this.#state, 'over')) return;
    const { subject, key } = this.#list;
    this.#pool.drop(subject, [key], this.#memory.noteReturning(subject, this.#list.bytes));
  }

  #requestPart(buffer: Uint8Array): void {
    // The exchange may have refused the list synchronously.
    if (this.#state === 'over') {
      largeMemory.giveBack(buffer, true);
      return;
    }
    if (this.#state === 'waiting') this.#transition('waiting', 'asking');
    const task = { key: this.#list.key, buffer };
    this.#pool.run(this.#list.subject, 'next', task, [buffer], (outcome) => {
      if (this.#state === 'over' || this.#exchange === undefined) {
        if (typeof outcome !== 'string') largeMemory.giveBack(outcome.buffer, true);
        return;
      }
      if (typeof outcome === 'string') {
        this.drop();
        this.#exchange.reset();
      } else {
        this.#writePart(this.#exchange, outcome);
      }
    });
  }

  #writePart(exchange: Exchange, { buffer, bytes }: NextPartOutcome): void {
    this.#sentBytes += bytes;
    // An exchange that is full still refers to the buffer.
    const isWritable = exchange.write(buffer.subarray(0, bytes));
    if (this.#state === 'over') {
      if (isWritable) largeMemory.giveBack(buffer, true);
    } else if (this.#sentBytes === this.#list.bytes) {
      if (isWritable) largeMemory.giveBack(buffer, true);
      this.#transition('asking', 'over');
      this.#memory.give(this.#list.subject, this.#list.bytes);
      exchange.end();
    } else if (isWritable) {
      this.#requestPart(buffer);
    } else {
      this.#buffer = buffer;
      this.#transition('asking', 'waiting');
    }
  }

  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}
