// The events of one stream that its client may still need, each at its position: those not written yet and, if the client can resume the
// stream, those written last. All are counted in a memory (`EventMemory`), except unwritten ones that a connection will take and whose
// sender waits for it. Without room, newer events replace older ones. Hot path: a few assignments per event.
//
//   first … written, and kept … next … unwritten … position
import { ListNode } from '../fair/index.js';
import { limits, KIB } from '../shared/index.js';
import { isId } from './asking/asked-request-ids.js';
import type { IdSpan } from '../upstream/index.js';

/** Bytes of written events that are kept, in case the connection broke before they arrived. The very last event is kept in any case. */
export const WRITTEN_BYTES_KEPT = 64 * KIB;

// Event ids are `<stream>-<request>_<position>`, for example `1000000001-MQ_3`, with the request's id in base64url. If a client resumes a
// stream of which nothing is left, perhaps in another process, the id tells which request has no answer.

/**
 * Bytes of a request id in event ids, for an error in place of an answer that is not kept. With a longer id and no room for the answer, the
 * stream is dropped, and a client that resumes it gets the session's stream instead.
 */
export const KEPT_ID_BYTES_MAX = KIB;

export interface EventId {
  readonly stream: number;
  readonly position: number;
  readonly request: IdSpan | undefined;
}

/** Numbers begin at random, so that an id of another session hardly ever names a stream. */
export const EVENT_NUMBERS_FROM = 1_000_000_000;

/** The id of an event that belongs to no stream, and that nothing follows. */
export const FINAL_ID = '0_0';

/** Parses an event id. @returns `undefined` for a text in another form. */
export function parseEventId(text: string): EventId | undefined {
  const [, stream, name = '', position] = /^(\d{1,15})(-[\w-]+)?_(\d{1,15})$/.exec(text) ?? [];
  if (stream === undefined) return undefined;
  return { stream: Number(stream), position: Number(position), request: requestOfPart(name) };
}

export function isSessionStream({ stream }: EventId): boolean {
  return stream >= EVENT_NUMBERS_FROM && stream % 2 === 0;
}

/** The part of event ids with the request's id, after `-`; `''` if the id is too long. */
export function requestPartOfEventId({ bytes, start, end }: IdSpan): string {
  return end - start > KEPT_ID_BYTES_MAX ? '' : `-${bytes.toString('base64url', start, end)}`;
}

/** The id of the request in an event id; `undefined` for a text that a client has made up. */
export function requestOfPart(name: string): IdSpan | undefined {
  const bytes = Buffer.from(name.slice(1), 'base64url');
  if (bytes.length === 0 || bytes.length > KEPT_ID_BYTES_MAX || !isId(bytes)) return undefined;
  return { bytes, start: 0, end: bytes.length };
}

// A kept event is the bytes that were sent. If it stays for more than a few seconds, it becomes a string of one character per byte: a slice
// of a buffer would keep its whole block alive.

/** A small event as sent (as bytes, or as a Latin-1 string), or an event with large data or a callback. */
export type KeptEventBytes = Buffer | string | KeptEvent;

/** Stands for an event that could not be kept. */
export const LOST_EVENT = '';

export interface EventMemory {
  readonly countMax: number;
  mayKeep(bytes: number): boolean;
  /** @param isAnswer whether the bytes are an answer, for which other streams that wait to be resumed may be released. */
  tryTake(bytes: number, stream: ReplayBuffer, isAnswer: boolean): boolean;
  give(bytes: number): void;
}

/** The size from which data is large: it is written in pieces, from memory of its own. */
export const LARGE_BYTES_FROM: number = limits.readAtOnceBytesMax;

export class KeptEvent {
  /** The text of a small event, or what precedes the data of a large one. */
  readonly text: string;
  readonly parts: readonly Buffer[] | undefined;
  readonly onLost: (() => void) | undefined;
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
const WITHDRAWN_EVENT = new KeptEvent('', undefined, undefined);

export function lossNotification(lostCount: number): Buffer {
  const data = `${lostCount} messages from backends were lost because this stream was not read in time`;
  const params = { level: 'warning', logger: 'switchyard', data };
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params }));
}

/** The least that a stream takes from its memory at once, if there is room. */
const TAKEN_BYTES_MIN = 2_048;

/** Keeps the events of a `CallerStream`: a base class, so that a stream is one object. */
export abstract class ReplayBuffer extends ListNode {
  readonly #memory: EventMemory | undefined;
  readonly #blocksSender: boolean;
  /** The position of the last event that was emitted; 0 before the first. Changed only here. */
  protected lastPosition = 0;
  /** The position of the next event to be written. Changed only here. */
  protected nextPosition = 1;
  readonly #kept = new Fifo<KeptEventBytes>();
  #firstKept = 1;
  #writtenBytes = 0;
  #firstUncounted = 1;
  #countedBytes = 0;
  /** Bytes taken from `#memory`, in larger steps, because each step costs. */
  #takenBytes = 0;
  /** The `onLost` of an event that was dropped while it was being written. */
  #onCut: (() => void) | undefined;

  /** @param blocksSender whether senders wait while the connection is not writable: then events that wait for it are not counted. */
  constructor(memory: EventMemory | undefined, blocksSender: boolean) {
    super();
    this.#memory = memory;
    this.#blocksSender = blocksSender;
  }

  abstract get isResumable(): boolean;
  protected abstract get isSending(): boolean;
  /** Whether the event at this position is the stream's last. */
  abstract isCompleteAt(position: number): boolean;
  /** The error in place of an answer that cannot be kept; `undefined` without the request's id. */
  protected abstract lostAnswerError(position: number): string | undefined;
  protected abstract onAnswerLost(): void;

  hasEmitted(position: number): boolean {
    return position <= this.lastPosition;
  }

  protected get unwritten(): KeptEventBytes | undefined {
    return this.nextPosition > this.lastPosition ? undefined : this.#at(this.nextPosition);
  }

  /** Called when an event was emitted and written, and will not be resumed from. */
  protected skipEvent(): void {
    this.lastPosition += 1;
    this.#firstKept = this.#firstUncounted = this.nextPosition = this.lastPosition + 1;
  }

  protected add(event: KeptEventBytes, isWritten: boolean, isAttached: boolean): void {
    this.lastPosition += 1;
    this.#kept.push(event);
    if (isWritten) this.onWritten();
    else if (!isAttached || !this.#blocksSender) this.#countTo(this.lastPosition + 1);
  }

  protected onWritten(): void {
    this.#onCut = undefined;
    this.#writtenBytes += this.#at(this.nextPosition).length;
    this.nextPosition += 1;
    this.#trimWritten();
    if (this.isResumable) this.#countTo(this.nextPosition);
  }

  /** Called when the event that is being written will not arrive whole. */
  protected onCut(): void {
    const onCut = this.#onCut;
    this.#onCut = undefined;
    onCut?.();
  }

  protected onDetached(): void {
    if (this.isResumable) this.#countTo(this.lastPosition + 1);
    else this.dropAll();
  }

  /** Goes back, to write again what follows an event. @param lastArrived the position of that event, the last that the client has. */
  protected resumeAfter(lastArrived: number): void {
    this.nextPosition = lastArrived + 1;
    this.#writtenBytes = 0;
    for (let position = this.#firstKept; position <= lastArrived; position += 1)
      this.#writtenBytes += this.#at(position).length;
  }

  protected forgetWritten(): void {
    while (this.#firstKept < this.nextPosition) this.#dropFirst();
  }

  /** Skips dropped events. @returns how many were dropped before they were written. */
  protected skipDropped(): number {
    const unskipped = this.nextPosition;
    this.nextPosition = Math.max(unskipped, this.#firstKept);
    return this.nextPosition - unskipped;
  }

  /** Copies events out of the blocks of memory that they are slices of. */
  compact(): void {
    for (let index = 0; index < this.#kept.length; index += 1) {
      const kept = this.#kept.at(index);
      if (kept instanceof Buffer) this.#kept.replace(index, kept.toString('latin1'));
    }
  }

  /** Called when the stream cannot be resumed any more. What is being written goes on. */
  release(): void {
    this.#memory?.give(this.#takenBytes);
    this.#takenBytes = 0;
    this.#countedBytes = 0;
    this.#firstUncounted = this.lastPosition + 1;
  }

  dropAll(): void {
    const callbacks = this.#takeCallbacks();
    this.release();
    this.#kept.clear();
    this.#writtenBytes = 0;
    this.#firstKept = this.nextPosition = this.#firstUncounted;
    for (const onLost of callbacks) onLost();
  }

  /** Drops unwritten events with `onLost`, and calls it. The client is not told. */
  dropWithCallback(): void {
    for (const onLost of this.#takeCallbacks()) onLost();
  }

  #takeCallbacks(): readonly (() => void)[] {
    const callbacks: (() => void)[] = [];
    for (let position = Math.max(this.nextPosition, this.#firstKept); position <= this.lastPosition; position += 1) {
      const kept = this.#at(position);
      const onLost = onLostOf(kept);
      if (onLost === undefined) continue;
      callbacks.push(onLost);
      if (position < this.#firstUncounted) this.#countedBytes -= kept.length;
      this.#replace(position, WITHDRAWN_EVENT);
    }
    return callbacks;
  }

  #at(position: number): KeptEventBytes {
    return this.#kept.at(position - this.#firstKept) ?? LOST_EVENT;
  }

  #replace(position: number, event: KeptEventBytes): void {
    if (position < this.nextPosition) this.#writtenBytes += event.length - this.#at(position).length;
    this.#kept.replace(position - this.#firstKept, event);
  }

  /** Drops the oldest written events. The latest stay, since they may not have arrived, and the very last one whatever its size. */
  #trimWritten(): void {
    const first = this.isResumable ? this.nextPosition - 1 : this.nextPosition;
    while (this.#firstKept < first) {
      if (first < this.nextPosition && this.#writtenBytes <= WRITTEN_BYTES_KEPT && this.#kept.at(0) !== LOST_EVENT)
        return;
      this.#dropFirst();
    }
  }

  /** Counts the events before this position in the memory. Older events make room for newer ones. */
  #countTo(end: number): void {
    const memory = this.#memory;
    while (memory !== undefined && this.#firstUncounted < end) {
      const kept = this.#at(this.#firstUncounted);
      // A new event evicts others only if it could fit at all, and only an answer evicts other streams.
      const mayBeKept = memory.mayKeep(kept.length);
      const isAnswer = this.isCompleteAt(this.#firstUncounted);
      if (mayBeKept && this.#tryTake(memory, kept.length, isAnswer && this.#firstKept === this.#firstUncounted)) {
        this.#countedBytes += kept.length;
      } else if (mayBeKept && this.#firstKept < this.#firstUncounted) {
        this.#dropFirst();
        continue;
      } else {
        this.#dropWithoutRoom(memory, this.#firstUncounted);
      }
      this.#firstUncounted += 1;
    }
  }

  #tryTake(memory: EventMemory, bytes: number, mayTakeFromOthers: boolean): boolean {
    if (this.#firstUncounted - this.#firstKept >= memory.countMax) return false;
    const missingBytes = this.#countedBytes + bytes - this.#takenBytes;
    if (missingBytes <= 0) return true;
    let takenBytes = Math.max(missingBytes, TAKEN_BYTES_MIN);
    if (!memory.tryTake(takenBytes, this, false)) {
      takenBytes = missingBytes;
      if (!memory.tryTake(takenBytes, this, mayTakeFromOthers)) return false;
    }
    this.#takenBytes += takenBytes;
    return true;
  }

  #dropFirst(): void {
    const kept = this.#kept.shift() ?? LOST_EVENT;
    if (this.#firstKept < this.nextPosition) this.#writtenBytes -= kept.length;
    if (this.#firstKept < this.#firstUncounted) this.#countedBytes = Math.max(0, this.#countedBytes - kept.length);
    else this.#firstUncounted += 1;
    this.#firstKept += 1;
    const spareBytes = this.#takenBytes - this.#countedBytes;
    if (spareBytes > (this.#kept.length > 0 ? WRITTEN_BYTES_KEPT : 0)) {
      this.#takenBytes -= spareBytes;
      this.#memory?.give(spareBytes);
    }
    if (this.#firstKept <= this.nextPosition) return;
    // An event that is being written still reaches the client, unless it is cut.
    if (this.#firstKept === this.nextPosition + 1 && this.isSending) this.#onCut = onLostOf(kept);
    else onLostOf(kept)?.();
  }

  /** Drops an event for which there is no room, even alone. An error replaces an answer; without room for the error, the stream is lost. */
  #dropWithoutRoom(memory: EventMemory, position: number): void {
    const kept = this.#at(position);
    const onLost = position >= this.nextPosition ? onLostOf(kept) : undefined;
    this.#replace(position, LOST_EVENT);
    if (this.isCompleteAt(position)) {
      const error = this.lostAnswerError(position);
      if (error !== undefined && this.#tryTake(memory, error.length, true)) {
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

// A first-in, first-out queue. Unlike `Array.prototype.shift`, taking an item costs the same at any length. Hot path.

/** Items move to the front once more slots than this are free before them, and at least as many as there are items. */
const SPARE_SLOTS = 32;

export class Fifo<Item> {
  readonly #items: (Item | undefined)[] = [];
  #first = 0;

  get length(): number {
    return this.#items.length - this.#first;
  }

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
    if (this.#first > SPARE_SLOTS && this.#first >= this.length) {
      this.#items.copyWithin(0, this.#first);
      this.#items.length -= this.#first;
      this.#first = 0;
    }
    return item;
  }

  clear(): void {
    this.#items.length = 0;
    this.#first = 0;
  }
}
