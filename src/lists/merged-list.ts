// A merged list as an answer: in memory when it is small, in the list thread when it is large. Exactly one of `respondTo` and `drop` is
// called, once.
import { largeMemory } from '../fair/index.js';
import { LIST_PART_BYTES } from '../upstream/index.js';
import { answerEncoded, type AnswerFrame, type Exchange } from '../exchange/index.js';
import type { ListMemory } from './list-memory.js';
import type { ListPool } from './list-pool.js';
import { type KeptOutcome, type NextPartOutcome } from './thread-tasks.js';

export interface MergedList {
  /** The merged names that no request could reach, as in `MergeResult`. */
  readonly unreachable: readonly string[];
  /** Answers the exchange that the list was made for. @param isStreaming whether its event stream is open already. */
  respondTo(exchange: Exchange, isStreaming?: boolean): void;
  drop(): void;
}

const NO_MEMORY = new Uint8Array(0);

interface ListInThread extends KeptOutcome {
  readonly subject: string;
  readonly key: number;
  readonly framing: AnswerFrame['framing'];
}

export class SmallList implements MergedList {
  readonly unreachable: readonly string[];
  readonly #bytes: Buffer;

  constructor(bytes: Buffer, unreachable: readonly string[]) {
    this.#bytes = bytes;
    this.unreachable = unreachable;
  }

  respondTo(exchange: Exchange, isStreaming = false): void {
    answerEncoded(exchange, this.#bytes, undefined, isStreaming);
  }

  drop(): void {
    // Only memory is released.
  }
}

type State = 'asking' | 'waiting' | 'over';

/**
 * A list that the thread keeps. Asks for a part, writes it, and uses its memory for the next: the event loop holds one part at a time.
 *
 *   asking ── a part, and no room for more ──> waiting ── drained ──> asking
 *   asking ── the last part, or the thread failed: the caller is cut ──> over
 *   asking, waiting ── the caller went away, or its exchange refused the list ──> over
 */
export class LargeList implements MergedList {
  readonly #pool: ListPool;
  readonly #shares: ListMemory;
  readonly #list: ListInThread;
  #exchange: Exchange | undefined;
  /** The memory of the part that waits until the exchange has drained. */
  #memory: Uint8Array = NO_MEMORY;
  #sentBytes = 0;
  #state: State = 'asking';

  /** @param list one whose bytes already count in the share. */
  constructor(pool: ListPool, shares: ListMemory, list: ListInThread) {
    this.#pool = pool;
    this.#shares = shares;
    this.#list = list;
  }

  get unreachable(): readonly string[] {
    return this.#list.unreachable;
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
      if (this.#state === 'waiting') this.#ask(this.#memory);
    };
    const contentType = this.#list.framing === 'event' ? 'text/event-stream' : 'application/json';
    if (!isStreaming) exchange.openBody(contentType, this.#list.bytes);
    this.#ask(largeMemory.take(LIST_PART_BYTES));
  }

  drop(): void {
    if (this.#state === 'over' || !this.#transition(this.#state, 'over')) return;
    const { subject, key } = this.#list;
    this.#pool.drop(subject, [key], this.#shares.noteReturning(subject, this.#list.bytes));
  }

  #ask(memory: Uint8Array): void {
    // The exchange may have refused the list synchronously.
    if (this.#state === 'over') {
      largeMemory.giveBack(memory, true);
      return;
    }
    if (this.#state === 'waiting') this.#transition('waiting', 'asking');
    const task = { key: this.#list.key, memory };
    this.#pool.run(this.#list.subject, 'next', task, [memory], (outcome) => {
      if (this.#state === 'over' || this.#exchange === undefined) {
        if (typeof outcome !== 'string') largeMemory.giveBack(outcome.memory, true);
        return;
      }
      if (typeof outcome === 'string') {
        this.drop();
        this.#exchange.reset();
      } else {
        this.#write(this.#exchange, outcome);
      }
    });
  }

  #write(exchange: Exchange, { memory, bytes }: NextPartOutcome): void {
    this.#sentBytes += bytes;
    // If the exchange is full, it still refers to the memory.
    const hasRoom = exchange.write(memory.subarray(0, bytes));
    if (this.#state === 'over') {
      if (hasRoom) largeMemory.giveBack(memory, true);
    } else if (this.#sentBytes === this.#list.bytes) {
      if (hasRoom) largeMemory.giveBack(memory, true);
      this.#transition('asking', 'over');
      this.#shares.give(this.#list.subject, this.#list.bytes);
      exchange.end();
    } else if (hasRoom) {
      this.#ask(memory);
    } else {
      this.#memory = memory;
      this.#transition('asking', 'waiting');
    }
  }

  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}
