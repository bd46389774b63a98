// A merged list, as the answer that it is: whole in memory when it is small, kept by the list thread when it is large.
// Exactly one of `giveTo` and `drop` is called, once.
import { limits } from '../../shared/limits.js';
import { answerInForm } from '../answers.js';
import type { Exchange } from '../exchange.js';
import type { ByteBudget } from './byte-budget.js';
import type { ListPool } from './list-pool.js';
import type { AnswerFrame } from './merge.js';
import type { PartMemory } from './part-memory.js';
import { handOver, type MergeOutcome, type NextOutcome } from './thread-tasks.js';

export interface MergedList {
  /** Merged names of tools that no call could reach, because a longer backend name takes them (decisions 2.5). */
  readonly unreachable: readonly string[];
  /** Answers the exchange that the list was made for. */
  giveTo(exchange: Exchange): void;
  /** Nobody wants it any more. */
  drop(): void;
}

const NO_MEMORY = new Uint8Array(0);

export class SmallList implements MergedList {
  readonly unreachable: readonly string[];
  readonly #bytes: Buffer;

  constructor(bytes: Buffer, unreachable: readonly string[]) {
    this.#bytes = bytes;
    this.unreachable = unreachable;
  }

  giveTo(exchange: Exchange): void {
    answerInForm(exchange, this.#bytes);
  }

  drop(): void {
    // It holds nothing but memory.
  }
}

/**
 * Asks for a part, writes it, and uses its memory for the next: one part at a time is in this thread.
 *
 *   asking ──a part──> writing ──there is room──> asking … ──the last part──> over
 *                         └──no room──> waiting ──drained──> asking
 *   asking ──the thread failed: the caller is cut──> over
 *   any ──the caller went away──> over
 */
export class LargeList implements MergedList {
  readonly unreachable: readonly string[];
  readonly #pool: ListPool;
  readonly #budget: ByteBudget;
  readonly #key: number;
  readonly #bytes: number;
  readonly #form: AnswerFrame['form'];
  #exchange: Exchange | undefined;
  /** Of the part that waits for room. */
  #memory: Uint8Array = NO_MEMORY;
  readonly #partMemory: PartMemory;
  #at = 0;
  #state: 'asking' | 'waiting' | 'over' = 'asking';

  /** @param budget has the list's bytes taken already. */
  constructor(
    pool: ListPool,
    budget: ByteBudget,
    partMemory: PartMemory,
    key: number,
    outcome: MergeOutcome,
    form: AnswerFrame['form'],
  ) {
    this.#partMemory = partMemory;
    this.#pool = pool;
    this.#budget = budget;
    this.#key = key;
    this.#bytes = outcome.bytes;
    this.#form = form;
    this.unreachable = outcome.unreachable;
  }

  giveTo(exchange: Exchange): void {
    if (exchange.isAborted) {
      this.drop();
      return;
    }
    this.#exchange = exchange;
    exchange.onAbort = () => this.drop();
    exchange.onDrain = () => {
      if (this.#state === 'waiting') this.#ask(this.#memory);
    };
    exchange.openBody(this.#form === 'event' ? 'text/event-stream' : 'application/json', this.#bytes);
    this.#ask(this.#partMemory.take());
  }

  drop(): void {
    if (this.#state === 'over') return;
    this.#finish();
    this.#pool.drop([this.#key]);
  }

  #ask(memory: Uint8Array): void {
    this.#state = 'asking';
    const task = { key: this.#key, memory };
    this.#pool.run('next', handOver(task, [memory]), limits.listTaskMsMax, (outcome) => {
      if (this.#state === 'over' || this.#exchange === undefined) {
        if (typeof outcome !== 'string') this.#partMemory.giveBack(outcome.memory);
        return;
      }
      if (typeof outcome === 'string') {
        this.drop();
        this.#exchange.cut();
      } else {
        this.#write(this.#exchange, outcome);
      }
    });
  }

  #write(exchange: Exchange, { memory, bytes }: NextOutcome): void {
    this.#at += bytes;
    // Without room the exchange refers to the memory still.
    const hasRoom = exchange.write(memory.subarray(0, bytes));
    if (this.#at === this.#bytes) {
      if (hasRoom) this.#partMemory.giveBack(memory);
      this.#finish();
      exchange.end();
    } else if (hasRoom) {
      this.#ask(memory);
    } else {
      this.#memory = memory;
      this.#state = 'waiting';
    }
  }

  #finish(): void {
    this.#state = 'over';
    this.#budget.give(this.#bytes);
  }
}
