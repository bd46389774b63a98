// Opens an upstream session again that was lost while its client only listens: nothing that the client sends would do it, and it
// would hear no more of the backend. After a delay that grows while sessions do not last. Cold.
//
//   idle ──lost──> waiting ──delay──> opening ──opened──> idle
//                     └<───────────failed───┘
//   any ──stop──> idle
import type { Deadline, DeadlineWheel } from '../shared/deadline-wheel.js';
import { Backoff } from '../shared/backoff.js';
import { limits } from '../shared/limits.js';
import type { UpstreamSession } from '../upstream/upstream-session.js';
import { NO_METADATA, type RequestMetadata } from '../upstream/request-metadata.js';

export class Reopening {
  readonly #deadlines: DeadlineWheel;
  readonly #upstream: UpstreamSession;
  #metadata: RequestMetadata = NO_METADATA;
  readonly #backoff = new Backoff(limits.backendStreamDelayMsMin, limits.backendStreamDelayMsMax);
  #openedAtMs = 0;
  #delay: Deadline | undefined;
  #isWanted = false;

  constructor(deadlines: DeadlineWheel, upstream: UpstreamSession) {
    this.#deadlines = deadlines;
    this.#upstream = upstream;
  }

  onOpened(): void {
    this.#openedAtMs = this.#deadlines.nowMs();
  }

  /** @param metadata of the client's GET. */
  onLost(metadata: RequestMetadata): void {
    this.#metadata = metadata;
    this.#isWanted = true;
    if (this.#deadlines.nowMs() - this.#openedAtMs >= limits.backendStreamDelayMsMax) this.#backoff.reset();
    this.#wait();
  }

  stop(): void {
    this.#isWanted = false;
    this.#delay?.cancel();
  }

  #wait(): void {
    this.#delay?.cancel();
    this.#delay = this.#deadlines.after(this.#backoff.next(), () => this.#open());
  }

  #open(): void {
    if (!this.#isWanted || this.#upstream.state === 'closed') return;
    this.#upstream.whenOpen(this.#metadata, (fault) => {
      if (!this.#isWanted) return;
      if (fault === undefined) this.#isWanted = false;
      else if (this.#upstream.state !== 'closed') this.#wait();
    });
  }
}
