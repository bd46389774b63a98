// The events of one stream that its client may still need: the last ones that were written, if it can come back for them, and those that
// wait for a connection, each at its position. They take memory of the stream's `EventMemory` when no connection is about to take them or,
// in a stream that does not hold its senders back, when they wait; without room, older events make room for newer ones. Hot path: a few
// stores per event.
//
//   first … written, and kept … next … unwritten … position
import { ListNode } from '../fair/index.js';
import { limits, KIB } from '../shared/index.js';
import { isId } from './asking/asked-request-ids.js';
import type { IdSpan } from '../upstream/index.js';

/**
 * A stream's last written events that are kept in case the connection broke before they arrived; the very last event is kept whatever its
 * size. Beyond that, older ones are taken as delivered.
 */
export const WRITTEN_BYTES_KEPT = 64 * KIB;

// The ids of events as clients see them: `<stream>-<request>_<position>`, for example `1000000001-MQ_3`, with the request's id in
// base64url. If nothing is left of a stream that a client resumes, perhaps in another process, the id tells which request has no answer.

/**
 * Bytes of a request id that event ids contain, for an error in place of an answer that is not kept. If there is no room for the answer
 * of a request with a longer id, its stream is dropped, and a client that resumes the stream gets the session's own.
 */
export const KEPT_ID_BYTES_MAX = KIB;

export interface EventId {
  /** The number of the stream in its session. */
  readonly stream: number;
  /** The event's number in the stream, from 1. */
  readonly position: number;
  /** The id of the request whose stream it is; `undefined` for a session stream, and for a request with a very long id. */
  readonly request: IdSpan | undefined;
}

/** Stream numbers begin at random, so that an id from another session, or an earlier one, hardly ever names a stream of this session. */
export const EVENT_NUMBERS_FROM = 1_000_000_000;

/** The id of an event that nothing follows, in no stream. */
export const FINAL_ID = '0_0';

/** @returns `undefined` for a text that is not an event id of the gateway. */
export function parseEventId(text: string): EventId | undefined {
  const [, stream, name = '', position] = /^(\d{1,15})(-[\w-]+)?_(\d{1,15})$/.exec(text) ?? [];
  if (stream === undefined) return undefined;
  return { stream: Number(stream), position: Number(position), request: requestOfPart(name) };
}

/** Whether the event is of a session stream, which belongs to no call, whichever process had it. */
export function isSessionStream({ stream }: EventId): boolean {
  return stream >= EVENT_NUMBERS_FROM && stream % 2 === 0;
}

/** The part of its events' ids that contains the request's id, with `-` before it; `''` if the id is too long for that. */
export function requestPartOfEventId({ bytes, start, end }: IdSpan): string {
  return end - start > KEPT_ID_BYTES_MAX ? '' : `-${bytes.toString('base64url', start, end)}`;
}

/** The request id in a `requestPartOfEventId`; `undefined` if there is none in the text, which clients can make up. */
export function requestOfPart(name: string): IdSpan | undefined {
  const bytes = Buffer.from(name.slice(1), 'base64url');
  if (bytes.length === 0 || bytes.length > KEPT_ID_BYTES_MAX || !isId(bytes)) return undefined;
  return { bytes, start: 0, end: bytes.length };
}

// An event that is kept for a client whose connection broke. Most are kept as the bytes that were sent. An event that stays for longer
// than a few seconds becomes a string of one character per byte: the string takes its own size only, while a slice of a buffer keeps
// the whole block that it was cut from.

/** A small event as it is sent (bytes, or the same in Latin-1), or an event with large data or a callback. */
export type KeptEventBytes = Buffer | string | KeptEvent;

/** Stands for an event that could not be kept. */
export const LOST_EVENT = '';

/** Where events take room while they are kept. */
export interface EventMemory {
  /** Events of one stream that may be kept. */
  readonly countMax: number;
  /** Whether there could ever be room for so many bytes. */
  mayHold(bytes: number): boolean;
  /** @param isAnswer whether the bytes are an answer, for which other streams that wait to be resumed may be released. */
  tryTake(bytes: number, stream: ReplayBuffer, isAnswer: boolean): boolean;
  give(bytes: number): void;
}

/** Larger data is written in pieces, and has memory of its own. */
export const LARGE_BYTES_FROM: number = limits.readAtOnceBytesMax;

export class KeptEvent {
  /** The whole of a small event; of a large event, what precedes its data. */
  readonly text: string;
  /** The data of a large event. */
  readonly parts: readonly Buffer[] | undefined;
  readonly onLost: (() => void) | undefined;
  /** The size of text and data, in bytes. */
  readonly length: number;

  constructor(text: string, parts: readonly Buffer[] | undefined, onLost: (() => void) | undefined) {
    this.text = text;
    this.parts = parts;
    this.onLost = onLost;
    let bytes = text.length;
    for (const { length } of parts ?? []) bytes += length;
    this.length = bytes;
  }
}

/** Stands for an event that was taken back before it was written. */
const WITHDRAWN = new KeptEvent('', undefined, undefined);

/** An MCP log message that tells the client how many messages it has missed. */
export function lossNotification(lostCount: number): Buffer {
  const data = `${lostCount} messages from backends were lost because this stream was not read in time`;
  const params = { level: 'warning', logger: 'switchyard', data };
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params }));
}

/** A stream takes at least this much of its room at once, if there is so much. */
const TAKEN_BYTES_LEAST = 2_048;

/** The part of a `CallerStream` that keeps its events: a base class, so that a stream is one object. */
export abstract class ReplayBuffer extends ListNode {
  readonly #room: EventMemory | undefined;
  readonly #holdsSender: boolean;
  /** The positions of the last event that was emitted (0 before the first), and of the next event to be written. */
  #position = 0;
  #next = 1;
  /** The kept events, from position `#first` on. */
  readonly #kept = new Fifo<KeptEventBytes>();
  #first = 1;
  /** Bytes of the kept events that were written. */
  #writtenBytes = 0;
  /** Events before this position take room. */
  #counted = 1;
  #countedBytes = 0;
  /** The room taken for the counted bytes: in larger steps, because each step costs. */
  #takenBytes = 0;
  /** The `onLost` of an event that was dropped while it was being written, in case it does not arrive whole. */
  #onCut: (() => void) | undefined;

  /** @param holdsSender whether the stream's senders wait while its connection takes no more: what they have emitted then takes no room. */
  constructor(room: EventMemory | undefined, holdsSender: boolean) {
    super();
    this.#room = room;
    this.#holdsSender = holdsSender;
  }

  abstract get isResumable(): boolean;
  /** Whether the next event to be written is on its way. */
  protected abstract get isSending(): boolean;
  /** Whether the event of this position is the last there will ever be. */
  abstract isCompleteAt(position: number): boolean;
  /** @returns the error that replaces an answer that cannot be kept; `undefined` without the request's id. */
  protected abstract lostAnswer(position: number): string | undefined;
  /** Not even the error in place of the answer can be kept. */
  protected abstract onAnswerLost(): void;

  hasEmitted(position: number): boolean {
    return position <= this.#position;
  }

  protected get position(): number {
    return this.#position;
  }

  protected get nextPosition(): number {
    return this.#next;
  }

  /** The next event to be written; `undefined` if all are. */
  protected get unwritten(): KeptEventBytes | undefined {
    return this.#next > this.#position ? undefined : this.#at(this.#next);
  }

  /** An event was emitted and written, and the client cannot resume the stream before it. */
  protected pass(): void {
    this.#position += 1;
    this.#first = this.#counted = this.#next = this.#position + 1;
  }

  /** An event was emitted. */
  protected add(event: KeptEventBytes, isWritten: boolean, isAttached: boolean): void {
    this.#position += 1;
    this.#kept.push(event);
    if (isWritten) this.onWritten();
    else if (!isAttached || !this.#holdsSender) this.#countTo(this.#position + 1);
  }

  /** The next event was written. */
  protected onWritten(): void {
    this.#onCut = undefined;
    this.#writtenBytes += this.#at(this.#next).length;
    this.#next += 1;
    this.#trimWritten();
    if (this.isResumable) this.#countTo(this.#next);
  }

  /** The event that was being written will not arrive whole. */
  protected onCut(): void {
    const onCut = this.#onCut;
    this.#onCut = undefined;
    onCut?.();
  }

  /** No connection is about to take the unwritten events. */
  protected onUnconnected(): void {
    if (this.isResumable) this.#countTo(this.#position + 1);
    else this.dropAll();
  }

  /** The client resumes. @param lastArrived the position of the last event that has arrived there. */
  protected resumeAfter(lastArrived: number): void {
    this.#next = lastArrived + 1;
    this.#writtenBytes = 0;
    for (let position = this.#first; position <= lastArrived; position += 1)
      this.#writtenBytes += this.#at(position).length;
  }

  /** The client does not resume, and has no claim to what was written before. */
  protected forgetWritten(): void {
    while (this.#first < this.#next) this.#dropFirst();
  }

  /** Skips events that were dropped before they were written. @returns how many. */
  protected skipDropped(): number {
    const unskipped = this.#next;
    this.#next = Math.max(unskipped, this.#first);
    return this.#next - unskipped;
  }

  /** For `StreamKeeper`: copies events that stay for longer out of the blocks of memory that they were cut from. */
  compact(): void {
    for (let index = 0; index < this.#kept.length; index += 1) {
      const kept = this.#kept.at(index);
      if (kept instanceof Buffer) this.#kept.replace(index, kept.toString('latin1'));
    }
  }

  /** For `StreamKeeper`: the stream cannot be resumed any more. What is being written goes on, and the rest is freed with the call. */
  release(): void {
    this.#room?.give(this.#takenBytes);
    this.#takenBytes = 0;
    this.#countedBytes = 0;
    this.#counted = this.#position + 1;
  }

  /** The client will not come back: everything that is kept for it is lost. */
  dropAll(): void {
    const lost = this.#takeCallbacks();
    this.release();
    this.#kept.clear();
    this.#writtenBytes = 0;
    this.#first = this.#next = this.#counted;
    for (const onLost of lost) onLost();
  }

  /** Drops the unwritten events that have an `onLost`, and calls it; the client is not told that they were lost. */
  dropWithCallback(): void {
    for (const onLost of this.#takeCallbacks()) onLost();
  }

  #takeCallbacks(): readonly (() => void)[] {
    const callbacks: (() => void)[] = [];
    for (let position = Math.max(this.#next, this.#first); position <= this.#position; position += 1) {
      const kept = this.#at(position);
      const onLost = onLostOf(kept);
      if (onLost === undefined) continue;
      callbacks.push(onLost);
      if (position < this.#counted) this.#countedBytes -= kept.length;
      this.#replace(position, WITHDRAWN);
    }
    return callbacks;
  }

  #at(position: number): KeptEventBytes {
    return this.#kept.at(position - this.#first) ?? LOST_EVENT;
  }

  #replace(position: number, event: KeptEventBytes): void {
    if (position < this.#next) this.#writtenBytes += event.length - this.#at(position).length;
    this.#kept.replace(position - this.#first, event);
  }

  /** Drops old written events. The latest stay, since they may not have arrived, and the very last one however large it is. */
  #trimWritten(): void {
    const first = this.isResumable ? this.#next - 1 : this.#next;
    while (this.#first < first) {
      if (first < this.#next && this.#writtenBytes <= WRITTEN_BYTES_KEPT && this.#kept.at(0) !== LOST_EVENT) return;
      this.#dropFirst();
    }
  }

  /** Takes room for the events before `end`; older events make room for newer ones. */
  #countTo(end: number): void {
    const room = this.#room;
    while (room !== undefined && this.#counted < end) {
      const kept = this.#at(this.#counted);
      // An event that could never fit does not evict others in vain, and only an answer evicts other undelivered streams.
      const mayBeHeld = room.mayHold(kept.length);
      const isAnswer = this.isCompleteAt(this.#counted);
      if (mayBeHeld && this.#tryTake(room, kept.length, isAnswer && this.#first === this.#counted)) {
        this.#countedBytes += kept.length;
      } else if (mayBeHeld && this.#first < this.#counted) {
        this.#dropFirst();
        continue;
      } else {
        this.#lose(room, this.#counted);
      }
      this.#counted += 1;
    }
  }

  #tryTake(room: EventMemory, bytes: number, mayTakeFromOthers: boolean): boolean {
    if (this.#counted - this.#first >= room.countMax) return false;
    const missingBytes = this.#countedBytes + bytes - this.#takenBytes;
    if (missingBytes <= 0) return true;
    let takenBytes = Math.max(missingBytes, TAKEN_BYTES_LEAST);
    if (!room.tryTake(takenBytes, this, false)) {
      takenBytes = missingBytes;
      if (!room.tryTake(takenBytes, this, mayTakeFromOthers)) return false;
    }
    this.#takenBytes += takenBytes;
    return true;
  }

  #dropFirst(): void {
    const kept = this.#kept.shift() ?? LOST_EVENT;
    if (this.#first < this.#next) this.#writtenBytes -= kept.length;
    // After `release`, nothing is counted any more.
    if (this.#first < this.#counted) this.#countedBytes = Math.max(0, this.#countedBytes - kept.length);
    else this.#counted += 1;
    this.#first += 1;
    const spareBytes = this.#takenBytes - this.#countedBytes;
    if (spareBytes > (this.#kept.length > 0 ? WRITTEN_BYTES_KEPT : 0)) {
      this.#takenBytes -= spareBytes;
      this.#room?.give(spareBytes);
    }
    if (this.#first <= this.#next) return;
    // An event that is being written is counted by its exchange, and reaches the client all the same.
    if (this.#first === this.#next + 1 && this.isSending) this.#onCut = onLostOf(kept);
    else onLostOf(kept)?.();
  }

  /** The event has no room even alone. A lost answer is replaced by an error; if that has no room either, the stream is forgotten. */
  #lose(room: EventMemory, position: number): void {
    const kept = this.#at(position);
    const onLost = position >= this.#next ? onLostOf(kept) : undefined;
    this.#replace(position, LOST_EVENT);
    if (this.isCompleteAt(position)) {
      const error = this.lostAnswer(position);
      if (error !== undefined && this.#tryTake(room, error.length, true)) {
        this.#replace(position, error);
        this.#countedBytes += error.length;
      } else {
        this.onAnswerLost();
      }
    }
    onLost?.();
  }
}

function onLostOf(kept: KeptEventBytes): (() => void) | undefined {
  return kept instanceof KeptEvent ? kept.onLost : undefined;
}

// A first-in, first-out queue. Unlike `Array.prototype.shift`, taking an item costs the same at any length: a large array would move all
// its items. Hot path.

/** Items move up once more places than this are free before them, and at least as many as there are items. */
const SPARE_PLACES = 32;

export class Fifo<Item> {
  readonly #items: (Item | undefined)[] = [];
  #first = 0;

  get length(): number {
    return this.#items.length - this.#first;
  }

  /** @param index counted from the first item. @returns `undefined` when there is no such item. */
  at(index: number): Item | undefined {
    return index < 0 ? undefined : this.#items[this.#first + index];
  }

  replace(index: number, item: Item): void {
    if (index >= 0 && index < this.length) this.#items[this.#first + index] = item;
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  shift(): Item | undefined {
    if (this.length === 0) return undefined;
    const item = this.#items[this.#first];
    this.#items[this.#first] = undefined;
    this.#first += 1;
    if (this.#first > SPARE_PLACES && this.#first >= this.length) this.#moveUp();
    return item;
  }

  clear(): void {
    this.#items.length = 0;
    this.#first = 0;
  }

  #moveUp(): void {
    this.#items.copyWithin(0, this.#first);
    this.#items.length -= this.#first;
    this.#first = 0;
  }
}
