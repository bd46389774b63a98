// What is done for each backend of a session, as opening it or asking it for its tools, takes some tens of microseconds, and
// a virtual host may have hundreds of backends. The first few are served at once, so that most sessions never come here;
// the others have a few milliseconds of each turn of the event loop, all sessions together and subjects in turn. Cold.
import { FairPlace, FairQueue, type FairQueueBounds } from '../shared/fair-queue.js';
import { limits } from '../shared/limits.js';
import type { CompiledBackend } from '../user-config/compiled-config.js';

export interface BackendVisit {
  /** What is done for a backend: once for each, in order. Must not throw. */
  readonly visit: (backend: CompiledBackend) => void;
  /** Instead of a visit, for those behind which too many wait. */
  readonly onNoRoom: (backend: CompiledBackend) => void;
}

interface Round {
  readonly subject: string;
  readonly left: Iterator<CompiledBackend>;
  readonly visit: (backend: CompiledBackend) => void;
}

const BOUNDS: FairQueueBounds = {
  itemsMax: limits.backendTurnsWaitingMax,
  itemsPerKeyMax: limits.backendTurnsWaitingPerSubjectMax,
};

export class BackendTurns {
  readonly #rounds: FairQueue<Round>;
  readonly #nowMs: () => number;
  #isTurnDue = false;

  constructor(bounds = BOUNDS, nowMs: () => number = () => performance.now()) {
    this.#rounds = new FairQueue(bounds);
    this.#nowMs = nowMs;
  }

  /** Visits the first backends from within, and the others soon. */
  visitAll(subject: string, backends: ReadonlyMap<string, CompiledBackend>, { visit, onNoRoom }: BackendVisit): void {
    const left = backends.values();
    visitSome(left, visit, limits.backendsAtOnceMax);
    if (backends.size <= limits.backendsAtOnceMax) return;
    const place = this.#rounds.add(subject, { subject, left, visit });
    if (place instanceof FairPlace) this.#plan();
    else for (const backend of left) onNoRoom(backend);
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
    const endMs = this.#nowMs() + limits.backendTurnMs;
    do {
      const round = this.#rounds.take();
      if (round === undefined) return;
      // It left a place a moment ago, so there is one.
      if (visitSome(round.left, round.visit, limits.backendsPerStep)) this.#rounds.add(round.subject, round);
    } while (this.#nowMs() < endMs);
  }
}

/** @returns whether there may be more. */
function visitSome(
  left: Iterator<CompiledBackend>,
  visit: (backend: CompiledBackend) => void,
  countMax: number,
): boolean {
  for (let count = 0; count < countMax; count++) {
    const next = left.next();
    if (next.done === true) return false;
    visit(next.value);
  }
  return true;
}

/** Of this process. */
export const backendTurns = new BackendTurns();
