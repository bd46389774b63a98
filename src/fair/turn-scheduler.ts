// Runs tasks of which many may come in one turn of the event loop, each taking up to a millisecond. Without limits, the subject with most
// tasks would block everybody else. The first tasks of a turn pass (run at once), and more of them for `turnMs`, so that most tasks never
// wait. The others wait; for `turnMs` in each further turn they are run, keys (subjects, say) taking turns. Hot path: a comparison and a
// subtraction.
//
//   in a turn:  `untimedMax` tasks pass, and more for `turnMs` │ the others wait ── by key, for `turnMs` a turn ──> run
//
// While any task of a key waits, new tasks of that key wait as well, so that none overtakes an earlier one. Where many keys have one task
// each, waiting protects nobody, so one task of each key passes late, after the time of a turn, up to a bound.
import { limits } from '../shared/index.js';
import { FairQueueEntry, FairQueue, type QueueBounds, type QueueFullness } from './fair-queue.js';

/**
 * Requests that are resumed between two readings of the clock after a common wait: for an upstream session, a config, a key, a backend's
 * event stream or the link to an owner. Beyond that, after `turnMs` the others wait for the next turn of the event loop, subjects in turn.
 */
const WOKEN_UNTIMED_MAX = 64;

/** Time for tasks that pass late in a turn, as a multiple of `turnMs`. */
const LATE_TURNS = 4;

export interface TurnSchedulerRules {
  /** How many tasks pass before the clock is read; 0 where every task waits. */
  readonly untimedMax: number;
  /** Time in a turn for tasks that pass, and as much again for those that wait, of which at least one is run. */
  readonly turnMs: number;
  readonly waiting?: QueueBounds;
  /** For tasks that are not urgent: a pause before each turn, `factor` times as long as the last turn took, up to `msMax`. */
  readonly rest?: { readonly factor: number; readonly msMax: number };
}

/** A task that runs once. Must not throw. */
type Task = () => void;

export class TurnScheduler {
  readonly #rules: TurnSchedulerRules;
  readonly #nowMs: () => number;
  readonly #waiting: FairQueue<Task>;
  /** How many more tasks pass before the clock is read. */
  #untimedLeft: number;
  /** When the time for tasks that pass ends, and that for tasks that pass late; valid only while a turn is due. */
  #endMs = 0;
  #lateEndMs = 0;
  /** Keys of which a task has passed late in this turn. */
  readonly #passedLate = new Set<string>();
  #isTurnDue = false;
  /** The pause before the next turn, by the time spent so far. */
  #restMs = 0;

  constructor(rules: TurnSchedulerRules, nowMs: () => number = () => performance.now()) {
    this.#rules = rules;
    this.#nowMs = nowMs;
    this.#waiting = new FairQueue(...(rules.waiting ?? []));
    this.#untimedLeft = rules.untimedMax;
  }

  /** The number of waiting tasks. */
  get count(): number {
    return this.#waiting.count;
  }

  /** Whether a task of this key may run at once; otherwise it has to wait. */
  tryPass(key: string): boolean {
    if (this.#untimedLeft === 0 && !this.#hasTime()) return this.#tryPassLate(key);
    this.#untimedLeft -= 1;
    return true;
  }

  #tryPassLate(key: string): boolean {
    if (this.#passedLate.has(key) || this.#waiting.countOf(key) > 0 || this.#nowMs() >= this.#lateEndMs) return false;
    this.#passedLate.add(key);
    return true;
  }

  /** Queues a task that did not pass, or must not run at once. It runs once, later, unless its entry leaves the queue. */
  wait(key: string, task: Task): FairQueueEntry<Task> | QueueFullness {
    const entry = this.#waiting.add(key, task);
    this.#plan();
    return entry;
  }

  /** Runs the task during this call if it passes, or if too many wait; later otherwise. */
  run(key: string, task: Task): void {
    if (this.tryPass(key) || !(this.wait(key, task) instanceof FairQueueEntry)) task();
  }

  /** Lengthens the pause before the next turn for time that a task took outside a turn. */
  noteSpent(ms: number): void {
    const { rest } = this.#rules;
    if (rest !== undefined) this.#restMs = Math.min(this.#restMs + ms * rest.factor, rest.msMax);
  }

  /** Reads the clock. @returns whether more tasks may pass before it is read again; false once the time of the turn is over. */
  #hasTime(): boolean {
    const nowMs = this.#nowMs();
    if (!this.#isTurnDue) {
      this.#endMs = nowMs + this.#rules.turnMs;
      this.#lateEndMs = this.#endMs + LATE_TURNS * this.#rules.turnMs;
      this.#plan();
    } else if (nowMs >= this.#endMs) {
      return false;
    }
    this.#untimedLeft = this.#rules.untimedMax;
    return true;
  }

  #plan(): void {
    if (this.#isTurnDue) return;
    this.#isTurnDue = true;
    if (this.#rules.rest === undefined) setImmediate(this.#onTurn);
    else setTimeout(this.#onTurn, this.#restMs).unref();
    this.#restMs = 0;
  }

  readonly #onTurn = (): void => {
    this.#passedLate.clear();
    // No task passes while waiting tasks are run.
    this.#lateEndMs = 0;
    this.#serve();
    this.#isTurnDue = false;
    const areMoreWaiting = this.#waiting.count > 0;
    this.#untimedLeft = areMoreWaiting ? 0 : this.#rules.untimedMax;
    if (!areMoreWaiting) return;
    this.#lateEndMs = this.#nowMs() + LATE_TURNS * this.#rules.turnMs;
    this.#plan();
  };

  #serve(): void {
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

/**
 * The scheduler of this process for requests that have waited for the same event (an upstream session, a config, a key, an event stream)
 * and are resumed all at once. Its queue needs no bound: each is a request in flight or has a connection, whose numbers are bounded.
 */
export const wakeScheduler = new TurnScheduler({
  untimedMax: WOKEN_UNTIMED_MAX,
  turnMs: limits.turnMs,
  waiting: [Infinity, Infinity],
});
