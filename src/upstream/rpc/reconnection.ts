// When and from where a backend's stream is asked for again after it has ended (C13, C14): after the backend's own `retry`, or
// else with a growing delay, and behind the last event that has come whole. Cold.
import type { EventStreamParser } from '../../protocol/event-stream.js';
import { Backoff } from '../../shared/backoff.js';
import { limits } from '../../shared/limits.js';

export class Reconnection {
  #lastEventId = '';
  #retryMs: number | undefined;
  /** Grows from one try to the next, until something is heard. */
  readonly #backoff = new Backoff(limits.backendStreamDelayMsMin, limits.backendStreamDelayMsMax);

  /** Behind which event to go on; `''` when there is none. */
  get lastEventId(): string {
    return this.#lastEventId;
  }

  /** The backend has said something: a failure that follows is the first one again. */
  noteProgress(): void {
    this.#backoff.reset();
  }

  /** @param parser of the stream that has ended. */
  takeOver({ lastEventId, retryMs }: EventStreamParser): void {
    if (lastEventId !== '') this.#lastEventId = isHeaderText(lastEventId) ? lastEventId : '';
    this.#retryMs = retryMs ?? this.#retryMs;
  }

  /**
   * How long to wait for the next try, ms. A stream that has ended comes again when the backend says; one that could not be
   * had is not asked for all the time.
   */
  nextDelayMs(hasEnded: boolean): number {
    const delayMs = this.#backoff.next();
    if (this.#retryMs === undefined) return delayMs;
    const retryMs = Math.min(Math.max(this.#retryMs, limits.backendRetryMsMin), limits.backendRetryMsMax);
    return hasEnded ? retryMs : Math.max(retryMs, delayMs);
  }
}

/** Whether it goes into a header as it came; `UNKEPT_ID` does not. */
function isHeaderText(id: string): boolean {
  return /^[\x20-\x7e]*$/.test(id);
}
