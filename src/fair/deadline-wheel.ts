// Many deadlines on one coarse timer: a hashed wheel of linked lists. Hot path: `restart` runs for every received chunk, so it only records
// the new due time, and the deadline is moved when its old slot comes up.
import { limits } from '../shared/index.js';
import { ListNode } from './list-node.js';

/** Slots of the wheel. A deadline further away than a whole turn of the wheel waits in the last slot, and is moved when that comes up. */
const SLOT_COUNT = 512;

/** A callback for a later time. Every method is O(1), allocates nothing and may be called at any time. */
export interface Deadline {
  /** Fires after the same delay, counted from now; also arms a deadline again that has fired or was cancelled. */
  restart(): void;
  /** As `restart`, but with a new delay from now on. */
  restartAfter(delayMs: number): void;
  /** Keeps the deadline from firing until it is restarted. */
  cancel(): void;
}

/**
 * All deadlines of a process. One never fires early, and at most one tick (plus the event loop's lag) late; where thousands are due at
 * once, those that are left after `turnMs` fire in the next turns of the event loop. The single timer does not keep the process alive, and
 * runs only while a deadline is armed.
 */
export class DeadlineWheel {
  readonly #tickMs: number;
  readonly #clock: () => number;
  readonly #slots = Array.from({ length: SLOT_COUNT }, () => new ListNode());
  /** Entries taken from slots that came up, but not examined yet. A callback may cancel or restart any of them. */
  readonly #candidates = new ListNode();
  /** The last tick whose slot came up. The slot comes up once more, for deadlines later in the same tick. */
  #lastTick = 0;
  /** Changed only here. */
  armedCount = 0;
  #interval: NodeJS.Timeout | undefined;
  #isStopped = false;
  /** The clock as last read: at most a tick ago while any deadline is armed. For callers to whom a reading costs too much. */
  recentMs = 0;
  /** Whether a turn of the event loop is planned for deadlines that are due but have not fired; at most one is. */
  #isRestPlanned = false;
  readonly #onRest = (): void => {
    this.#isRestPlanned = false;
    this.tick();
  };

  /** @param clock monotonic milliseconds. */
  constructor(tickMs = 100, clock: () => number = performance.now.bind(performance)) {
    this.#tickMs = tickMs;
    this.#clock = clock;
  }

  /** The current time of the wheel's clock, in ms. Times that are compared with deadlines must come from this clock. */
  nowMs(): number {
    return this.#clock();
  }

  /** Arms `callback`, which must not throw, to be called once after `delayMs`, which may be anything from 0 to days. */
  after(delayMs: number, callback: () => void): Deadline {
    const entry = new Entry(this, Math.max(0, delayMs), callback);
    entry.restart();
    return entry;
  }

  /** Stops the timer for good; nothing fires any more. */
  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#interval);
  }

  /** Calls the callbacks that are due. The interval runs it; public for tests that supply their own clock. */
  tick(): void {
    if (this.#isStopped) return;
    if (this.armedCount === 0) {
      // Stopped here and not in `cancel`, where every single request would start and stop a timer.
      clearInterval(this.#interval);
      this.#interval = undefined;
      return;
    }
    const nowMs = (this.recentMs = this.#clock());
    const tick = Math.floor(nowMs / this.#tickMs);
    // After a gap of more than a whole turn (the machine slept) each slot comes up once.
    const firstTick = Math.max(this.#lastTick, tick - SLOT_COUNT + 1);
    this.#lastTick = tick;
    for (let each = firstTick; each <= tick; each += 1) this.#candidates.takeAll(this.#slots[each % SLOT_COUNT]!);
    this.#callBack(nowMs);
  }

  /** Called only by `Entry`. */
  arm(entry: Entry): void {
    if (this.#isStopped) return;
    const nowMs = (this.recentMs = this.#clock());
    entry.dueMs = nowMs + entry.delayMs;
    // An entry that is armed can only become due later, so its present slot comes up in time to move it.
    if (entry.isLinked) return;
    if (this.#interval === undefined) {
      this.#interval = setInterval(() => this.tick(), this.#tickMs).unref();
      this.#lastTick = Math.floor(nowMs / this.#tickMs);
    }
    this.armedCount += 1;
    this.#place(entry);
  }

  #callBack(nowMs: number): void {
    for (let link = this.#candidates.next; link instanceof Entry; link = this.#candidates.next) {
      link.unlink();
      if (link.dueMs > nowMs) {
        this.#place(link);
      } else {
        this.armedCount -= 1;
        link.callback();
        if (this.#clock() - nowMs >= limits.turnMs) return this.#planRest();
      }
    }
  }

  #planRest(): void {
    if (this.#isRestPlanned) return;
    this.#isRestPlanned = true;
    setImmediate(this.#onRest).unref();
  }

  #place(entry: Entry): void {
    const dueTick = Math.floor(entry.dueMs / this.#tickMs);
    this.#slots[Math.min(dueTick, this.#lastTick + SLOT_COUNT - 1) % SLOT_COUNT]!.append(entry);
  }
}

class Entry extends ListNode implements Deadline {
  readonly wheel: DeadlineWheel;
  delayMs: number;
  readonly callback: () => void;
  dueMs = 0;

  constructor(wheel: DeadlineWheel, delayMs: number, callback: () => void) {
    super();
    this.wheel = wheel;
    this.delayMs = delayMs;
    this.callback = callback;
  }

  restart(): void {
    this.wheel.arm(this);
  }

  restartAfter(delayMs: number): void {
    // With another delay, the entry may be due before its present slot comes up.
    this.cancel();
    this.delayMs = Math.max(0, delayMs);
    this.restart();
  }

  cancel(): void {
    if (!this.isLinked) return;
    this.unlink();
    this.wheel.armedCount -= 1;
  }
}
