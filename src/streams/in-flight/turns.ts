// Spreads work on many items over turns of the event loop. Opening a backend, or asking it for its tools, takes tens of microseconds,
// and a virtual host may have hundreds of backends; a session that ends may have a thousand requests in flight. The first few items
// are visited at once, which is all that most sessions need; the others get a few milliseconds of each turn of the event loop, shared
// by all sessions, with subjects taking turns. Cold path.
import { FairPlace, FairQueue, type FairQueueBounds } from '../../fair/index.js';
import { limits, perSubject } from '../../shared/index.js';
import type { CompiledBackend } from '../../user-config/index.js';

/** Requests that end at once with their session, at a tenth of a millisecond each. Beyond it, the others wait for turns. */
export const REQUESTS_ENDED_AT_ONCE_MAX = 64;
/**
 * Backends of a virtual host that are opened or sent a request at once, in about a millisecond together. Beyond it, the others wait for
 * turns.
 */
export const BACKENDS_AT_ONCE_MAX = 16;

/**
 * Time in one turn of the event loop for opening backends and sending them requests, all sessions together. After it, the rest wait for
 * the next turn.
 */
export const BACKEND_TURN_MS = 5;
/** Backends of one session that are served in a row; subjects and sessions take turns. */
export const BACKENDS_PER_STEP = 4;
/**
 * Time in one turn of the event loop for ending requests of ended sessions, all sessions together. After it, the rest wait for the next
 * turn.
 */
const REQUEST_END_TURN_MS = 5;
/** Requests of one ended session that are ended in a row; subjects and sessions take turns. */
const REQUESTS_ENDED_PER_STEP = 8;

interface Visits<Item> {
  /** Called once for each item, in order. Must not throw. */
  readonly visit: (item: Item) => void;
  /** Called instead of `visit` for items that cannot wait, because too many sessions are waiting. */
  readonly onNoRoom: (item: Item) => void;
}

interface TurnRules {
  /** How many items of one session are visited at once, before `visitAll` returns. */
  readonly atOnceMax: number;
  /** How many items of one session are visited in a row. */
  readonly perStep: number;
  readonly turnMs: number;
  /** Bounds of the queue in which sessions wait, by subject. */
  readonly waiting: FairQueueBounds;
}

interface Round<Item> {
  readonly subject: string;
  readonly left: Iterator<Item>;
  readonly visit: (item: Item) => void;
}

export class Turns<Item> {
  readonly #rules: TurnRules;
  readonly #rounds: FairQueue<Round<Item>>;
  readonly #nowMs: () => number;
  #isTurnDue = false;

  constructor(rules: TurnRules, nowMs: () => number = () => performance.now()) {
    this.#rules = rules;
    this.#rounds = new FairQueue(rules.waiting);
    this.#nowMs = nowMs;
  }

  /** Visits the first items at once, and the others soon. @param items may lose items that were not visited yet. */
  visitAll(subject: string, items: IterableIterator<Item>, { visit, onNoRoom }: Visits<Item>): void {
    if (!visitSome(items, visit, this.#rules.atOnceMax)) return;
    const place = this.#rounds.add(subject, { subject, left: items, visit });
    if (place instanceof FairPlace) this.#plan();
    else for (const item of items) onNoRoom(item);
  }

  #plan(): void {
    if (this.#isTurnDue || this.#rounds.count === 0) return;
    this.#isTurnDue = true;
    setImmediate(() => {
      this.#isTurnDue = false;
      this.#turn();
      this.#plan();
    });
  }

  #turn(): void {
    const { turnMs, perStep } = this.#rules;
    const endMs = this.#nowMs() + turnMs;
    do {
      const round = this.#rounds.take();
      if (round === undefined) return;
      // The queue has room: the round has just left it.
      if (visitSome(round.left, round.visit, perStep)) this.#rounds.add(round.subject, round);
    } while (this.#nowMs() < endMs);
  }
}

/** @returns whether there may be more. */
function visitSome<Item>(left: Iterator<Item>, visit: (item: Item) => void, countMax: number): boolean {
  for (let count = 0; count < countMax; count++) {
    const next = left.next();
    if (next.done === true) return false;
    visit(next.value);
  }
  return true;
}

const waiting: FairQueueBounds = {
  itemsMax: limits.waitingMax,
  itemsPerKeyMax: perSubject(limits.waitingMax),
};

export const backendTurnRules: TurnRules = {
  atOnceMax: BACKENDS_AT_ONCE_MAX,
  perStep: BACKENDS_PER_STEP,
  turnMs: BACKEND_TURN_MS,
  waiting,
};

export const endingTurnRules: TurnRules = {
  atOnceMax: REQUESTS_ENDED_AT_ONCE_MAX,
  perStep: REQUESTS_ENDED_PER_STEP,
  turnMs: REQUEST_END_TURN_MS,
  waiting,
};

/** The turns of this process, shared by all sessions. */
export const backendTurns = new Turns<CompiledBackend>(backendTurnRules);
