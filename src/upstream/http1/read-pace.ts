// How fast one connection is read from: in slices, between which it rests until its turn comes (read-turns.ts), and what was
// read when there was no time for it waits until then. Hot: an answer that comes in one piece costs a few looks.
import { limits } from '../../shared/limits.js';
import { copied } from '../../shared/short-memory.js';
import { ReadPlace, type ReadTurns, type TurnReader } from './read-turns.js';

export interface PacedConnection {
  /** Whether it is not to be read from, for another reason. */
  readonly isPaused: boolean;
  /** Something was read that was kept until now. */
  onBytes(bytes: Buffer): void;
  stopReading(): void;
  readOn(): void;
}

export class ReadPace implements TurnReader {
  readonly #turns: ReadTurns;
  readonly #connection: PacedConnection;
  #sliceBytesLeft = 0;
  /** Of an answer that takes more than one turn. */
  #place: ReadPlace | undefined;
  /** What was read and not looked at. */
  #kept: Buffer | undefined;
  /** Nothing is read of the connection since it rests, or has rested. */
  #isStopped = false;

  constructor(turns: ReadTurns, connection: PacedConnection) {
    this.#turns = turns;
    this.#connection = connection;
  }

  get isResting(): boolean {
    return this.#place?.isResting === true;
  }

  /** An answer is to come. */
  begin(): void {
    this.#sliceBytesLeft = limits.upstreamTurnBytesMax;
  }

  /** The last piece of an answer, or all of it. */
  onLast(bytes: number): void {
    this.#turns.noteLast(bytes);
  }

  /** A piece of an answer that goes on. Of a connection that always has more, libuv would read many times before it looks at any other. */
  onPiece(bytes: number, subject: string): void {
    this.#sliceBytesLeft -= bytes;
    const isTurnOver = this.#turns.notePiece(bytes, this.#place);
    if (isTurnOver || this.#sliceBytesLeft <= 0) this.#rest(subject);
  }

  /** @returns whether it was kept, as there is no time for it. More may come behind it, of what TLS has read already. */
  tryKeep(bytes: Buffer, subject: string): boolean {
    if (this.#kept === undefined && !this.#turns.isKept(bytes.length)) return false;
    if (!this.#rest(subject, isSmall(bytes))) return false;
    this.#turns.keep(bytes.length);
    this.#kept = this.#kept === undefined ? copied(bytes) : Buffer.concat([this.#kept, bytes]);
    return true;
  }

  /** Its connection is to be read from again, as far as it does not rest. */
  resume(): void {
    if (this.#place?.isResting === true) return;
    // Not from within: who resumes is not ready for more.
    if (this.#kept !== undefined && this.#place !== undefined) this.#turns.rest(this.#place, isSmall(this.#kept));
    else this.#readOn();
  }

  /** There will be no other time for it. */
  takeKept(): void {
    const kept = this.#kept;
    if (kept === undefined) return;
    this.#kept = undefined;
    this.#turns.giveBackKept(kept.length);
    this.#connection.onBytes(kept);
  }

  /** The answer is over. @returns whether nothing is read of the connection, as when it ends in what was read before. */
  leave(): boolean {
    const place = this.#place;
    if (place === undefined) return false;
    this.#place = undefined;
    this.#turns.leave(place);
    const isStopped = this.#isStopped;
    this.#isStopped = false;
    return isStopped;
  }

  /** For `ReadTurns`, as the next one. */
  stopReading(): void {
    this.#isStopped = true;
    this.#connection.stopReading();
  }

  readOn(sliceBytes: number): void {
    this.#sliceBytesLeft = sliceBytes;
    if (this.#connection.isPaused) return;
    this.takeKept();
    // By what was kept it may have been paused, or its turn used; or the answer is over, and another on its way.
    if (this.isResting) this.stopReading();
    else if (this.#isStopped && !this.#connection.isPaused) this.#readOn();
  }

  #readOn(): void {
    this.#isStopped = false;
    this.#connection.readOn();
  }

  /** @param isForSmall what is kept, if anything is. */
  #rest(subject: string, isForSmall = false): boolean {
    this.#sliceBytesLeft = limits.upstreamTurnBytesMax;
    const place = (this.#place ??= new ReadPlace(subject, this));
    this.#turns.rest(place, isForSmall);
    if (place.isResting) this.#isStopped = true;
    return place.isResting;
  }
}

function isSmall({ length }: Buffer): boolean {
  return length <= limits.upstreamSmallReadBytesMax;
}
