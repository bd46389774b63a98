// The pace of reading from one connection: in slices, between which it rests until its turn comes (read-turns.ts). Bytes read when there
// was no time for them are kept until then. Hot path: an answer that comes in one piece costs a few checks.
import { copied } from '../fair/index.js';
import { ReadPlace, type ReadTurns, type TurnReader, UPSTREAM_TURN_BYTES_MAX } from './read-turns.js';
import { connectionBounds } from './connection-bounds.js';

export interface PacedConnection {
  /** Whether reading is paused for another reason. */
  readonly isPaused: boolean;
  /** Receives bytes that were kept until now. */
  onBytes(bytes: Buffer): void;
  stopReading(): void;
  readOn(): void;
}

export class ReadPace implements TurnReader {
  readonly #turns: ReadTurns;
  readonly #connection: PacedConnection;
  #sliceBytesLeft = 0;
  /** The connection's place among the turns, while its answer takes more than one. */
  #place: ReadPlace | undefined;
  /** Bytes that were read but not yet parsed. */
  #kept: Buffer | undefined;
  /** Whether the connection's reads are stopped because it rests or has rested. */
  #isStopped = false;

  constructor(turns: ReadTurns, connection: PacedConnection) {
    this.#turns = turns;
    this.#connection = connection;
  }

  get isResting(): boolean {
    return this.#place?.isResting === true;
  }

  /** A response is expected. */
  begin(): void {
    this.#sliceBytesLeft = UPSTREAM_TURN_BYTES_MAX;
  }

  /** The last piece of an answer, or a whole one. */
  onLast(bytes: number): void {
    this.#turns.noteLast(bytes);
  }

  /** A piece of an answer that continues. Without slices, libuv would read a busy connection many times before any other. */
  onPiece(bytes: number, subject: string): void {
    this.#sliceBytesLeft -= bytes;
    const isTurnOver = this.#turns.notePiece(bytes, this.#place);
    if (isTurnOver || this.#sliceBytesLeft <= 0) this.#rest(subject);
  }

  /** @returns whether the bytes were kept for lack of time. More may follow, which TLS has already read. */
  tryKeep(bytes: Buffer, subject: string): boolean {
    if (this.#kept === undefined && !this.#turns.isKept(bytes.length)) return false;
    if (!this.#rest(subject, isSmall(bytes))) return false;
    this.#turns.keep(bytes.length);
    this.#kept = this.#kept === undefined ? copied(bytes) : Buffer.concat([this.#kept, bytes]);
    return true;
  }

  /** Reads from the connection again, unless it rests. */
  resume(): void {
    if (this.#place?.isResting === true) return;
    // Not synchronously: the caller of `resume` is not ready for more data yet.
    if (this.#kept !== undefined && this.#place !== undefined) this.#turns.rest(this.#place, isSmall(this.#kept));
    else this.#readOn();
  }

  /** Processes the kept bytes now, because there will be no later time for them. */
  takeKept(): void {
    const kept = this.#kept;
    if (kept === undefined) return;
    this.#kept = undefined;
    this.#turns.giveBackKept(kept.length);
    this.#connection.onBytes(kept);
  }

  /** The answer is over. @returns whether reads are stopped, as when it ended within bytes read before. */
  leave(): boolean {
    const place = this.#place;
    if (place === undefined) return false;
    this.#place = undefined;
    this.#turns.leave(place);
    const isStopped = this.#isStopped;
    this.#isStopped = false;
    return isStopped;
  }

  /** Called by `ReadTurns`, like `readOn`. */
  stopReading(): void {
    this.#isStopped = true;
    this.#connection.stopReading();
  }

  readOn(sliceBytes: number): void {
    this.#sliceBytesLeft = sliceBytes;
    if (this.#connection.isPaused) return;
    this.takeKept();
    // Processing the kept bytes may have paused the connection or used up its turn, or ended the answer and begun another.
    if (this.isResting) this.stopReading();
    else if (this.#isStopped && !this.#connection.isPaused) this.#readOn();
  }

  #readOn(): void {
    this.#isStopped = false;
    this.#connection.readOn();
  }

  /** @param isForSmall whether the kept bytes, if any, are small. */
  #rest(subject: string, isForSmall = false): boolean {
    this.#sliceBytesLeft = UPSTREAM_TURN_BYTES_MAX;
    const place = (this.#place ??= new ReadPlace(subject, this));
    this.#turns.rest(place, isForSmall);
    if (place.isResting) this.#isStopped = true;
    return place.isResting;
  }
}

function isSmall({ length }: Buffer): boolean {
  return length <= connectionBounds.upstreamSmallReadBytesMax;
}
