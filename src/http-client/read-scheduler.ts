// Decides which connection may be read from. What a backend sends is processed in the turn of the event loop in which it is read, so a turn
// has a limit for all connections together, in bytes and in time. At the limit, connections with more data rest: they are not read from
// until they are released in a later turn. Subjects are served round robin, so a subject that streams on two hundred connections delays
// only itself. Small reads do not wait behind larger ones; their time in a turn has a limit of its own, since even a small answer can cause
// much work. Hot path: an answer that comes in one piece costs one subtraction.
//
//   reading ── its slice, or the turn, is used up ──> waiting ── its subject is next ──> released ── ... used up ──> waiting
//   released, and not read from before the turn is used up ──> next: released before those that wait
//   reading ── a small read, and the time for small reads is used up ──> waiting among the small ── its subject is next ──> released
//   waiting, next, released ── the answer is over ──> gone
import { FairQueueEntry, FairQueue, type QueueBounds, ListNode, TurnScheduler, copied } from '../fair/index.js';
import { limits, KIB, MIB } from '../shared/index.js';
import { connectionBounds } from './connection-bounds.js';

/** A slice: bytes that are read of one answer before other connections are read. 64 KiB of small events take 2 to 4 ms. */
export const UPSTREAM_SLICE_BYTES_MAX = 256 * KIB;
/** Bytes of all answers in one turn of the event loop. */
export const UPSTREAM_TURN_BYTES_TOTAL_MAX = MIB;
/** Bytes kept in memory because they were read when the turn was used up. Beyond that, reads are processed at once. */
export const UPSTREAM_KEPT_BYTES_MAX = 16 * MIB;
/** Connections per worker for backends' own streams; at most half of those for calls. */
export const BACKEND_STREAMS_MAX = 8_192;
/** Connections per worker for replies, for which calls wait. Beyond that, replies use the connections for calls. */
export const REPLY_CONNECTIONS_MAX = 512;

/** Connections released per turn: with a slice each, they leave most of the turn to answers that fit in a slice. */
const RELEASED_PER_TURN_MAX = 4;

/** The queues need no bounds: each connection waits at most once, and the number of connections is bounded. */
const NO_BOUNDS: QueueBounds = [Infinity, Infinity];

/** A connection whose answer takes several turns. Linked while it is in the scheduler's list `#nextToRelease` or `#released`. */
export class ReadQueueEntry extends ListNode {
  readonly subject: string;
  readonly reader: Pick<ReadPace, 'stopReading' | 'resumeReading'>;
  /** Whether the connection rests: it is not read from until it is released. */
  isResting = false;
  /** The connection's place in a queue, while it waits. */
  waiting: { leave(): void } | undefined = undefined;
  /** The turn in which the connection was last released; -1 once something was read since. */
  releasedInTurn = -1;

  constructor(subject: string, reader: ReadQueueEntry['reader']) {
    super();
    this.subject = subject;
    this.reader = reader;
  }
}

export class ReadScheduler {
  readonly #nowMs: () => number;
  readonly #waiting = new FairQueue<ReadQueueEntry>(...NO_BOUNDS);
  readonly #smallReads: TurnScheduler;
  /** The connections to release first in the next turn. */
  readonly #nextToRelease = new ListNode();
  /** The connections that were released, and do not rest yet. */
  readonly #released = new ListNode();
  /** How many bytes are left of the turn. `#timedSinceMs`: since when its time counts. */
  #bytesLeft = 0;
  #timedSinceMs = 0;
  /** Bytes that connections keep until they are released. `ReadPace` changes this number. */
  keptBytes = 0;
  #turn = 0;
  /** Whether an unfinished answer has used part of this turn. */
  #isTurnBegun = false;
  #isUsedUp = false;
  /** Whether the turn's time counts now: not between the release of connections and the next read, because other work lies in between. */
  #isTimed = false;
  #isTurnDue = false;
  readonly #onTurn = (): void => {
    this.#isTurnDue = false;
    this.#isTurnBegun = false;
    this.#turn += 1;
    this.#releaseSome();
  };

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
    const { upstreamSmallReadsUntimedMax: untimedMax } = connectionBounds;
    this.#smallReads = new TurnScheduler({ untimedMax, turnMs: limits.turnMs, waiting: NO_BOUNDS }, nowMs);
  }

  noteLastPiece(bytes: number): void {
    this.#bytesLeft -= bytes;
  }

  /** Counts a piece of an unfinished answer. @returns whether the turn is used up, so that the connection has to rest. */
  notePiece(bytes: number, entry: ReadQueueEntry | undefined): boolean {
    if (entry !== undefined) entry.releasedInTurn = -1;
    if (this.#isTurnBegun) {
      this.#bytesLeft -= bytes;
      return this.#checkUsedUp();
    }
    // The first piece is usually the only one, and not worth another look at the clock.
    this.#beginTurn();
    this.#bytesLeft -= bytes;
    return false;
  }

  /** Whether bytes just read must be kept until the connection is released: the turn is used up, and there is room to keep them. */
  mustKeep(bytes: number, subject: string): boolean {
    if (bytes <= connectionBounds.upstreamSmallReadBytesMax)
      return !this.#smallReads.tryPass(subject) && this.#hasRoom(bytes);
    if (!this.#isTurnBegun) this.#beginTurn();
    return this.#checkUsedUp() && this.#hasRoom(bytes);
  }

  /** Lets a connection rest, and queues it. @param isSmall whether it waits among the small reads. */
  rest(entry: ReadQueueEntry, isSmall = false): void {
    if (entry.isResting) return;
    const waiting = isSmall
      ? this.#smallReads.wait(entry.subject, () => this.#release(entry, connectionBounds.upstreamReadBytes))
      : this.#waiting.add(entry.subject, entry);
    if (!(waiting instanceof FairQueueEntry)) return;
    entry.unlink();
    entry.waiting = waiting;
    entry.isResting = true;
    if (!isSmall) this.#scheduleTurn();
  }

  leave(entry: ReadQueueEntry): void {
    entry.waiting?.leave();
    entry.waiting = undefined;
    entry.isResting = false;
    entry.unlink();
  }

  #hasRoom(bytes: number): boolean {
    return this.keptBytes + bytes <= UPSTREAM_KEPT_BYTES_MAX;
  }

  #checkUsedUp(): boolean {
    if (this.#isUsedUp) return true;
    if (!this.#isTimed) this.#startClock();
    if (this.#bytesLeft > 0 && this.#nowMs() - this.#timedSinceMs < limits.turnMs) return false;
    this.#isUsedUp = true;
    this.#stopAll();
    return true;
  }

  #beginTurn(): void {
    this.#isTurnBegun = true;
    this.#isUsedUp = false;
    this.#bytesLeft = UPSTREAM_TURN_BYTES_TOTAL_MAX;
    this.#startClock();
    this.#scheduleTurn();
  }

  #startClock(): void {
    this.#isTimed = true;
    this.#timedSinceMs = this.#nowMs();
  }

  #scheduleTurn(): void {
    if (this.#isTurnDue) return;
    this.#isTurnDue = true;
    setImmediate(this.#onTurn);
  }

  /** Stops the reads of all connections that were released: otherwise each of them could read once more in this turn. */
  #stopAll(): void {
    for (let entry = this.#released.next; entry instanceof ReadQueueEntry; entry = this.#released.next) {
      entry.unlink();
      if (entry.releasedInTurn === this.#turn) {
        entry.isResting = true;
        this.#nextToRelease.append(entry);
        this.#scheduleTurn();
      } else {
        this.rest(entry);
      }
      entry.reader.stopReading();
    }
  }

  #releaseSome(): void {
    if (!this.#waiting.isReady && !this.#nextToRelease.isLinked) return;
    const isAlone = this.#waiting.count <= RELEASED_PER_TURN_MAX && !this.#nextToRelease.isLinked;
    const sliceBytes = isAlone ? UPSTREAM_SLICE_BYTES_MAX : connectionBounds.upstreamReadBytes;
    // The turn begins here, because the kept bytes of the released connections are processed in it. This plans the next turn, too.
    this.#beginTurn();
    // A connection whose answer ends within its kept bytes costs little, and is not counted.
    for (let count = 0; count < RELEASED_PER_TURN_MAX && !this.#checkUsedUp();) {
      const entry = this.#takeNext(count < RELEASED_PER_TURN_MAX - 1 || !this.#waiting.isReady);
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
    entry.reader.resumeReading(sliceBytes);
  }

  /** @param isNextFirst false for the last of a turn: connections without data return to `#nextToRelease`, so those in `#waiting` could starve. */
  #takeNext(isNextFirst: boolean): ReadQueueEntry | undefined {
    const first = this.#nextToRelease.next;
    return isNextFirst && first instanceof ReadQueueEntry ? first : this.#waiting.take();
  }
}

export interface PacedConnection {
  readonly isPaused: boolean;
  onBytes(bytes: Buffer): void;
  stopReading(): void;
  resumeReading(): void;
}

/** Reads one connection in slices. Bytes that are too many for a turn are kept until the connection is released. Hot path: a few checks. */
export class ReadPace {
  readonly #scheduler: ReadScheduler;
  readonly #connection: PacedConnection;
  #sliceBytesLeft: number = UPSTREAM_SLICE_BYTES_MAX;
  /** The connection's entry, if the answer takes more than one turn. */
  #entry: ReadQueueEntry | undefined;
  #kept: Buffer | undefined;
  #isStopped = false;

  constructor(scheduler: ReadScheduler, connection: PacedConnection) {
    this.#scheduler = scheduler;
    this.#connection = connection;
  }

  get isResting(): boolean {
    return this.#entry?.isResting === true;
  }

  /** Counts a piece. Without slices, libuv would read a busy connection many times before any other. */
  onPiece(bytes: number, subject: string): void {
    this.#sliceBytesLeft -= bytes;
    const isTurnOver = this.#scheduler.notePiece(bytes, this.#entry);
    if (isTurnOver || this.#sliceBytesLeft <= 0) this.#rest(subject);
  }

  /** Keeps bytes that must wait. @returns whether they were kept. Once some are kept, all that TLS still delivers are kept, too. */
  tryKeep(bytes: Buffer, subject: string): boolean {
    if (this.#kept === undefined && !this.#scheduler.mustKeep(bytes.length, subject)) return false;
    if (!this.#rest(subject, isSmall(bytes))) return false;
    this.#scheduler.keptBytes += bytes.length;
    this.#kept = this.#kept === undefined ? copied(bytes) : Buffer.concat([this.#kept, bytes]);
    return true;
  }

  resume(): void {
    if (this.#entry?.isResting === true) return;
    // The kept bytes are not processed here, because the caller is not ready for data yet: the connection rests until it is released.
    if (this.#kept !== undefined && this.#entry !== undefined) this.#scheduler.rest(this.#entry, isSmall(this.#kept));
    else this.#resumeNow();
  }

  processAllKept(): void {
    while (this.#kept !== undefined) this.#processKept();
  }

  #processKept(): void {
    const kept = this.#kept;
    if (kept === undefined) return;
    this.#kept = undefined;
    this.#scheduler.keptBytes -= kept.length;
    this.#connection.onBytes(kept);
  }

  /** Ends an answer. @param lastBytes bytes of its last piece. @returns whether reading is still stopped. */
  endAnswer(lastBytes = 0): boolean {
    this.#scheduler.noteLastPiece(lastBytes);
    this.#sliceBytesLeft = UPSTREAM_SLICE_BYTES_MAX;
    const entry = this.#entry;
    if (entry === undefined) return false;
    this.#entry = undefined;
    this.#scheduler.leave(entry);
    const isStopped = this.#isStopped;
    this.#isStopped = false;
    return isStopped;
  }

  stopReading(): void {
    this.#isStopped = true;
    this.#connection.stopReading();
  }

  resumeReading(sliceBytes: number): void {
    this.#sliceBytesLeft = sliceBytes;
    if (this.#connection.isPaused) return;
    this.#processKept();
    // Processing the kept bytes may have paused the connection, used up the turn, or ended the answer.
    if (this.isResting) this.stopReading();
    else if (this.#isStopped && !this.#connection.isPaused) this.#resumeNow();
  }

  #resumeNow(): void {
    this.#isStopped = false;
    this.#connection.resumeReading();
  }

  /** Lets the connection rest. @returns whether it rests now. */
  #rest(subject: string, isForSmall = false): boolean {
    this.#sliceBytesLeft = UPSTREAM_SLICE_BYTES_MAX;
    const entry = (this.#entry ??= new ReadQueueEntry(subject, this));
    this.#scheduler.rest(entry, isForSmall);
    if (entry.isResting) this.#isStopped = true;
    return entry.isResting;
  }
}

function isSmall({ length }: Buffer): boolean {
  return length <= connectionBounds.upstreamSmallReadBytesMax;
}
