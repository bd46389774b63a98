// Runs tasks of up to a millisecond, of which many may come in one turn of the event loop, so that the subject with the most tasks does not
// block others. The first tasks of a turn pass (run at once), and more of them for `turnMs`, so that most never wait. In each further turn,
// waiting tasks run for `turnMs`, round robin by key (such as the subject). Hot path: a comparison and a subtraction.
//
//   in a turn:  `untimedMax` tasks pass, and more for `turnMs` │ the others wait ── by key, for `turnMs` a turn ──> run
//
// While a task of a key waits, new ones of that key wait too, so that none overtakes it. If many keys have one task each, waiting would not
// make turns fairer: so one task of each key may pass late, for a bounded time.
import { limits } from '../shared/index.js';
import { FairQueueEntry, FairQueue, type QueueBounds } from './fair-queue.js';
import type { ShareBound } from './share.js';

/** How many requests that waited for the same event are resumed before the clock is read again. */
const WOKEN_UNTIMED_MAX = 64;

/** The time in a turn for tasks that run at once although others wait, as a multiple of `turnMs`. */
const LATE_TURNS_FACTOR = 4;

export interface TurnSchedulerRules {
  /** Tasks that pass before the clock is read; 0 if all must wait. */
  readonly untimedMax: number;
  /** Time in a turn for tasks that pass, and as much for waiting tasks, of which at least one is run. */
  readonly turnMs: number;
  readonly waiting?: QueueBounds;
  /** For tasks that are not urgent: a pause before waiting tasks are run, `factor` times as long as the last ones took, up to `msMax`. */
  readonly pause?: { readonly factor: number; readonly msMax: number };
}

/** What is run, at once or after a wait. It must not throw. */
type Task = () => void;

export class TurnScheduler {
  readonly #rules: TurnSchedulerRules;
  readonly #nowMs: () => number;
  readonly #waiting: FairQueue<Task>;
  #passesUntilClock: number;
  /** Until when tasks pass; valid only while a turn is due. */
  #passUntilMs = 0;
  /** Until when tasks may pass late; valid only while a turn is due. */
  #passLateUntilMs = 0;
  readonly #lateKeys = new Set<string>();
  #isTurnDue = false;
  #pauseMs = 0;

  constructor(rules: TurnSchedulerRules, nowMs: () => number = () => performance.now()) {
    this.#rules = rules;
    this.#nowMs = nowMs;
    this.#waiting = new FairQueue(...(rules.waiting ?? []));
    this.#passesUntilClock = rules.untimedMax;
  }

  get count(): number {
    return this.#waiting.count;
  }

  /** Whether a task of this key may run at once. If so, it counts among those that have passed. */
  tryPass(key: string): boolean {
    if (this.#passesUntilClock === 0 && !this.#hasTime()) return this.#tryPassLate(key);
    this.#passesUntilClock -= 1;
    return true;
  }

  #tryPassLate(key: string): boolean {
    if (this.#lateKeys.has(key) || this.#waiting.countOf(key) > 0 || this.#nowMs() >= this.#passLateUntilMs)
      return false;
    this.#lateKeys.add(key);
    return true;
  }

  /** Queues a task that did not pass. It runs once, later, unless its entry leaves the queue. @returns the bound if the queue is full. */
  wait(key: string, task: Task): FairQueueEntry<Task> | ShareBound {
    const entry = this.#waiting.add(key, task);
    this.#planTurn();
    return entry;
  }

  /** Runs the task at once if it passes, or if too many wait; otherwise later. */
  run(key: string, task: Task): void {
    if (this.tryPass(key) || !(this.wait(key, task) instanceof FairQueueEntry)) task();
  }

  noteSpent(ms: number): void {
    const { pause } = this.#rules;
    if (pause !== undefined) this.#pauseMs = Math.min(this.#pauseMs + ms * pause.factor, pause.msMax);
  }

  /** Reads the clock. @returns whether tasks may pass until it is read again. */
  #hasTime(): boolean {
    const nowMs = this.#nowMs();
    if (!this.#isTurnDue) {
      this.#passUntilMs = nowMs + this.#rules.turnMs;
      this.#passLateUntilMs = this.#passUntilMs + LATE_TURNS_FACTOR * this.#rules.turnMs;
      this.#planTurn();
    } else if (nowMs >= this.#passUntilMs) {
      return false;
    }
    this.#passesUntilClock = this.#rules.untimedMax;
    return true;
  }

  #planTurn(): void {
    if (this.#isTurnDue) return;
    this.#isTurnDue = true;
    if (this.#rules.pause === undefined) setImmediate(this.#onTurn);
    else setTimeout(this.#onTurn, this.#pauseMs).unref();
    this.#pauseMs = 0;
  }

  readonly #onTurn = (): void => {
    this.#lateKeys.clear();
    // No task passes late while waiting tasks are run.
    this.#passLateUntilMs = 0;
    this.#runWaiting();
    this.#isTurnDue = false;
    const areMoreWaiting = this.#waiting.count > 0;
    this.#passesUntilClock = areMoreWaiting ? 0 : this.#rules.untimedMax;
    if (!areMoreWaiting) return;
    this.#passLateUntilMs = this.#nowMs() + LATE_TURNS_FACTOR * this.#rules.turnMs;
    this.#planTurn();
  };

  #runWaiting(): void {
    if (this.#waiting.count === 0) return;
    const startMs = this.#nowMs();
    let spentMs = 0;
    do {
      const task = this.#waiting.take();
      if (task === undefined) break;
      task();
      spentMs = this.#nowMs() - startMs;
    } while (spentMs < this.#rules.turnMs);
    this.noteSpent(spentMs);
  }
}

/** Resumes requests that waited for the same event. The queue needs no bounds, because requests and connections are bounded. */
export const wakeScheduler = new TurnScheduler({
  untimedMax: WOKEN_UNTIMED_MAX,
  turnMs: limits.turnMs,
  waiting: [Infinity, Infinity],
});
