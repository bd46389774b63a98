// The event streams of one session that its client can resume: their numbers, and the bytes kept for them. The bytes count as session bytes,
// but fill at most half of any bound. Without room, streams whose answer was sent are dropped first, then a stream's own oldest events,
// then the oldest answers that were not fetched. Hot path: a few assignments for a call that streams.
//
//   running ──answered──> delivered, or undelivered ──time, another in its place, no room──> released
import type { AnswerOptions } from '../config/index.js';
import { type Account, type Deadline, type DeadlineWheel, ListNode } from '../fair/index.js';
import { CallerStream } from './caller-stream.js';
import { EVENT_NUMBERS_FROM, type EventMemory } from './replay-buffer.js';

/** Streams that are kept after their answer was written. Beyond that, the oldest is dropped. */
export const DELIVERED_STREAMS_KEPT = 4;
/** Time that streams are kept after their answer was written: a client notices a broken connection sooner. */
export const DELIVERED_STREAMS_KEPT_MS = 60_000;
export const KEPT_STREAMS_SWEEP_MS = 5_000;

/** The part of the share of session bytes that kept events may fill. */
const KEPT_FRACTION_MAX = 0.5;

export class StreamKeeper implements EventMemory {
  readonly countMax = Infinity;
  /** The number of the session's stream: an even one; those of calls are odd. */
  readonly sessionStreamNumber = EVENT_NUMBERS_FROM + 2 * Math.floor((Math.random() * EVENT_NUMBERS_FROM) / 2);
  readonly #account: Account;
  readonly #deadlines: DeadlineWheel;
  readonly #options: AnswerOptions;
  readonly #runningStreams = new ListNode();
  readonly #delivered = new ListNode();
  readonly #undelivered = new ListNode();
  #deliveredCount = 0;
  #lastNumber = this.sessionStreamNumber - 1;
  #keptBytes = 0;
  #isOver = false;
  #nextSweep: Deadline | undefined;
  #isSweeping = false;

  constructor(account: Account, deadlines: DeadlineWheel, options: AnswerOptions) {
    this.#account = account;
    this.#deadlines = deadlines;
    this.#options = options;
  }

  get resumptionTimeMs(): number {
    return this.#options.resumptionTimeMs;
  }

  begin(stream: CallerStream): number {
    this.#runningStreams.append(stream);
    this.#beginSweeping();
    this.#lastNumber += 2;
    return this.#lastNumber;
  }

  finish(stream: CallerStream): void {
    if (stream.isDelivered) return;
    const isForgotten = !stream.isLinked;
    stream.unlink();
    if (this.#isOver || isForgotten) stream.release();
    else this.#addToList(stream, this.#undelivered);
  }

  /** Called when everything has been written, so that the client probably has it. */
  noteDelivered(stream: CallerStream): void {
    if (stream.isDelivered || !stream.isLinked) return;
    stream.unlink();
    stream.isDelivered = true;
    this.#addToList(stream, this.#delivered);
    if (++this.#deliveredCount > DELIVERED_STREAMS_KEPT) this.#releaseFirst(this.#delivered);
  }

  /** Called when the answer cannot be kept, so that the stream cannot be resumed. */
  forget(stream: CallerStream): void {
    stream.unlink();
    stream.release();
  }

  find(number: number): CallerStream | undefined {
    for (const list of [this.#runningStreams, this.#undelivered, this.#delivered]) {
      for (let stream = list.previous; stream instanceof CallerStream; stream = stream.previous) {
        if (stream.number === number) return stream;
      }
    }
    return undefined;
  }

  mayKeep(bytes: number): boolean {
    return bytes <= this.#options.resumptionBytesMax;
  }

  /** Takes memory. Releases streams whose answer was sent, and for an answer also those whose answer was not fetched, oldest first. */
  tryTake(bytes: number, stream: CallerStream, isAnswer: boolean): boolean {
    while (!this.#hasRoomFor(bytes)) {
      if (this.#releaseFirst(this.#delivered, stream)) continue;
      if (!isAnswer || !this.#releaseFirst(this.#undelivered, stream)) return false;
    }
    this.#keptBytes += bytes;
    this.#account.sessionBytes.take(bytes);
    return true;
  }

  give(bytes: number): void {
    if (this.#isOver) return;
    this.#keptBytes -= bytes;
    this.#account.sessionBytes.give(bytes);
  }

  end(): void {
    this.#nextSweep?.cancel();
    for (const list of [this.#runningStreams, this.#undelivered, this.#delivered]) while (this.#releaseFirst(list));
    this.give(this.#keptBytes);
    this.#isOver = true;
  }

  #addToList(stream: CallerStream, list: ListNode): void {
    stream.listedSinceMs = this.#deadlines.recentMs;
    list.append(stream);
  }

  #hasRoomFor(bytes: number): boolean {
    if (this.#isOver) return false;
    if (this.#keptBytes + bytes > this.#options.resumptionBytesMax) return false;
    return this.#account.sessionBytes.hasRoomWithin(KEPT_FRACTION_MAX, bytes);
  }

  /** Releases the first stream of a list other than `spared`. @returns whether there was one. */
  #releaseFirst(list: ListNode, spared?: CallerStream): boolean {
    const stream = list.next === spared ? spared.next : list.next;
    if (!(stream instanceof CallerStream)) return false;
    stream.unlink();
    if (list === this.#delivered) this.#deliveredCount -= 1;
    stream.release();
    return true;
  }

  #beginSweeping(): void {
    if (this.#isSweeping || this.#isOver) return;
    this.#isSweeping = true;
    const sweepMs = Math.min(KEPT_STREAMS_SWEEP_MS, this.#options.resumptionTimeMs);
    if (this.#nextSweep === undefined) this.#nextSweep = this.#deadlines.after(sweepMs, () => this.#sweep());
    else this.#nextSweep.restart();
  }

  #sweep(): void {
    const nowMs = this.#deadlines.recentMs;
    this.#releaseListedUntil(this.#delivered, nowMs - DELIVERED_STREAMS_KEPT_MS);
    this.#releaseListedUntil(this.#undelivered, nowMs - this.#options.resumptionTimeMs);
    let isEmpty = true;
    for (const list of [this.#runningStreams, this.#delivered, this.#undelivered]) {
      for (let stream = list.next; stream instanceof CallerStream; stream = stream.next) {
        stream.compact();
        isEmpty = false;
      }
    }
    if (isEmpty) this.#isSweeping = false;
    else this.#nextSweep?.restart();
  }

  #releaseListedUntil(list: ListNode, sinceMs: number): void {
    for (let stream = list.next; stream instanceof CallerStream; stream = list.next) {
      if (stream.listedSinceMs > sinceMs) return;
      this.#releaseFirst(list);
    }
  }
}
