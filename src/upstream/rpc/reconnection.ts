// When, and from which event, a backend's stream is requested again after it has ended (C13, C14): after the backend's own `retry`, or else
// with a growing delay, and from the last complete event. Cold path.
import type { EventStreamParser } from '../../protocol/event-stream.js';
import { Backoff } from '../../shared/backoff.js';
import { limits } from '../../shared/limits.js';

/**
 * Shortest `retry` of a backend that is honored, as a backend could close its stream all the time. After it, a shorter one is raised to
 * this.
 */
export const BACKEND_RETRY_MS_MIN = 100;
/** Longest `retry` of a backend that is honored. After it, a longer one is reduced to this. */
export const BACKEND_RETRY_MS_MAX = 3_600_000;

export class Reconnection {
  #lastEventId = '';
  #retryMs: number | undefined;
  /** Grows from one attempt to the next, until something is received. */
  readonly #backoff = new Backoff(limits.backendStreamDelayMsMin, limits.backendStreamDelayMsMax);

  /** The event after which to resume; `''` when there is none. */
  get lastEventId(): string {
    return this.#lastEventId;
  }

  /** The backend has sent something: the next failure counts as the first again. */
  noteProgress(): void {
    this.#backoff.reset();
  }

  /** @param parser of the stream that has ended. */
  takeOver({ lastEventId, retryMs }: EventStreamParser): void {
    if (lastEventId !== '') this.#lastEventId = isHeaderText(lastEventId) ? lastEventId : '';
    this.#retryMs = retryMs ?? this.#retryMs;
  }

  /**
   * The delay before the next attempt, in ms. A stream that has ended is requested again when the backend says; after a failed attempt the
   * growing delay applies too.
   */
  nextDelayMs(hasEnded: boolean): number {
    const delayMs = this.#backoff.next();
    if (this.#retryMs === undefined) return delayMs;
    const retryMs = Math.min(Math.max(this.#retryMs, BACKEND_RETRY_MS_MIN), BACKEND_RETRY_MS_MAX);
    return hasEnded ? retryMs : Math.max(retryMs, delayMs);
  }
}

/** Whether the id can be sent in a header unchanged; `UNKEPT_ID` cannot. */
function isHeaderText(id: string): boolean {
  return /^[\x20-\x7e]*$/.test(id);
}
