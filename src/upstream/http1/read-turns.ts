// Whose turn it is to be read from. What a backend sends is dealt with in the turn of the event loop in which it is read, so
// that there is a bound on what all connections together may bring in one turn: in bytes, and in time, since a thousand small
// events cost as much as a large answer. When it is reached, whoever has more to say rests, and subjects have their turns: who
// streams on two hundred connections waits behind himself. Small answers have a time of their own, in which they wait for
// nothing larger: what one of a few hundred bytes makes a worker do, as to open a session, may be as dear as any. Hot: an answer
// that comes in one piece costs a subtraction.
//
//   reading ── its slice, or the turn, is used up ──> waiting ── its turn ──> let go ── ... used up ──> waiting
//   let go, and not read from before the turn is used up ──> next: let go before those that wait
//   reading ── something small came, the time of such is used up ──> waiting among the small ── its turn ──> let go
//   waiting, next, let go ── the answer is over ──> gone
import { FairPlace, FairQueue, type FairQueueBounds } from '../../shared/fair-queue.js';
import { limits } from '../../shared/limits.js';
import { ListNode } from '../../shared/list-node.js';

/** So many that have more to come are let go in one turn: with a slice each they leave most of it to answers that are no longer than a slice. */
const LET_GO_MAX = 4;

export interface TurnReader {
  /** Is read from no more until `readOn`. */
  stopReading(): void;
  /** @param bytes after which it has to rest again. */
  readOn(bytes: number): void;
}

/** A connection waits once at most, so there is room for every one. */
const BOUNDS: FairQueueBounds = {
  itemsMax: limits.upstreamConnectionsTotalMax + limits.backendStreamsMax + limits.replyConnectionsMax,
  itemsPerKeyMax: limits.upstreamConnectionsTotalMax,
};

/** Where a connection stands whose answer takes more than one turn; in a list while it is let go, or is among the next. */
export class ReadPlace extends ListNode {
  readonly subject: string;
  readonly reader: TurnReader;
  /** Nothing is read from it. */
  isResting = false;
  /** Behind those of its subject. */
  waiting: FairPlace<ReadPlace> | undefined = undefined;
  /** The turn in which it was let go, until something of it is read. */
  letGoInTurn = -1;

  constructor(subject: string, reader: TurnReader) {
    super();
    this.subject = subject;
    this.reader = reader;
  }
}

export class ReadTurns {
  readonly #nowMs: () => number;
  readonly #waiting = new FairQueue<ReadPlace>(BOUNDS);
  /** Of whom something small is kept. */
  readonly #small = new FairQueue<ReadPlace>(BOUNDS);
  /** How many more small reads are dealt with before a look at the clock. */
  #smallLeft: number = limits.upstreamSmallReadsUntimedMax;
  /** When those of this turn have had their time; -1 before the first look. */
  #smallEndMs = -1;
  readonly #next = new ListNode();
  readonly #letGo = new ListNode();
  #bytesLeft = 0;
  #startMs = 0;
  #keptBytes = 0;
  #turn = 0;
  /** Whether something of this turn was used by an answer that goes on. */
  #isBegun = false;
  #isUsedUp = false;
  /** Not between what is let go and the first read behind that: what else the event loop does then is not ours. */
  #isTimed = false;
  #isTurnDue = false;
  readonly #onTurn = (): void => {
    this.#isTurnDue = false;
    this.#isBegun = false;
    this.#turn += 1;
    this.#serveSmall();
    this.#letSomeGo();
    if (this.#hasSome) this.#planTurn();
  };

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** The last piece of an answer, or all of it. */
  noteLast(bytes: number): void {
    this.#bytesLeft -= bytes;
  }

  /**
   * A piece of an answer that goes on.
   * @param place of its connection, if it has one by now.
   * @returns whether the turn is used up: then the connection has to rest.
   */
  notePiece(bytes: number, place: ReadPlace | undefined): boolean {
    if (place !== undefined) place.letGoInTurn = -1;
    if (this.#isBegun) {
      this.#bytesLeft -= bytes;
      return this.#isOver();
    }
    // The first of a turn, which mostly is the only one, is not worth a second look at the clock.
    this.#begin();
    this.#bytesLeft -= bytes;
    return false;
  }

  /**
   * Whether what was just read should be kept until the connection's turn comes: the first piece of an answer comes
   * unasked, and may come on many connections at once.
   */
  isKept(bytes: number): boolean {
    if (bytes <= limits.upstreamSmallReadBytesMax) {
      if (this.#smallLeft === 0) return this.#isSmallKept(bytes);
      this.#smallLeft -= 1;
      return false;
    }
    if (!this.#isBegun) this.#begin();
    return this.#isOver() && this.#hasRoom(bytes);
  }

  /** It is kept. */
  keep(bytes: number): void {
    this.#keptBytes += bytes;
  }

  /** It was dealt with, or is lost. */
  giveBackKept(bytes: number): void {
    this.#keptBytes -= bytes;
  }

  /** Its connection is read from no more until its turn comes. @param isSmall what was kept of it, if anything was. */
  rest(place: ReadPlace, isSmall = false): void {
    if (place.isResting) return;
    const waiting = (isSmall ? this.#small : this.#waiting).add(place.subject, place);
    if (!(waiting instanceof FairPlace)) return;
    place.unlink();
    place.waiting = waiting;
    place.isResting = true;
    this.#planTurn();
  }

  /** The answer is over. */
  leave(place: ReadPlace): void {
    place.waiting?.leave();
    place.waiting = undefined;
    place.isResting = false;
    place.unlink();
  }

  /** Whether a connection rests. */
  get #hasSome(): boolean {
    return this.#waiting.hasTurn || this.#next.isLinked || this.#small.hasTurn;
  }

  #isSmallKept(bytes: number): boolean {
    if (this.#smallEndMs === -1) {
      this.#smallEndMs = this.#nowMs() + limits.upstreamTurnMsMax;
      this.#planTurn();
    }
    if (this.#nowMs() < this.#smallEndMs) {
      this.#smallLeft = limits.upstreamSmallReadsUntimedMax - 1;
      return false;
    }
    return this.#hasRoom(bytes);
  }

  #hasRoom(bytes: number): boolean {
    return this.#keptBytes + bytes <= limits.upstreamKeptBytesMax;
  }

  #isOver(): boolean {
    if (this.#isUsedUp) return true;
    if (!this.#isTimed) this.#time();
    if (this.#bytesLeft > 0 && this.#nowMs() - this.#startMs < limits.upstreamTurnMsMax) return false;
    this.#isUsedUp = true;
    this.#stopAll();
    return true;
  }

  #begin(): void {
    this.#isBegun = true;
    this.#isUsedUp = false;
    this.#bytesLeft = limits.upstreamTurnBytesTotalMax;
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

  /** Otherwise each of those that were let go could bring one more read in this turn, however many they are. */
  #stopAll(): void {
    for (let place = this.#letGo.next; place instanceof ReadPlace; place = this.#letGo.next) {
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

  /** They have a time of their own between the turns' reads; while some wait all do, so that each has its turn. */
  #serveSmall(): void {
    if (this.#small.hasTurn) {
      const endMs = this.#nowMs() + limits.upstreamTurnMsMax;
      do {
        const place = this.#small.take();
        if (place === undefined) break;
        this.#letGoOn(place, limits.upstreamReadBytes);
      } while (this.#nowMs() < endMs);
    }
    const isOver = this.#small.hasTurn;
    this.#smallLeft = isOver ? 0 : limits.upstreamSmallReadsUntimedMax;
    this.#smallEndMs = isOver ? -Infinity : -1;
  }

  #letSomeGo(): void {
    if (!this.#waiting.hasTurn && !this.#next.isLinked) return;
    const isAlone = this.#waiting.count <= LET_GO_MAX && !this.#next.isLinked;
    const sliceBytes = isAlone ? limits.upstreamTurnBytesMax : limits.upstreamReadBytes;
    // What they have kept is dealt with here.
    this.#begin();
    // Those whose answer ends in what they kept cost no more than that, and are not counted.
    for (let count = 0; count < LET_GO_MAX && !this.#isOver();) {
      const place = this.#first(count < LET_GO_MAX - 1 || !this.#waiting.hasTurn);
      if (place === undefined) break;
      this.#letGoOn(place, sliceBytes);
      if (place.isLinked || place.isResting) count += 1;
    }
    this.#isTimed = false;
  }

  #letGoOn(place: ReadPlace, sliceBytes: number): void {
    place.unlink();
    place.waiting = undefined;
    place.isResting = false;
    place.letGoInTurn = this.#turn;
    this.#letGo.append(place);
    place.reader.readOn(sliceBytes);
  }

  /** @param isNextFirst not always: those of whom there is nothing to read come back to `next`, and others wait. */
  #first(isNextFirst: boolean): ReadPlace | undefined {
    const first = this.#next.next;
    return isNextFirst && first instanceof ReadPlace ? first : this.#waiting.take();
  }
}
