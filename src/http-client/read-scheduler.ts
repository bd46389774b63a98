// Decides which connection may be read from. What a backend sends is processed in the turn of the event loop in which it is read, so one
// turn has a limit for all connections together: in bytes, and in time, since a thousand small events cost as much as one large answer.
// Once the limit is reached, connections with more data rest: reading from them stops until they are released in a later turn. Subjects
// take turns, so a subject that streams on two hundred connections waits only behind itself. Small reads have a time budget of their own,
// in which they do not wait for larger ones, since even a small answer can cause much work, such as opening a session. Hot path: an answer
// that comes in one piece costs one subtraction.
//
//   reading ── its slice, or the turn, is used up ──> waiting ── its turn ──> released ── ... used up ──> waiting
//   released, and not read from before the turn is used up ──> next: released before those that wait
//   reading ── a small read, and the time for small reads is used up ──> waiting among the small ── its turn ──> released
//   waiting, next, released ── the answer is over ──> gone
import { FairQueueEntry, FairQueue, type QueueBounds, ListNode, TurnScheduler, copied } from '../fair/index.js';
import { limits, KIB, MIB } from '../shared/index.js';
import { connectionBounds } from './connection-bounds.js';

/**
 * Bytes read of one answer before all other connections have their turn. Beyond that, the rest is read in its next turn. Small events cost
 * 2 to 4 ms for 64 KiB.
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
 * Connections of one worker that are reserved for replies to backends, since calls that depend on replies may hold all others. Beyond that,
 * further replies use connections for calls.
 */
export const REPLY_CONNECTIONS_MAX = 512;

/** Resting connections released per turn: with a slice each, they leave most of the turn to answers that fit in a slice. */
const RELEASED_MAX = 4;

export interface TurnReader {
  /** Stops reading until `readOn`. */
  stopReading(): void;
  /** Reads again. @param bytes after which the connection has to rest. */
  readOn(bytes: number): void;
}

/** The queues need no bounds: a connection waits at most once, and the number of connections is bounded. */
const BOUNDS: QueueBounds = [Infinity, Infinity];

/** A connection whose answer takes several turns. Linked in a list while it is released or among the next. */
export class ReadQueueEntry extends ListNode {
  readonly subject: string;
  readonly reader: TurnReader;
  /** Whether reading from the connection is stopped until its turn. */
  isResting = false;
  /** Set while the connection waits in the queue of its subject. */
  waiting: { leave(): void } | undefined = undefined;
  /** The turn in which the connection was last released; -1 once something was read from it. */
  releasedInTurn = -1;

  constructor(subject: string, reader: TurnReader) {
    super();
    this.subject = subject;
    this.reader = reader;
  }
}

export class ReadScheduler {
  readonly #nowMs: () => number;
  readonly #waiting = new FairQueue<ReadQueueEntry>(...BOUNDS);
  /** For small reads: those that do not pass are kept until their connection's turn. */
  readonly #small: TurnScheduler;
  /** Connections to release first in the next turn, and those that were released. */
  readonly #next = new ListNode();
  readonly #released = new ListNode();
  /** What is left of the turn, in bytes, and when it began. */
  #bytesLeft = 0;
  #startMs = 0;
  #keptBytes = 0;
  #turn = 0;
  /** Whether an answer that continues has used part of this turn. */
  #isBegun = false;
  #isUsedUp = false;
  /** False between the reads of released connections and the next read: what the event loop does in between is not counted. */
  #isTimed = false;
  #isTurnDue = false;
  readonly #onTurn = (): void => {
    this.#isTurnDue = false;
    this.#isBegun = false;
    this.#turn += 1;
    this.#releaseSome();
  };

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
    const { upstreamSmallReadsUntimedMax: untimedMax } = connectionBounds;
    this.#small = new TurnScheduler({ untimedMax, turnMs: limits.turnMs, waiting: BOUNDS }, nowMs);
  }

  /** Counts the last piece of an answer, or a whole answer. */
  noteLast(bytes: number): void {
    this.#bytesLeft -= bytes;
  }

  /**
   * Counts a piece of an answer that continues.
   * @param entry of the connection, if it already has one.
   * @returns whether the turn is used up: the connection then has to rest.
   */
  notePiece(bytes: number, entry: ReadQueueEntry | undefined): boolean {
    if (entry !== undefined) entry.releasedInTurn = -1;
    if (this.#isBegun) {
      this.#bytesLeft -= bytes;
      return this.#isOver();
    }
    // The first piece of a turn is usually the only one, and not worth a second look at the clock.
    this.#begin();
    this.#bytesLeft -= bytes;
    return false;
  }

  /** Whether to keep bytes just read until the connection's turn: many answers may begin at once, and each is read before it can rest. */
  mustKeep(bytes: number, subject: string): boolean {
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

  /** Queues a connection until its turn. @param isSmall whether the bytes that were kept of it, if any, are small. */
  rest(entry: ReadQueueEntry, isSmall = false): void {
    if (entry.isResting) return;
    const waiting = isSmall
      ? this.#small.wait(entry.subject, () => this.#release(entry, connectionBounds.upstreamReadBytes))
      : this.#waiting.add(entry.subject, entry);
    if (!(waiting instanceof FairQueueEntry)) return;
    entry.unlink();
    entry.waiting = waiting;
    entry.isResting = true;
    if (!isSmall) this.#planTurn();
  }

  /** The answer is over. */
  leave(entry: ReadQueueEntry): void {
    entry.waiting?.leave();
    entry.waiting = undefined;
    entry.isResting = false;
    entry.unlink();
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

  /** Stops the released connections: otherwise each of them could read once more in this turn, however many there are. */
  #stopAll(): void {
    for (let entry = this.#released.next; entry instanceof ReadQueueEntry; entry = this.#released.next) {
      entry.unlink();
      if (entry.releasedInTurn === this.#turn) {
        entry.isResting = true;
        this.#next.append(entry);
        this.#planTurn();
      } else {
        this.rest(entry);
      }
      entry.reader.stopReading();
    }
  }

  #releaseSome(): void {
    if (!this.#waiting.isReady && !this.#next.isLinked) return;
    const isAlone = this.#waiting.count <= RELEASED_MAX && !this.#next.isLinked;
    const sliceBytes = isAlone ? UPSTREAM_TURN_BYTES_MAX : connectionBounds.upstreamReadBytes;
    // The bytes kept for them are processed here. This plans the next turn, too.
    this.#begin();
    // A connection whose answer ends within its kept bytes costs little, and is not counted.
    for (let count = 0; count < RELEASED_MAX && !this.#isOver();) {
      const entry = this.#choose(count < RELEASED_MAX - 1 || !this.#waiting.isReady);
      if (entry === undefined) break;
      this.#release(entry, sliceBytes);
      if (entry.isLinked || entry.isResting) count += 1;
    }
    this.#isTimed = false;
  }

  #release(entry: ReadQueueEntry, sliceBytes: number): void {
    entry.unlink();
    entry.waiting = undefined;
    entry.isResting = false;
    entry.releasedInTurn = this.#turn;
    this.#released.append(entry);
    entry.reader.readOn(sliceBytes);
  }

  /** @param isNextFirst false for the last of a turn: connections without data return to `#next`, and would starve the others. */
  #choose(isNextFirst: boolean): ReadQueueEntry | undefined {
    const first = this.#next.next;
    return isNextFirst && first instanceof ReadQueueEntry ? first : this.#waiting.take();
  }
}

/** What `ReadPace` needs from its connection. */
export interface PacedConnection {
  /** Whether reading is paused for another reason. */
  readonly isPaused: boolean;
  /** Parses bytes that were kept until now. */
  onBytes(bytes: Buffer): void;
  stopReading(): void;
  readOn(): void;
}

/**
 * The pace of reading from one connection: in slices, between which the connection rests until its turn comes. Bytes that were read when
 * the turn was used up are kept until then. Hot path: an answer that comes in one piece costs a few checks.
 */
export class ReadPace implements TurnReader {
  readonly #turns: ReadScheduler;
  readonly #connection: PacedConnection;
  #sliceBytesLeft: number = UPSTREAM_TURN_BYTES_MAX;
  /** Set while the answer takes more than one turn. */
  #entry: ReadQueueEntry | undefined;
  /** Bytes that were read but not yet parsed. */
  #kept: Buffer | undefined;
  /** Whether reading was stopped for a rest, and not yet started again. */
  #isStopped = false;

  constructor(turns: ReadScheduler, connection: PacedConnection) {
    this.#turns = turns;
    this.#connection = connection;
  }

  get isResting(): boolean {
    return this.#entry?.isResting === true;
  }

  /** A piece of an answer that continues. Without slices, libuv would read a busy connection many times before any other. */
  onPiece(bytes: number, subject: string): void {
    this.#sliceBytesLeft -= bytes;
    const isTurnOver = this.#turns.notePiece(bytes, this.#entry);
    if (isTurnOver || this.#sliceBytesLeft <= 0) this.#rest(subject);
  }

  /** @returns whether the bytes were kept until the connection's turn. TLS may still deliver more, which are kept as well. */
  tryKeep(bytes: Buffer, subject: string): boolean {
    if (this.#kept === undefined && !this.#turns.mustKeep(bytes.length, subject)) return false;
    if (!this.#rest(subject, isSmall(bytes))) return false;
    this.#turns.keep(bytes.length);
    this.#kept = this.#kept === undefined ? copied(bytes) : Buffer.concat([this.#kept, bytes]);
    return true;
  }

  /** Reads from the connection again, unless it rests. */
  resume(): void {
    if (this.#entry?.isResting === true) return;
    // Not synchronously: the caller of `resume` is not ready for more data yet.
    if (this.#kept !== undefined && this.#entry !== undefined) this.#turns.rest(this.#entry, isSmall(this.#kept));
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

  /**
   * The answer is over.
   * @param lastBytes of its last piece, or of all of it.
   * @returns whether reading is still stopped, as when the answer ended within kept bytes.
   */
  leave(lastBytes = 0): boolean {
    this.#turns.noteLast(lastBytes);
    this.#sliceBytesLeft = UPSTREAM_TURN_BYTES_MAX;
    const entry = this.#entry;
    if (entry === undefined) return false;
    this.#entry = undefined;
    this.#turns.leave(entry);
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

  /** @param isForSmall whether the kept bytes, if any, are small. @returns whether the connection rests now. */
  #rest(subject: string, isForSmall = false): boolean {
    this.#sliceBytesLeft = UPSTREAM_TURN_BYTES_MAX;
    const entry = (this.#entry ??= new ReadQueueEntry(subject, this));
    this.#turns.rest(entry, isForSmall);
    if (entry.isResting) this.#isStopped = true;
    return entry.isResting;
  }
}

function isSmall({ length }: Buffer): boolean {
  return length <= connectionBounds.upstreamSmallReadBytesMax;
}
