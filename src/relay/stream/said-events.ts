// What one call's stream has said, as its client can still ask for it: the last events that were written, and those that wait
// for a connection, each at its position. They count at the session's keeper as soon as no connection is due to take them; where there is
// no room, the older make room for the newer. Without a keeper only what waits for the connection is here. Hot: a few stores for an event.
//
//   first … written, and kept … next … unwritten … position
import { Fifo } from '../../shared/fifo.js';
import { limits } from '../../shared/limits.js';
import type { CallerStream } from './caller-stream.js';
import { KeptEvent, LOST, type Kept } from './kept-event.js';
import type { StreamKeeper } from './stream-keeper.js';

/** What a stream takes of the keeper's room at once. */
const TAKEN_BYTES_LEAST = 2_048;

export class SaidEvents {
  readonly #keeper: StreamKeeper | undefined;
  readonly #stream: CallerStream;
  /** Of the last event that was said, and of the next one to be written. */
  #position = 0;
  #next = 1;
  /** The events from this position on. */
  readonly #kept = new Fifo<Kept>();
  #first = 1;
  /** Those before this position count at the keeper. */
  #counted = 1;
  #countedBytes = 0;
  /** What the keeper has for them: taken in larger steps, because each costs. */
  #takenBytes = 0;

  constructor(keeper: StreamKeeper | undefined, stream: CallerStream) {
    this.#keeper = keeper;
    this.#stream = stream;
  }

  /** Of the last event that was said; 0 before the first. */
  get position(): number {
    return this.#position;
  }

  /** The position of the next event to be written. */
  get next(): number {
    return this.#next;
  }

  get isAnyUnwritten(): boolean {
    return this.#next <= this.#position;
  }

  /** The next event to be written. */
  get unwritten(): Kept {
    return this.#kept.at(this.#next - this.#first) ?? LOST;
  }

  /** An event was said and written, and nobody can come back for it. */
  pass(): void {
    this.#position += 1;
    this.#first = this.#counted = this.#next = this.#position + 1;
  }

  /** An event was said. */
  add(event: Kept, isWritten: boolean, isAttached: boolean): void {
    this.#position += 1;
    if (isWritten) this.#next = this.#position + 1;
    this.#kept.push(event);
    if (isWritten) this.#countTo(this.#next);
    else if (!isAttached) this.#countTo(this.#position + 1);
    if (isWritten) this.#trimWritten();
  }

  /** The next one was written. */
  onWritten(): void {
    this.#next += 1;
    if (this.#keeper === undefined) {
      this.#kept.shift();
      this.#first = this.#counted = this.#next;
      return;
    }
    this.#countTo(this.#next);
    this.#trimWritten();
  }

  /** No connection is due to take what is unwritten. */
  onDetached(): void {
    if (this.#keeper !== undefined) this.#countTo(this.#position + 1);
    else this.#dropUnwritten();
  }

  /** The client goes on from there. */
  goBackTo(next: number): void {
    this.#next = next;
  }

  /** @returns how many events of those to be written are gone. */
  skipDropped(): number {
    const count = this.#first - this.#next;
    if (count > 0) this.#next = this.#first;
    return Math.max(count, 0);
  }

  /** What stays for longer leaves the blocks of memory that it was cut from. */
  compact(): void {
    for (let index = 0; index < this.#kept.length; index += 1) {
      const kept = this.#kept.at(index);
      if (kept instanceof Buffer) this.#kept.replace(index, kept.toString('latin1'));
    }
  }

  /** Nothing counts at the keeper any more. @param isCleared whether nothing of it is being handed over, either. */
  release(isCleared: boolean): void {
    this.#keeper?.give(this.#takenBytes);
    this.#takenBytes = 0;
    this.#countedBytes = 0;
    this.#counted = this.#position + 1;
    if (!isCleared) return;
    this.#kept.clear();
    this.#first = this.#counted;
  }

  /** Of what was written the last is kept, which may not have arrived; and the very last event, however large it is. */
  #trimWritten(): void {
    while (this.#kept.length > 1 && this.#first < this.#next - 1) {
      if (this.#countedBytes <= limits.writtenBytesKept && this.#kept.at(0) !== LOST) return;
      this.#dropFirst();
    }
  }

  /** The client cannot come back for it. */
  #dropUnwritten(): void {
    for (let index = this.#next - this.#first; index < this.#kept.length; index += 1) {
      onLostOf(this.#kept.at(index) ?? LOST)?.();
    }
    this.#kept.clear();
  }

  /** Has what stands before `end` count, the older making room for the newer. */
  #countTo(end: number): void {
    const keeper = this.#keeper;
    while (keeper !== undefined && this.#counted < end) {
      const kept = this.#kept.at(this.#counted - this.#first) ?? LOST;
      // What has no room when there is nothing else makes no room in vain, and nothing but an answer takes that of others.
      const mayBeHeld = keeper.mayHold(kept.length);
      const isAnswer = this.#stream.isCompleteAt(this.#counted);
      if (mayBeHeld && this.#tryTake(keeper, kept.length, isAnswer && this.#first === this.#counted)) {
        this.#countedBytes += kept.length;
      } else if (mayBeHeld && this.#first < this.#counted) {
        this.#dropFirst();
        continue;
      } else {
        this.#lose(keeper, this.#counted);
      }
      this.#counted += 1;
    }
  }

  #tryTake(keeper: StreamKeeper, bytes: number, mayTakeFromOthers: boolean): boolean {
    const missingBytes = this.#countedBytes + bytes - this.#takenBytes;
    if (missingBytes <= 0) return true;
    let takenBytes = Math.max(missingBytes, TAKEN_BYTES_LEAST);
    if (!keeper.tryTake(takenBytes, this.#stream, false)) {
      takenBytes = missingBytes;
      if (!keeper.tryTake(takenBytes, this.#stream, mayTakeFromOthers)) return false;
    }
    this.#takenBytes += takenBytes;
    return true;
  }

  #dropFirst(): void {
    const kept = this.#kept.shift() ?? LOST;
    if (this.#first < this.#counted) {
      this.#countedBytes -= kept.length;
      const spareBytes = this.#takenBytes - this.#countedBytes;
      if (spareBytes > limits.writtenBytesKept) {
        this.#takenBytes -= spareBytes;
        this.#keeper?.give(spareBytes);
      }
    }
    this.#first += 1;
    if (this.#first > this.#next) onLostOf(kept)?.();
  }

  /** There is no room for it alone. A lost answer leaves a word in its place, or nothing of its stream is left. */
  #lose(keeper: StreamKeeper, position: number): void {
    const index = position - this.#first;
    const onLost = position >= this.#next ? onLostOf(this.#kept.at(index) ?? LOST) : undefined;
    this.#kept.replace(index, LOST);
    if (this.#stream.isCompleteAt(position)) {
      const word = this.#stream.lostAnswer(position);
      if (word !== undefined && this.#tryTake(keeper, word.length, true)) {
        this.#kept.replace(index, word);
        this.#countedBytes += word.length;
      } else {
        keeper.forget(this.#stream);
      }
    }
    onLost?.();
  }
}

function onLostOf(kept: Kept): (() => void) | undefined {
  return kept instanceof KeptEvent ? kept.onLost : undefined;
}
