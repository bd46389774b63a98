// Reopens an upstream session that was lost, or could not be opened, while its client only listens: no request would open it, and the
// client would hear nothing more from the backend. The delay before reopening grows while sessions do not last. Cold path.
//
//   idle ── lost ──> waiting ── the delay is over ──> opening ── opened ──> idle
//   opening ── failed, or lost again ──> waiting
//   waiting, opening ── opened all the same, or stop ──> idle
import type { Deadline, DeadlineWheel } from '../../shared/deadline-wheel.js';
import { Backoff } from '../../shared/backoff.js';
import { limits } from '../../shared/limits.js';
import type { UpstreamSession } from '../../upstream/session/upstream-session.js';
import { NO_METADATA, type RequestMetadata } from '../../upstream/http/request-metadata.js';

type State = 'idle' | 'waiting' | 'opening';

export class Reopening {
  readonly #deadlines: DeadlineWheel;
  readonly #upstream: UpstreamSession;
  #metadata: RequestMetadata = NO_METADATA;
  readonly #backoff = new Backoff(limits.backendStreamDelayMsMin, limits.backendStreamDelayMsMax);
  readonly #onGone: () => void;
  #openedAtMs = 0;
  #lostAtMs = 0;
  #delay: Deadline | undefined;
  #state: State = 'idle';

  /** @param onGone called when it could not be opened for so long that it counts as gone; perhaps more than once. */
  constructor(deadlines: DeadlineWheel, upstream: UpstreamSession, onGone: () => void) {
    this.#onGone = onGone;
    this.#deadlines = deadlines;
    this.#upstream = upstream;
  }

  onOpened(): void {
    this.#openedAtMs = this.#deadlines.nowMs();
  }

  /** @param metadata of the client's GET. */
  onLost(metadata: RequestMetadata): void {
    this.#metadata = metadata;
    this.#lostAtMs = this.#deadlines.nowMs();
    if (this.#deadlines.nowMs() - this.#openedAtMs >= limits.backendStreamDelayMsMax) this.#backoff.reset();
    this.#wait();
  }

  stop(): void {
    this.#settle();
    this.#delay?.cancel();
  }

  #wait(): void {
    if (!this.#transition('idle', 'waiting')) this.#transition('opening', 'waiting');
    this.#delay?.cancel();
    this.#delay = this.#deadlines.after(this.#backoff.next(), () => this.#open());
  }

  #open(): void {
    if (this.#upstream.state === 'closed' || !this.#transition('waiting', 'opening')) return;
    this.#upstream.whenOpen(this.#metadata, (fault) => {
      if (this.#state === 'idle') return;
      if (fault === undefined) this.#settle();
      else if (this.#upstream.state !== 'closed') {
        if (this.#deadlines.nowMs() - this.#lostAtMs >= limits.backendStreamDelayMsMax) this.#onGone();
        this.#wait();
      }
    });
  }

  #settle(): void {
    if (!this.#transition('waiting', 'idle')) this.#transition('opening', 'idle');
  }

  /** The one writer of the state. */
  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}
