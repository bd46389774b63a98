// The event streams of one session that its client can go on with after its connection broke: their numbers, and the bytes
// that are kept for them. Those count in the share of session bytes, but never fill more than half of it, the subject's or
// that of all. What goes first when there is no room: the tails of streams whose answer went out, then a stream's own oldest events, then what nobody
// has come for for the longest. Hot: a few stores for
// a call that streams.
//
//   running ──answered──> delivered, or undelivered ──time, another in its place, no room──> released
import type { AnswerOptions } from '../../config/dataplane-options.js';
import type { Account } from '../../shared/accounts.js';
import type { Deadline, DeadlineWheel } from '../../shared/deadline-wheel.js';
import { limits } from '../../shared/limits.js';
import { ListNode } from '../../shared/list-node.js';
import { CallerStream } from './caller-stream.js';

/** An event's id as it is given out: which stream of the session, and which event of it. */
export interface EventId {
  readonly stream: number;
  readonly position: number;
}

/** @returns `undefined` for what was never given out. */
export function parseEventId(text: string): EventId | undefined {
  const [, stream, position] = /^(\d{1,15})_(\d{1,15})$/.exec(text) ?? [];
  return stream === undefined ? undefined : { stream: Number(stream), position: Number(position) };
}

/** Whether it is of the stream that belongs to no call, whichever process had it. */
export function isSessionStream({ stream }: EventId): boolean {
  return stream >= NUMBERS_FROM && stream % 2 === 0;
}

/** Numbers begin at random, so that an id of another session, or of one before, hardly ever means a stream of this one. */
const NUMBERS_FROM = 1_000_000_000;

/** Of the share of session bytes: with what is kept no client is to hinder the sessions of another, or its own. */
const KEPT_FRACTION_MAX = 0.5;

export class StreamKeeper {
  /** Of the stream that belongs to no call: even, and those of calls are odd. */
  readonly sessionStreamNumber = NUMBERS_FROM + 2 * Math.floor((Math.random() * NUMBERS_FROM) / 2);
  readonly #account: Account;
  readonly #deadlines: DeadlineWheel;
  readonly #options: AnswerOptions;
  readonly #running = new ListNode();
  readonly #delivered = new ListNode();
  readonly #undelivered = new ListNode();
  #deliveredCount = 0;
  #lastNumber = this.sessionStreamNumber - 1;
  #heldBytes = 0;
  #isOver = false;
  #expiry: Deadline | undefined;
  #isSweeping = false;

  constructor(account: Account, deadlines: DeadlineWheel, options: AnswerOptions) {
    this.#account = account;
    this.#deadlines = deadlines;
    this.#options = options;
  }

  get resumptionTimeMs(): number {
    return this.#options.resumptionTimeMs;
  }

  /** A call's stream begins. @returns its number. */
  begin(stream: CallerStream): number {
    this.#running.append(stream);
    this.#beginSweeping();
    this.#lastNumber += 2;
    return this.#lastNumber;
  }

  /** Its last event was said. @param isDelivered whether that was handed over to the client's connection. */
  finish(stream: CallerStream, isDelivered: boolean): void {
    const isForgotten = !stream.isLinked;
    stream.unlink();
    if (this.#isOver || isForgotten) stream.release();
    else if (isDelivered) this.#fileDelivered(stream);
    else this.#file(stream, this.#undelivered);
  }

  /** What was kept of it is with the client now, as far as can be told. */
  deliver(stream: CallerStream): void {
    if (stream.isDelivered || !stream.isLinked) return;
    stream.unlink();
    this.#fileDelivered(stream);
  }

  /** Its answer cannot be kept: nobody can go on with it. */
  forget(stream: CallerStream): void {
    if (stream.isDelivered && stream.isLinked) this.#deliveredCount -= 1;
    stream.unlink();
    stream.release();
  }

  /** The stream of this number, if anything of it may be there still. */
  find(number: number): CallerStream | undefined {
    for (const list of [this.#running, this.#undelivered, this.#delivered]) {
      for (let stream = list.previous; stream instanceof CallerStream; stream = stream.previous) {
        if (stream.number === number) return stream;
      }
    }
    return undefined;
  }

  /** Whether there could be room for so much at all. */
  mayHold(bytes: number): boolean {
    return bytes <= this.#options.resumptionBytesMax;
  }

  /**
   * Room for bytes that a stream keeps. Streams whose answer went out make it.
   * @param isAnswer also those whose answer is still to be fetched, the oldest first.
   */
  tryTake(bytes: number, stream: CallerStream, isAnswer: boolean): boolean {
    while (!this.#hasRoomFor(bytes)) {
      if (this.#releaseFirst(this.#delivered, stream)) continue;
      if (!isAnswer || !this.#releaseFirst(this.#undelivered, stream)) return false;
    }
    this.take(bytes);
    return true;
  }

  /** For what has to be kept, and is small. */
  take(bytes: number): void {
    if (this.#isOver) return;
    this.#heldBytes += bytes;
    this.#account.sessionBytes.take(bytes);
  }

  give(bytes: number): void {
    if (this.#isOver) return;
    this.#heldBytes -= bytes;
    this.#account.sessionBytes.give(bytes);
  }

  /** The session is over: nobody can come for anything any more. */
  end(): void {
    this.#expiry?.cancel();
    for (const list of [this.#running, this.#undelivered, this.#delivered]) while (this.#releaseFirst(list));
    this.give(this.#heldBytes);
    this.#isOver = true;
  }

  #fileDelivered(stream: CallerStream): void {
    stream.isDelivered = true;
    this.#file(stream, this.#delivered);
    if (++this.#deliveredCount > limits.deliveredStreamsKept) this.#releaseFirst(this.#delivered);
  }

  #file(stream: CallerStream, list: ListNode): void {
    stream.keptSinceMs = this.#deadlines.recentMs;
    list.append(stream);
  }

  #hasRoomFor(bytes: number): boolean {
    if (this.#isOver) return false;
    if (this.#heldBytes + bytes > this.#options.resumptionBytesMax) return false;
    return this.#account.sessionBytes.hasRoomWithin(KEPT_FRACTION_MAX, bytes);
  }

  /** @param spared is not released. */
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
    const sweepMs = Math.min(limits.keptStreamsSweepMs, this.#options.resumptionTimeMs);
    if (this.#expiry === undefined) this.#expiry = this.#deadlines.after(sweepMs, () => this.#sweep());
    else this.#expiry.restart();
  }

  #sweep(): void {
    const nowMs = this.#deadlines.recentMs;
    this.#releaseUntil(this.#delivered, nowMs - limits.deliveredStreamsKeptMs);
    this.#releaseUntil(this.#undelivered, nowMs - this.#options.resumptionTimeMs);
    let isEmpty = true;
    for (const list of [this.#running, this.#delivered, this.#undelivered]) {
      for (let stream = list.next; stream instanceof CallerStream; stream = stream.next) {
        stream.compact();
        isEmpty = false;
      }
    }
    if (isEmpty) this.#isSweeping = false;
    else this.#expiry?.restart();
  }

  #releaseUntil(list: ListNode, sinceMs: number): void {
    for (let stream = list.next; stream instanceof CallerStream; stream = list.next) {
      if (stream.keptSinceMs > sinceMs) return;
      this.#releaseFirst(list);
    }
  }
}
