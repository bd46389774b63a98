// Many deadlines on one coarse timer: a hashed wheel of linked lists. Hot: `restart` runs for every received chunk, so
// it only notes the new due time, and the deadline is moved when its old slot comes up.
import { ListNode } from './list-node.js';

/** Slots of the wheel. A deadline further away than a whole turn waits in the last slot and is placed again from there. */
const SLOT_COUNT = 512;

/** One callback. Every method is O(1), allocates nothing and may be called at any time. */
export interface Deadline {
  /** Due after the same delay, counted from now; arms it again when it has fired or was cancelled. */
  restart(): void;
  /** The same after another delay, from now on. */
  restartAfter(delayMs: number): void;
  /** It does not fire, unless it is restarted. */
  cancel(): void;
}

/**
 * A deadline never fires early, and late by one tick (and the event loop's lag) at most. The one underlying timer does
 * not keep the process alive, and runs only while something is armed.
 */
export class DeadlineWheel {
  readonly #tickMs: number;
  readonly #clock: () => number;
  readonly #slots = Array.from({ length: SLOT_COUNT }, () => new ListNode());
  /** Taken from the slots that came up and not yet looked at. A callback may cancel or restart what is in here. */
  readonly #candidates = new ListNode();
  /** The tick up to which slots came up. Its own slot comes up once more: deadlines late in that tick were not due. */
  #lastTick = 0;
  #armedCount = 0;
  #interval: NodeJS.Timeout | undefined;
  #isStopped = false;
  #recentMs = 0;

  /** @param clock milliseconds that never go back. */
  constructor(tickMs = 100, clock: () => number = () => performance.now()) {
    this.#tickMs = tickMs;
    this.#clock = clock;
  }

  /** A look at the wheel's clock, ms: who holds times against deadlines needs the same one. */
  nowMs(): number {
    return this.#clock();
  }

  /** The clock as last looked at: a tick ago at most, while anything is armed. For who cannot afford a look of its own. */
  get recentMs(): number {
    return this.#recentMs;
  }

  /** Arms `callback`, which must not throw, to be called once after `delayMs`: anything from 0 to days. */
  after(delayMs: number, callback: () => void): Deadline {
    const entry = new Entry(this, Math.max(0, delayMs), callback);
    entry.restart();
    return entry;
  }

  /** Ends the timer for good; nothing fires any more. */
  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#interval);
  }

  /** Calls back what is due. The interval runs it; public for tests that bring their own clock. */
  tick(): void {
    if (this.#isStopped) return;
    if (this.#armedCount === 0) {
      // Stopped here and not in `disarm`: request after request would start and stop a timer each.
      clearInterval(this.#interval);
      this.#interval = undefined;
      return;
    }
    const nowMs = (this.#recentMs = this.#clock());
    const tick = Math.floor(nowMs / this.#tickMs);
    // After a gap of more than a whole turn (the machine slept) each slot comes up once.
    const firstTick = Math.max(this.#lastTick, tick - SLOT_COUNT + 1);
    this.#lastTick = tick;
    for (let passed = firstTick; passed <= tick; passed += 1) this.#candidates.takeAll(this.#slotOf(passed));
    this.#callBack(nowMs);
  }

  /** For `Entry`. */
  arm(entry: Entry): void {
    if (this.#isStopped) return;
    const nowMs = (this.#recentMs = this.#clock());
    entry.dueMs = nowMs + entry.delayMs;
    // Armed already: it only becomes due later, so its slot comes up in time to place it again.
    if (entry.isLinked) return;
    if (this.#interval === undefined) {
      this.#interval = setInterval(() => this.tick(), this.#tickMs).unref();
      this.#lastTick = Math.floor(nowMs / this.#tickMs);
    }
    this.#armedCount += 1;
    this.#place(entry);
  }

  /** For `Entry`. */
  disarm(entry: Entry): void {
    if (!entry.isLinked) return;
    entry.unlink();
    this.#armedCount -= 1;
  }

  #callBack(nowMs: number): void {
    for (let link = this.#candidates.next; link instanceof Entry; link = this.#candidates.next) {
      link.unlink();
      if (link.dueMs > nowMs) {
        this.#place(link);
      } else {
        this.#armedCount -= 1;
        link.callback();
      }
    }
  }

  #place(entry: Entry): void {
    const dueTick = Math.floor(entry.dueMs / this.#tickMs);
    this.#slotOf(Math.min(dueTick, this.#lastTick + SLOT_COUNT - 1)).append(entry);
  }

  #slotOf(tick: number): ListNode {
    return this.#slots[tick % SLOT_COUNT]!;
  }
}

class Entry extends ListNode implements Deadline {
  readonly #wheel: DeadlineWheel;
  delayMs: number;
  readonly callback: () => void;
  dueMs = 0;

  constructor(wheel: DeadlineWheel, delayMs: number, callback: () => void) {
    super();
    this.#wheel = wheel;
    this.delayMs = delayMs;
    this.callback = callback;
  }

  restart(): void {
    this.#wheel.arm(this);
  }

  restartAfter(delayMs: number): void {
    // It may be due sooner than its slot comes up.
    this.cancel();
    this.delayMs = Math.max(0, delayMs);
    this.restart();
  }

  cancel(): void {
    this.#wheel.disarm(this);
  }
}
