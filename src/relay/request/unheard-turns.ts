// Reads responses whose clients have disconnected: their calls continue (S12), so the responses are read to the end, but only one slice at a
// time, with subjects taking turns, and for a small part of the event loop's time. A client that requests endless streams from its own
// backend and disconnects slows down nobody. Cold.
import { FairPlace, FairQueue, type FairQueueBounds } from '../../shared/fair-queue.js';
import { limits } from '../../shared/limits.js';

/** Reads one slice more. */
export type UnheardTurn = () => void;

/** Each of them is a request in flight, which are bounded. */
const BOUNDS: FairQueueBounds = { itemsMax: limits.requestsInFlightMax, itemsPerKeyMax: limits.requestsInFlightMax };

export class UnheardTurns {
  readonly #waiting = new FairQueue<UnheardTurn>(BOUNDS);
  readonly #nowMs: () => number;
  /** What is to be rested for the slices so far. */
  #restMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** @returns where it waits; `undefined` when there is no room, and it may read on as it likes. */
  wait(subject: string, onTurn: UnheardTurn): FairPlace<UnheardTurn> | undefined {
    const place = this.#waiting.add(subject, onTurn);
    this.#plan();
    return place instanceof FairPlace ? place : undefined;
  }

  /** So long a slice took, beside what it took within its turn. */
  noteSpent(ms: number): void {
    this.#restMs = Math.min(this.#restMs + ms * limits.unheardRestFactor, limits.unheardRestMsMax);
  }

  #plan(): void {
    if (this.#timer !== undefined || !this.#waiting.hasTurn) return;
    this.#timer = setTimeout(() => this.#onTurn(), this.#restMs).unref();
    this.#restMs = 0;
  }

  #onTurn(): void {
    this.#timer = undefined;
    const startMs = this.#nowMs();
    this.#waiting.take()?.();
    this.noteSpent(this.#nowMs() - startMs);
    this.#plan();
  }
}

/** Of this process. */
export const unheardTurns = new UnheardTurns();
