// Many deadlines on one coarse timer: a hashed wheel of linked lists. Hot path: `restart` runs for every received chunk, so it only records
// the new time. The deadline is moved when its old slot comes up.
import { limits } from '../shared/index.js';
import { ListNode } from './list-node.js';

/** Slots of the wheel. A deadline further away than a whole revolution waits in the last slot, and is moved when that comes up. */
const SLOT_COUNT = 512;

/** A deadline. Every method is O(1), allocates nothing and may be called at any time. */
export interface Deadline {
  /** Lets the deadline fire after the same delay from now, even if it has fired or was cancelled. */
  restart(): void;
  restartAfter(delayMs: number): void;
  /** Disarms the deadline until it is restarted. */
  cancel(): void;
}

/**
 * A deadline never fires early, and at most one tick plus the event loop's lag late. If thousands are due at once, those left after
 * `turnMs` fire in later turns of the event loop. The timer runs only while a deadline is armed, and does not keep the process alive.
 */
export class DeadlineWheel {
  readonly #tickMs: number;
  /** The clock in ms. Times that are compared with deadlines must come from it. */
  readonly nowMs: () => number;
  readonly #slots = Array.from({ length: SLOT_COUNT }, () => new ListNode());
  /** Entries of slots that came up, not examined yet. A callback may cancel or restart any of them. */
  readonly #candidates = new ListNode();
  /** The last tick whose slot came up. This slot comes up once more, for deadlines that are due later in the same tick. */
  #lastTick = 0;
  /** The number of armed deadlines. Changed only here. */
  armedCount = 0;
  #interval: NodeJS.Timeout | undefined;
  #isStopped = false;
  /** The clock's time (ms) when it was last read: at most about a tick ago while a deadline is armed. For callers that must not read it. */
  recentMs = 0;
  /** Whether a turn of the event loop is planned for overdue deadlines. */
  #isOverdueTurnPlanned = false;
  readonly #onOverdueTurn = (): void => {
    this.#isOverdueTurnPlanned = false;
    this.tick();
  };

  /** @param clock monotonic milliseconds. */
  constructor(tickMs = 100, clock: () => number = performance.now.bind(performance)) {
    this.#tickMs = tickMs;
    this.nowMs = clock;
  }

  /** Calls back once after the delay, which may be up to days. The callback must not throw. */
  after(delayMs: number, callback: () => void): Deadline {
    const entry = new Entry(this, Math.max(0, delayMs), callback);
    entry.restart();
    return entry;
  }

  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#interval);
  }

  /** Makes one tick. Called by the interval; public for tests with their own clock. */
  tick(): void {
    if (this.#isStopped) return;
    if (this.armedCount === 0) {
      // The timer is stopped here, not in `cancel`: otherwise every request would start and stop it.
      clearInterval(this.#interval);
      this.#interval = undefined;
      return;
    }
    const nowMs = (this.recentMs = this.nowMs());
    const tick = Math.floor(nowMs / this.#tickMs);
    // Each slot comes up once, however long the machine slept.
    const firstTick = Math.max(this.#lastTick, tick - SLOT_COUNT + 1);
    this.#lastTick = tick;
    for (let each = firstTick; each <= tick; each += 1) this.#candidates.takeAll(this.#slots[each % SLOT_COUNT]!);
    this.#fireDue(nowMs);
  }

  arm(entry: Entry): void {
    if (this.#isStopped) return;
    const nowMs = (this.recentMs = this.nowMs());
    entry.dueMs = nowMs + entry.delayMs;
    // An armed entry can only become due later, so its slot comes up in time to move it.
    if (entry.isLinked) return;
    if (this.#interval === undefined) {
      this.#interval = setInterval(() => this.tick(), this.#tickMs).unref();
      this.#lastTick = Math.floor(nowMs / this.#tickMs);
    }
    this.armedCount += 1;
    this.#insert(entry);
  }

  #fireDue(nowMs: number): void {
    for (let link = this.#candidates.next; link instanceof Entry; link = this.#candidates.next) {
      link.unlink();
      if (link.dueMs > nowMs) {
        this.#insert(link);
      } else {
        this.armedCount -= 1;
        link.callback();
        if (this.nowMs() - nowMs >= limits.turnMs) return this.#planOverdueTurn();
      }
    }
  }

  #planOverdueTurn(): void {
    if (this.#isOverdueTurnPlanned) return;
    this.#isOverdueTurnPlanned = true;
    setImmediate(this.#onOverdueTurn).unref();
  }

  #insert(entry: Entry): void {
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
    // The deadline may now be due before its present slot comes up.
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
