// Reads one response to a list request into a page. A small response is parsed at once, on the event loop; the pieces of a large response
// go to the list thread as they arrive, and its page stays there.
import { type ListEra, type ListKind, readListAnswer, type ListAnswer, type ListPage } from '../mcp/index.js';
import { TOOL_BYTES_EACH, type KeptPage, type LentPage, type ListMemory } from './list-memory.js';
import type { ShareBound } from '../fair/index.js';
import type { ListPool, ThreadFailure } from './list-pool.js';
import { type PageDetails, bytesOf, transferable, joinedPieces, type ReadOutcome } from './thread-tasks.js';

/** A page on the event loop (`ListPage`), or in the list thread: for one request (`KeptPage`), or lent to several (`LentPage`). */
export type ReadPage = ListPage | KeptPage | LentPage;

export type ReadAnswer = Exclude<ListAnswer, { kind: 'page' }> | (PageDetails & { readonly page: ReadPage });

/** Why a response was not parsed; a `ShareBound` names the bound of the memory for lists that is full. */
export type ReadFailure = ThreadFailure | ShareBound;

/** Pieces of a response that wait for room in the subject's share of memory for lists. */
interface WaitingPieces {
  readonly pieces: readonly Buffer[];
  readonly done: (owned: Uint8Array[] | undefined) => void;
}

export class AnswerReader {
  readonly #pool: ListPool;
  readonly #memory: ListMemory;
  readonly #subject: string;
  readonly #kind: ListKind;
  readonly #era: ListEra;
  #key: number | undefined;
  #countedBytes = 0;
  #failure: ReadFailure | undefined;
  /** In order of arrival. The first entry waits for room in the share, each other for the entry before it. */
  readonly #waiting: WaitingPieces[] = [];
  #cancelWait: () => void = () => {};

  constructor(pool: ListPool, memory: ListMemory, subject: string, kind: ListKind, era: ListEra) {
    this.#pool = pool;
    this.#memory = memory;
    this.#subject = subject;
    this.#kind = kind;
    this.#era = era;
  }

  /**
   * Takes the next pieces of the response. From then on, the caller must not use their memory.
   * @param onTaken called once, when the list thread has the pieces or parsing has failed; never after `drop`.
   */
  push(pieces: readonly Buffer[], onTaken: () => void): void {
    this.#countPieces(pieces, (owned) => {
      if (owned === undefined) {
        // Deferred to a later turn: otherwise, this turn would handle the rest of a long response.
        setImmediate(onTaken);
        return;
      }
      this.#pool.run(this.#subject, 'append', { key: this.#ownKey(), pieces: owned }, owned, (outcome) => {
        if (typeof outcome === 'string') this.#failure = outcome;
        onTaken();
      });
    });
  }

  /**
   * Takes the last pieces, and parses the response.
   * @param id the list request's id, as JSON.
   * @param inlineBytesMax the most bytes of a response that is parsed on the event loop.
   * @param done called once, perhaps synchronously; never after `drop`.
   */
  end(
    pieces: readonly Buffer[],
    id: Buffer,
    inlineBytesMax: number,
    withinMs: number,
    done: (answer: ReadAnswer | ReadFailure) => void,
  ): void {
    const isWhole = this.#key === undefined && this.#failure === undefined && this.#waiting.length === 0;
    if (isWhole && bytesOf(pieces) <= inlineBytesMax) {
      done(readListAnswer(joinedPieces(pieces), id, this.#kind, this.#era));
      return;
    }
    this.#countPieces(pieces, (owned) => {
      if (owned === undefined) {
        done(this.#failure ?? 'failed');
        return;
      }
      const era = this.#era;
      const kind = this.#kind.name;
      const task = { key: this.#ownKey(), pieces: owned, bytes: this.#countedBytes, id: id.toString(), kind, era };
      const onRead = (outcome: ReadOutcome | ThreadFailure): void => this.#onRead(this.#failure ?? outcome, done);
      this.#pool.run(this.#subject, 'read', task, owned, onRead, withinMs);
    });
  }

  /** Drops the response, also from the list thread. Safe to call again. */
  drop(): void {
    this.#cancelWait();
    this.#waiting.length = 0;
    this.#dropFromThread();
  }

  #onRead(outcome: ReadOutcome | ReadFailure, done: (answer: ReadAnswer | ReadFailure) => void): void {
    if (typeof outcome === 'string' || outcome.kind !== 'page') {
      this.#dropFromThread();
      done(outcome);
      return;
    }
    // Each item takes memory to parse, merge and sort, even a tool that has only a name.
    const itemBytes = outcome.itemCount * TOOL_BYTES_EACH;
    this.#memory.takeOrWait(this.#subject, itemBytes, (bound) => {
      if (bound !== undefined) {
        this.#dropFromThread();
        done(bound);
        return;
      }
      this.#countedBytes += itemBytes;
      done({ ...outcome, page: { key: this.#ownKey(), bytes: this.#countedBytes } });
    });
  }

  /**
   * Counts pieces in the subject's share. @param done called once, but never after `drop`: with the pieces in memory that can be
   * transferred, or with `undefined` if parsing has failed.
   */
  #countPieces(pieces: readonly Buffer[], done: (owned: Uint8Array[] | undefined) => void): void {
    this.#waiting.push({ pieces, done });
    if (this.#waiting.length === 1) this.#countNextPieces();
  }

  #countNextPieces(): void {
    const [next] = this.#waiting;
    if (next === undefined) return;
    const bytes = bytesOf(next.pieces);
    const onTaken = (bound: ShareBound | undefined): void => {
      this.#failure ??= bound;
      if (this.#failure === undefined) {
        this.#countedBytes += bytes;
        next.done(next.pieces.map(transferable));
      } else {
        // The pieces in the thread are dropped at once: the last pieces of the response may take long to arrive.
        this.#dropFromThread();
        next.done(undefined);
      }
      this.#waiting.shift();
      this.#countNextPieces();
    };
    if (this.#failure !== undefined) onTaken(undefined);
    else this.#cancelWait = this.#memory.takeOrWait(this.#subject, bytes, onTaken);
  }

  #dropFromThread(): void {
    if (this.#key === undefined) return;
    this.#pool.drop(this.#subject, [this.#key], this.#memory.noteReturning(this.#subject, this.#countedBytes));
    this.#key = undefined;
    this.#countedBytes = 0;
  }

  #ownKey(): number {
    return (this.#key ??= this.#pool.mintKey());
  }
}
