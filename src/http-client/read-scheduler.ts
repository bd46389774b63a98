// Decides which connection may be read from. What a backend sends is processed in the turn of the event loop in which it is read, so one
// turn has a limit for all connections together: in bytes, and in time, since a thousand small events cost as much as one large answer.
// Once the limit is reached, connections with more data rest, and their subjects take turns: a subject that streams on two hundred
// connections waits only behind itself. Small answers have a time budget of their own, in which they wait for nothing larger; they need one
// because an answer of a few hundred bytes can trigger as much work as any, such as opening a session. Hot path: an answer that comes in
// one piece costs one subtraction.
//
//   reading ── its slice, or the turn, is used up ──> waiting ── its turn ──> let go ── ... used up ──> waiting
//   let go, and not read from before the turn is used up ──> next: let go before those that wait
//   reading ── something small came, the time of such is used up ──> waiting among the small ── its turn ──> let go
//   waiting, next, let go ── the answer is over ──> gone
import { FairQueueEntry, FairQueue, type QueueBounds, ListNode, TurnScheduler, copied } from '../fair/index.js';
import { limits, KIB, MIB } from '../shared/index.js';
import { connectionBounds } from './connection-bounds.js';

/**
 * Bytes read of one answer before all other connections have their turn. Beyond that, it is read on in its next turn. Small events cost 2 to
 * 4 ms for 64 KiB.
 */
export const UPSTREAM_TURN_BYTES_MAX = 256 * KIB;
/**
 * Bytes read of answers by all connections of a process in one turn of the event loop. Beyond that, the rest is read later, subjects in
 * turn.
 */
export const UPSTREAM_TURN_BYTES_TOTAL_MAX = MIB;
/**
 * Bytes that were already read when a turn was used up, and wait for their connection's turn. Beyond that, further reads are processed at
 * once.
 */
const UPSTREAM_KEPT_BYTES_MAX = 16 * MIB;
/** Connections of one worker for backends' own streams; at most half of those for calls. Beyond that, the stream is tried again later. */
export const BACKEND_STREAMS_MAX = 8_192;
/**
 * Connections of one worker that are reserved for answers to backends, as the calls that wait for these answers hold the others. Beyond
 * it, further answers use connections for calls.
 */
export const REPLY_CONNECTIONS_MAX = 512;

/** How many connections with more data may read per turn: with a slice each they leave most of it to answers that fit in a slice. */
const LET_GO_MAX = 4;

export interface TurnReader {
  /** Stops reading until `readOn`. */
  stopReading(): void;
  /** @param bytes after which the connection has to rest again. */
  readOn(bytes: number): void;
}

/** A connection waits at most once, and their number is bounded. */
const BOUNDS: QueueBounds = [Infinity, Infinity];

/** The place of a connection whose answer takes several turns; linked in a list while it is let go or among the next. */
export class ReadQueueEntry extends ListNode {
  readonly subject: string;
  readonly reader: TurnReader;
  /** Whether reading from the connection is stopped until its turn. */
  isResting = false;
  /** Its place in the queue of its subject. */
  waiting: { leave(): void } | undefined = undefined;
  /** The turn in which it was let go; -1 once something was read from it. */
  letGoInTurn = -1;

  constructor(subject: string, reader: TurnReader) {
    super();
    this.subject = subject;
    this.reader = reader;
  }
}

export class ReadScheduler {
  readonly #nowMs: () => number;
  readonly #waiting = new FairQueue<ReadQueueEntry>(...BOUNDS);
  /** Small reads: those that do not pass are kept until their connection's turn. */
  readonly #small: TurnScheduler;
  readonly #next = new ListNode();
  readonly #letGo = new ListNode();
  #bytesLeft = 0;
  #startMs = 0;
  #keptBytes = 0;
  #turn = 0;
  /** Whether an answer that continues has used part of this turn. */
  #isBegun = false;
  #isUsedUp = false;
  /** False between the let-go reads and the next read: what else the event loop does in between is not counted. */
  #isTimed = false;
  #isTurnDue = false;
  readonly #onTurn = (): void => {
    this.#isTurnDue = false;
    this.#isBegun = false;
    this.#turn += 1;
    this.#letSomeGo();
    if (this.#hasSome) this.#planTurn();
  };

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
    const { upstreamSmallReadsUntimedMax: untimedMax } = connectionBounds;
    this.#small = new TurnScheduler({ untimedMax, turnMs: limits.turnMs, waiting: BOUNDS }, nowMs);
  }

  /** Counts the last piece of an answer, or a whole one. */
  noteLast(bytes: number): void {
    this.#bytesLeft -= bytes;
  }

  /**
   * Counts a piece of an answer that continues.
   * @param place of the connection, if it already has one.
   * @returns whether the turn is used up: the connection then has to rest.
   */
  notePiece(bytes: number, place: ReadQueueEntry | undefined): boolean {
    if (place !== undefined) place.letGoInTurn = -1;
    if (this.#isBegun) {
      this.#bytesLeft -= bytes;
      return this.#isOver();
    }
    // The first piece of a turn is usually the only one, and not worth a second look at the clock.
    this.#begin();
    this.#bytesLeft -= bytes;
    return false;
  }

  /** Whether to keep the bytes just read until the connection's turn: first pieces cannot be held back, and many may arrive at once. */
  isKept(bytes: number, subject: string): boolean {
    if (bytes <= connectionBounds.upstreamSmallReadBytesMax)
      return !this.#small.tryPass(subject) && this.#hasRoom(bytes);
    if (!this.#isBegun) this.#begin();
    return this.#isOver() && this.#hasRoom(bytes);
  }

  /** Counts bytes that are kept. */
  keep(bytes: number): void {
    this.#keptBytes += bytes;
  }

  /** The kept bytes were processed, or lost. */
  giveBackKept(bytes: number): void {
    this.#keptBytes -= bytes;
  }

  /** Stops reading until the connection's turn comes. @param isSmall whether what was kept of it, if anything, is small. */
  rest(place: ReadQueueEntry, isSmall = false): void {
    if (place.isResting) return;
    const waiting = isSmall
      ? this.#small.wait(place.subject, () => this.#letGoOn(place, connectionBounds.upstreamReadBytes))
      : this.#waiting.add(place.subject, place);
    if (!(waiting instanceof FairQueueEntry)) return;
    place.unlink();
    place.waiting = waiting;
    place.isResting = true;
    if (!isSmall) this.#planTurn();
  }

  /** The answer is over. */
  leave(place: ReadQueueEntry): void {
    place.waiting?.leave();
    place.waiting = undefined;
    place.isResting = false;
    place.unlink();
  }

  /** Whether any connection rests. */
  get #hasSome(): boolean {
    return this.#waiting.hasTurn || this.#next.isLinked;
  }

  #hasRoom(bytes: number): boolean {
    return this.#keptBytes + bytes <= UPSTREAM_KEPT_BYTES_MAX;
  }

  #isOver(): boolean {
    if (this.#isUsedUp) return true;
    if (!this.#isTimed) this.#time();
    if (this.#bytesLeft > 0 && this.#nowMs() - this.#startMs < limits.turnMs) return false;
    this.#isUsedUp = true;
    this.#stopAll();
    return true;
  }

  #begin(): void {
    this.#isBegun = true;
    this.#isUsedUp = false;
    this.#bytesLeft = UPSTREAM_TURN_BYTES_TOTAL_MAX;
    this.#time();
    this.#planTurn();
  }

  #time(): void {
    this.#isTimed = true;
    this.#startMs = this.#nowMs();
  }

  #planTurn(): void {
    if (this.#isTurnDue) return;
    this.#isTurnDue = true;
    setImmediate(this.#onTurn);
  }

  /** Without this, each connection that was let go could read once more in this turn, however many there are. */
  #stopAll(): void {
    for (let place = this.#letGo.next; place instanceof ReadQueueEntry; place = this.#letGo.next) {
      place.unlink();
      if (place.letGoInTurn === this.#turn) {
        place.isResting = true;
        this.#next.append(place);
        this.#planTurn();
      } else {
        this.rest(place);
      }
      place.reader.stopReading();
    }
  }

  #letSomeGo(): void {
    if (!this.#waiting.hasTurn && !this.#next.isLinked) return;
    const isAlone = this.#waiting.count <= LET_GO_MAX && !this.#next.isLinked;
    const sliceBytes = isAlone ? UPSTREAM_TURN_BYTES_MAX : connectionBounds.upstreamReadBytes;
    // The bytes kept for them are processed here.
    this.#begin();
    // A connection whose answer ends within its kept bytes costs no more than those, and is not counted.
    for (let count = 0; count < LET_GO_MAX && !this.#isOver();) {
      const place = this.#first(count < LET_GO_MAX - 1 || !this.#waiting.hasTurn);
      if (place === undefined) break;
      this.#letGoOn(place, sliceBytes);
      if (place.isLinked || place.isResting) count += 1;
    }
    this.#isTimed = false;
  }

  #letGoOn(place: ReadQueueEntry, sliceBytes: number): void {
    place.unlink();
    place.waiting = undefined;
    place.isResting = false;
    place.letGoInTurn = this.#turn;
    this.#letGo.append(place);
    place.reader.readOn(sliceBytes);
  }

  /** @param isNextFirst false for the last of a turn: connections with nothing to read return to `next` and would starve others. */
  #first(isNextFirst: boolean): ReadQueueEntry | undefined {
    const first = this.#next.next;
    return isNextFirst && first instanceof ReadQueueEntry ? first : this.#waiting.take();
  }
}

// The pace of reading from one connection: in slices, between which it rests until its turn comes (read-scheduler.ts). Bytes read when there
// was no time for them are kept until then. Hot path: an answer that comes in one piece costs a few checks.

export interface PacedConnection {
  /** Whether reading is paused for another reason. */
  readonly isPaused: boolean;
  /** Receives bytes that were kept until now. */
  onBytes(bytes: Buffer): void;
  stopReading(): void;
  readOn(): void;
}

export class ReadPace implements TurnReader {
  readonly #turns: ReadScheduler;
  readonly #connection: PacedConnection;
  #sliceBytesLeft = 0;
  /** The connection's place among the turns, while its answer takes more than one. */
  #place: ReadQueueEntry | undefined;
  /** Bytes that were read but not yet parsed. */
  #kept: Buffer | undefined;
  /** Whether the connection's reads are stopped because it rests or has rested. */
  #isStopped = false;

  constructor(turns: ReadScheduler, connection: PacedConnection) {
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
    if (this.#kept === undefined && !this.#turns.isKept(bytes.length, subject)) return false;
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

  /** Called by `ReadScheduler`, like `readOn`. */
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
    const place = (this.#place ??= new ReadQueueEntry(subject, this));
    this.#turns.rest(place, isForSmall);
    if (place.isResting) this.#isStopped = true;
    return place.isResting;
  }
}

function isSmall({ length }: Buffer): boolean {
  return length <= connectionBounds.upstreamSmallReadBytesMax;
}
