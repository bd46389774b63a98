// Reads responses whose clients have disconnected: their calls continue (S12), so the responses are read to the end, but only one slice at a
// time, with subjects taking turns, and for a small part of the event loop's time. A client that requests endless streams from its own
// backend and disconnects slows down nobody. Cold path.
import { FairPlace, FairQueue, type FairQueueBounds } from '../../shared/fair-queue.js';
import { limits } from '../../shared/limits.js';

/**
 * Rest after reading such a call, as a multiple of the time that reading took, so that such calls get at most a fifth of the event loop.
 * Beyond it, reading resumes, subjects in turn.
 */
export const UNHEARD_REST_FACTOR = 4;
/** Longest rest between reads of calls whose callers have gone. After it, another such call has its turn. */
export const UNHEARD_REST_MS_MAX = 1_000;

/** Reads one more slice. */
export type UnheardTurn = () => void;

/** Each item is a request in flight, whose number is bounded already. */
const BOUNDS: FairQueueBounds = { itemsMax: limits.requestsInFlightMax, itemsPerKeyMax: limits.requestsInFlightMax };

export class UnheardTurns {
  readonly #waiting = new FairQueue<UnheardTurn>(BOUNDS);
  readonly #nowMs: () => number;
  /** The pause before the next turn, for the slices read so far. */
  #restMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** @returns the place in the queue; `undefined` when there is no room, and the call may read on at once. */
  wait(subject: string, onTurn: UnheardTurn): FairPlace<UnheardTurn> | undefined {
    const place = this.#waiting.add(subject, onTurn);
    this.#plan();
    return place instanceof FairPlace ? place : undefined;
  }

  /** Lengthens the pause for time that a slice took; callers report time outside the turn itself. */
  noteSpent(ms: number): void {
    this.#restMs = Math.min(this.#restMs + ms * UNHEARD_REST_FACTOR, UNHEARD_REST_MS_MAX);
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

/** The one queue of this process. */
export const unheardTurns = new UnheardTurns();
