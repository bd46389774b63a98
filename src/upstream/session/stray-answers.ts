// Answers that a backend sends on its own stream, because it responds to each POST with 202. The stream and the 202 come on two
// connections: an answer that arrives before the 202 is kept for a moment. Cold path.
import { Buffer } from 'node:buffer';
import { idKey } from '../../bytes/index.js';
import type { Deadline, DeadlineWheel } from '../../fair/index.js';
import { upstreamFault } from '../../http-client/index.js';
import type { BackendMessage } from '../../mcp/index.js';
import { KIB } from '../../shared/index.js';
import { deliverAnswer, takeReader, type AnswerSource, type IdSpan, type AnswerReader } from '../rpc/request-plan.js';
import type { MessageBudget } from './known-mirrors.js';

/** Bounds of the answers that arrived before their 202: the time, and the bytes of all. Beyond these bytes, the oldest is dropped. */
export const EARLY_ANSWER_MS = 1_000;
export const EARLY_ANSWER_BYTES_MAX = 256 * KIB;
/** What each kept answer counts in addition to its own bytes. */
export const EARLY_ANSWER_BYTES_EACH = 256;

interface EarlyAnswer {
  readonly bytes: Buffer;
  readonly deadline: Deadline;
}

export class StrayAnswers implements AnswerSource {
  readonly #subject: string;
  readonly #deadlines: DeadlineWheel;
  readonly #memory: MessageBudget;
  /** The readers of answers to requests that got 202, by the keys of the requests' ids. */
  readonly #waitingReaders = new Map<string, AnswerReader>();
  /** Answers that arrived before their 202, by the keys of their ids. */
  readonly #earlyAnswers = new Map<string, EarlyAnswer>();
  #earlyBytes = 0;
  /** Called whenever no request waits any more. */
  onNoneAwaited: (() => void) | undefined = undefined;

  constructor(subject: string, deadlines: DeadlineWheel, memory: MessageBudget) {
    this.#subject = subject;
    this.#deadlines = deadlines;
    this.#memory = memory;
  }

  get isAwaited(): boolean {
    return this.#waitingReaders.size > 0;
  }

  wait({ bytes, start, end }: IdSpan, reader: AnswerReader): void {
    const key = idKey(bytes, start, end);
    if (this.#waitingReaders.has(key)) return reader.onLost(upstreamFault('id-in-use'));
    // A number may have come back as a string.
    const early = this.#drop(key) ?? (key.startsWith('"') ? undefined : this.#drop(`"${key}`));
    if (early === undefined) this.#waitingReaders.set(key, reader);
    else deliverAnswer(this.#subject, reader, early);
  }

  forget({ bytes, start, end }: IdSpan, reader: AnswerReader): void {
    const key = idKey(bytes, start, end);
    if (this.#waitingReaders.get(key) === reader && this.#waitingReaders.delete(key)) this.#noteIfNoneWait();
  }

  #noteIfNoneWait(): void {
    if (!this.isAwaited) this.onNoneAwaited?.();
  }

  /** Takes an answer from the stream. @param bytes valid until this returns. @returns whether a request waited for it. */
  take(bytes: Buffer, { idStart, idEnd }: Pick<BackendMessage, 'idStart' | 'idEnd'>): boolean {
    if (idStart === -1) return false;
    const key = idKey(bytes, idStart, idEnd);
    const reader = takeReader(this.#waitingReaders, key);
    if (reader === undefined) this.#keep(key, bytes);
    else {
      deliverAnswer(this.#subject, reader, Buffer.from(bytes));
      this.#noteIfNoneWait();
    }
    return reader !== undefined;
  }

  #keep(key: string, bytes: Buffer): void {
    const counted = bytes.length + EARLY_ANSWER_BYTES_EACH;
    if (this.#earlyAnswers.has(key) || !this.#memory.hasRoomFor(counted)) return;
    for (const oldest of this.#earlyAnswers.keys()) {
      if (this.#earlyBytes + counted <= EARLY_ANSWER_BYTES_MAX) break;
      this.#drop(oldest);
    }
    this.#earlyBytes += counted;
    this.#memory.keep(counted);
    const deadline = this.#deadlines.after(EARLY_ANSWER_MS, () => this.#drop(key));
    this.#earlyAnswers.set(key, { bytes: Buffer.from(bytes), deadline });
  }

  /** Called when the stream was cut within a message. Fails the request that waits, if it is the only one: then its answer was cut. */
  onCut(): void {
    if (this.#waitingReaders.size > 1) return;
    for (const reader of this.#waitingReaders.values()) reader.onLost(upstreamFault('answer-incomplete'));
  }

  /** Called when the stream is closed: the waiting requests fail. */
  close(): void {
    for (const key of [...this.#earlyAnswers.keys()]) this.#drop(key);
    for (const reader of [...this.#waitingReaders.values()]) reader.onLost(upstreamFault('answer-incomplete'));
  }

  /** Drops the early answer with this key. @returns its bytes. */
  #drop(key: string): Buffer | undefined {
    const early = this.#earlyAnswers.get(key);
    if (early === undefined) return undefined;
    this.#earlyAnswers.delete(key);
    early.deadline.cancel();
    const counted = early.bytes.length + EARLY_ANSWER_BYTES_EACH;
    this.#earlyBytes -= counted;
    this.#memory.drop(counted);
    return early.bytes;
  }
}
