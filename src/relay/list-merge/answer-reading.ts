// One answer to a request for a list on its way to become a page. A small one is read at once, on the event loop; the pieces of a
// large one go to the list thread as they come, and what is made of them stays there.
import type { ListKind } from '../../protocol/list-kinds.js';
import type { PageMirrors } from '../../protocol/tool-mirrors.js';
import { readListAnswer, type ListAnswer, type ListPage } from '../../protocol/list-page.js';
import { limits } from '../../shared/limits.js';
import type { ShareBound } from '../../shared/share.js';
import type { LentPage } from './lent-page.js';
import type { ListMemory } from './list-memory.js';
import type { ListPool, ThreadFailure } from './list-pool.js';
import { handOver, inOwnMemory, joined, type ReadOutcome } from './thread-tasks.js';

/** A page that the thread keeps. */
export interface KeptPage {
  readonly key: number;
  readonly bytes: number;
}

/** As a backend's list is handed on: small pages are here, those of large lists in the thread, where others may use them too. */
export type ReadPage = ListPage | KeptPage | LentPage;

export type ReadAnswer =
  | Exclude<ListAnswer, { kind: 'page' }>
  | {
      readonly kind: 'page';
      readonly page: ReadPage;
      readonly nextCursor: string | undefined;
      readonly isComplete: boolean;
      readonly ttlMs: number;
      readonly mirrors: PageMirrors | undefined;
    };

/** Why an answer is not read. A bound: the share that has no room for it. */
export type ReadFailure = ThreadFailure | ShareBound;

export class AnswerReading {
  readonly #pool: ListPool;
  readonly #memory: ListMemory;
  readonly #subject: string;
  readonly #kind: ListKind;
  readonly #isModern: boolean;
  #key: number | undefined;
  #bytes = 0;
  #failure: ReadFailure | undefined;

  constructor(pool: ListPool, memory: ListMemory, subject: string, kind: ListKind, isModern: boolean) {
    this.#pool = pool;
    this.#memory = memory;
    this.#subject = subject;
    this.#kind = kind;
    this.#isModern = isModern;
  }

  /**
   * Takes the next pieces, and their memory.
   * @param onTaken called once, when the next may come: the thread has these, or nobody will read them.
   */
  push(pieces: readonly Buffer[], onTaken: () => void): void {
    const owned = this.#take(pieces);
    if (owned === undefined) {
      onTaken();
      return;
    }
    this.#pool.run(
      this.#subject,
      'append',
      handOver({ key: this.#keyed(), pieces: owned }, owned),
      limits.listTaskMsMax,
      (outcome) => {
        if (typeof outcome === 'string') this.#failure = outcome;
        onTaken();
      },
    );
  }

  /**
   * Takes the last pieces, and reads the answer.
   * @param id of the request, as JSON.
   * @param inlineBytesMax how large it may be to be read at once and stay on the event loop.
   * @param done called once, from within when the answer is no larger than that.
   */
  end(
    pieces: readonly Buffer[],
    id: Buffer,
    inlineBytesMax: number,
    withinMs: number,
    done: (answer: ReadAnswer | ReadFailure) => void,
  ): void {
    const isWhole = this.#key === undefined && this.#failure === undefined;
    if (isWhole && bytesOf(pieces) <= inlineBytesMax) {
      done(readListAnswer(joined(pieces), id, this.#kind, this.#isModern));
      return;
    }
    const owned = this.#take(pieces);
    if (owned === undefined) {
      done(this.#failure ?? 'failed');
      return;
    }
    const isModern = this.#isModern;
    const kind = this.#kind.name;
    const task = { key: this.#keyed(), pieces: owned, bytes: this.#bytes, id: id.toString(), kind, isModern };
    this.#pool.run(this.#subject, 'read', handOver(task, owned), withinMs, (outcome) =>
      this.#onRead(this.#failure ?? outcome, done),
    );
  }

  /** Nobody wants the answer any more. Safe to call again. */
  drop(): void {
    if (this.#key === undefined) return;
    const bytes = this.#bytes;
    this.#pool.drop(this.#subject, [this.#key], () => this.#memory.give(this.#subject, bytes));
    this.#key = undefined;
    this.#bytes = 0;
  }

  #onRead(outcome: ReadOutcome | ReadFailure, done: (answer: ReadAnswer | ReadFailure) => void): void {
    if (typeof outcome === 'string' || outcome.kind !== 'page') {
      this.drop();
      done(outcome);
      return;
    }
    const bound = this.#countItems(outcome.itemCount);
    if (bound === undefined) {
      const { nextCursor, isComplete, ttlMs, mirrors } = outcome;
      done({ kind: 'page', page: { key: this.#keyed(), bytes: this.#bytes }, nextCursor, isComplete, ttlMs, mirrors });
    } else {
      this.drop();
      done(bound);
    }
  }

  /** A hundred tools of no more than a name take the memory of one that has a kilobyte of description. */
  #countItems(count: number): ShareBound | undefined {
    const bytes = count * limits.listToolBytesEach;
    const bound = this.#memory.tryTake(this.#subject, bytes);
    if (bound === undefined) this.#bytes += bytes;
    return bound;
  }

  /** The pieces in memory that can be handed over; `undefined` once the answer has failed. */
  #take(pieces: readonly Buffer[]): Uint8Array[] | undefined {
    const bytes = bytesOf(pieces);
    this.#failure ??= this.#memory.tryTake(this.#subject, bytes);
    if (this.#failure !== undefined) {
      // What is there of it already makes room for others, however long the rest takes to come.
      this.drop();
      return undefined;
    }
    this.#bytes += bytes;
    return pieces.map(inOwnMemory);
  }

  #keyed(): number {
    return (this.#key ??= this.#pool.mintKey());
  }
}

function bytesOf(pieces: readonly Buffer[]): number {
  let bytes = 0;
  for (const { length } of pieces) bytes += length;
  return bytes;
}
