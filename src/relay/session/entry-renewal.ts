// Renews the directory entries of sessions in use, a few at a time throughout a round, so that there is no burst of writes. A session
// that was there when a round began has its turn in it, however many come and go meanwhile. Cold path: for each session a few times
// within the idle timeout.
import type { DeadlineWheel } from '../../shared/deadline-wheel.js';

/**
 * Interval between the steps in which a worker renews the records of its sessions, a few at a time, so that writes come evenly. After it,
 * the next step follows.
 */
export const SESSION_RENEWAL_STEP_MS = 100;
/** Delay of the event loop that one renewal step makes up for. After it, the remaining sessions are renewed in the next round. */
const SESSION_RENEWAL_STEP_MS_MAX = 500;

export interface RenewedSession {
  /** Whether it was used since its last turn. */
  isUsed: boolean;
  /** Whether it was not used for a whole round. */
  isQuiet: boolean;
  readonly isBusy: boolean;
  readonly entry: { renew(): void } | undefined;
}

export class EntryRenewal {
  readonly #deadlines: DeadlineWheel;
  readonly #sessions: ReadonlyMap<string, RenewedSession>;
  readonly #roundMs: number;
  /** The current round's iterator, over the sessions in the order in which they came. */
  #turns: Iterator<RenewedSession>;
  #roundEndMs: number;
  #lastStepMs: number;
  #isStopped = false;

  constructor(deadlines: DeadlineWheel, sessions: ReadonlyMap<string, RenewedSession>, roundMs: number) {
    this.#deadlines = deadlines;
    this.#sessions = sessions;
    this.#roundMs = roundMs;
    this.#turns = sessions.values();
    this.#lastStepMs = deadlines.nowMs();
    this.#roundEndMs = this.#lastStepMs + roundMs;
    const next = deadlines.after(Math.min(SESSION_RENEWAL_STEP_MS, roundMs), () => {
      this.#takeStep();
      if (!this.#isStopped) next.restart();
    });
  }

  stop(): void {
    this.#isStopped = true;
  }

  #takeStep(): void {
    if (this.#isStopped) return;
    const nowMs = this.#deadlines.nowMs();
    // After a pause, such as a sleeping machine, sessions that missed their turns do not all have them at once.
    const passedMs = Math.min(nowMs - this.#lastStepMs, SESSION_RENEWAL_STEP_MS_MAX);
    this.#lastStepMs = nowMs;
    this.#renewNext(Math.ceil((this.#sessions.size * passedMs) / this.#roundMs));
    if (nowMs >= this.#roundEndMs) {
      this.#turns = this.#sessions.values();
      this.#roundEndMs = nowMs + this.#roundMs;
    }
  }

  #renewNext(count: number): void {
    for (let left = count; left > 0; left -= 1) {
      const turn = this.#turns.next();
      if (turn.done === true) return;
      renew(turn.value);
    }
  }
}

function renew(session: RenewedSession): void {
  if (session.isUsed || session.isBusy) session.entry?.renew();
  else session.isQuiet = true;
  session.isUsed = false;
}
