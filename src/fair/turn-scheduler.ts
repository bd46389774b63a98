// Tasks of which many may come in one turn of the event loop, each taking up to a millisecond. Without limits, the subject that brings most
// of them would block everybody else. The first tasks of a turn run at once, and more of them for `turnMs`, so that most tasks
// never wait here; the others get as much time in each turn, keys (subjects, say) taking turns. Hot path: a comparison and a subtraction.
//
//   of a turn:  the untimed, and those of its time, pass │ the others wait ── by key, the same time a turn ──> served, until nobody waits
//
// While any task of a key waits, new ones of that key wait as well, so that none overtakes an earlier one. Where many keys have one task
// each, nobody is to be protected, and waiting only costs: so one task of each key passes late, when the time of a turn is over, up to a
// bound.
import { limits } from '../shared/index.js';
import { FairQueueEntry, FairQueue, type QueueBounds, type QueueFullness } from './fair-queue.js';

/**
 * Requests resumed between two looks at the clock after a common wait, for an upstream session, a config, a key, a backend's event stream
 * or the link to an owner. Beyond that, after `turnMs` the others wait for the next turn of the event loop, subjects in turn.
 */
const WOKEN_UNTIMED_MAX = 64;

/** Time for tasks that pass late in a turn, as a multiple of its own time. */
const LATE_TURNS = 4;

export interface TurnSchedulerRules {
  /** How many tasks pass before the clock is read; 0 where every task waits. */
  readonly untimedMax: number;
  /** Time in a turn for the tasks that pass, and as much again for those that wait; at least one of these has its turn. */
  readonly turnMs: number;
  readonly waiting?: QueueBounds;
  /** For tasks that nobody is in a hurry for: a rest before each turn, this many times as long as the last one took, up to a bound. */
  readonly rest?: { readonly factor: number; readonly msMax: number };
}

/** A task that runs once. Must not throw. */
type Task = () => void;

export class TurnScheduler {
  readonly #rules: TurnSchedulerRules;
  readonly #nowMs: () => number;
  readonly #waiting: FairQueue<Task>;
  /** How many more tasks pass before the clock is read: with few tasks, a turn costs nothing. */
  #left: number;
  /** When the time for passing tasks ends, and that for those that pass late; meaningless unless a turn is due. */
  #endMs = 0;
  #lateEndMs = 0;
  /** Keys of which a task has passed late in this turn. */
  readonly #late = new Set<string>();
  #isTurnDue = false;
  /** The rest before the next turn, for the time spent so far. */
  #restMs = 0;

  constructor(rules: TurnSchedulerRules, nowMs: () => number = () => performance.now()) {
    this.#rules = rules;
    this.#nowMs = nowMs;
    this.#waiting = new FairQueue(...(rules.waiting ?? []));
    this.#left = rules.untimedMax;
  }

  /** The number of waiting tasks. */
  get count(): number {
    return this.#waiting.count;
  }

  /** Whether a task of this key may run at once; otherwise it has to wait. */
  tryPass(key: string): boolean {
    if (this.#left === 0 && !this.#hasTime()) return this.#tryPassLate(key);
    this.#left -= 1;
    return true;
  }

  #tryPassLate(key: string): boolean {
    if (this.#late.has(key) || this.#waiting.countOf(key) > 0 || this.#nowMs() >= this.#lateEndMs) return false;
    this.#late.add(key);
    return true;
  }

  /** For a task that did not pass, or that is never to run at once. @param task runs once, later, unless its place is left first. */
  wait(key: string, task: Task): FairQueueEntry<Task> | QueueFullness {
    const place = this.#waiting.add(key, task);
    this.#plan();
    return place;
  }

  /** Runs the task during this call, or later; during this call also when too many wait. */
  run(key: string, task: Task): void {
    if (this.tryPass(key) || !(this.wait(key, task) instanceof FairQueueEntry)) task();
  }

  /** Lengthens the rest before the next turn for time that a task took outside its turn. */
  noteSpent(ms: number): void {
    const { rest } = this.#rules;
    if (rest !== undefined) this.#restMs = Math.min(this.#restMs + ms * rest.factor, rest.msMax);
  }

  /** Whether more tasks may pass before the next look at the clock. False while any waits: a turn is due then, and its time is over. */
  #hasTime(): boolean {
    const nowMs = this.#nowMs();
    if (!this.#isTurnDue) {
      this.#endMs = nowMs + this.#rules.turnMs;
      this.#lateEndMs = this.#endMs + LATE_TURNS * this.#rules.turnMs;
      this.#plan();
    } else if (nowMs >= this.#endMs) {
      return false;
    }
    this.#left = this.#rules.untimedMax;
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
    this.#late.clear();
    // Nothing passes while those that wait are served.
    this.#lateEndMs = 0;
    this.#serve();
    this.#isTurnDue = false;
    const isOver = this.#waiting.count > 0;
    this.#left = isOver ? 0 : this.#rules.untimedMax;
    if (!isOver) return;
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
 * For this process: requests that have waited for the same event (an upstream session, a config, a key, an event stream) and are resumed
 * all at once. Each is a request in flight, or has a connection of its own, and the number of these is bounded.
 */
export const wakeScheduler = new TurnScheduler({
  untimedMax: WOKEN_UNTIMED_MAX,
  turnMs: limits.turnMs,
  waiting: [Infinity, Infinity],
});
