// Ends all upstream sessions when a process stops: tells their backends (DELETE), oldest session first. The requests in flight to each
// origin are limited, so that none times out while it waits for a connection. The limit grows while the origin answers, so a silent origin
// does not delay the others. Sessions whose backend cannot be told in time are counted. Cold path.
import { FairQueue, type DeadlineWheel } from '../fair/index.js';
import type { UpstreamSession } from '../upstream/index.js';
import { NO_METADATA } from '../http-client/index.js';

/**
 * Requests in flight to one origin: fewer than the origin's connections, so that none waits for a connection. Beyond that, further ones
 * wait.
 */
export const TERMINATIONS_PER_ORIGIN_MAX = 256;
/**
 * Requests in flight to one origin at the beginning: few, so that a silent origin does not delay the others. Each answer raises this limit
 * by one, and each failure halves it.
 */
export const TERMINATIONS_PER_ORIGIN_FIRST = 16;

/** Requests in flight to all origins together. Beyond that, further ones wait. */
export const TERMINATIONS_MAX = 2_048;

export interface TerminationCount {
  /** Upstream sessions whose backend has responded. */
  readonly told: number;
  /** Upstream sessions whose backend could not be reached, did not respond, or could not be told in time. */
  readonly untold: number;
}

interface Pace {
  underWayCount: number;
  underWayMax: number;
}

export class UpstreamTerminations {
  /** Upstream sessions whose DELETE was not sent yet, by origin. An origin at its limit is paused. */
  readonly #unsent = new FairQueue<UpstreamSession>(Infinity, Infinity);
  readonly #paces = new Map<string, Pace>();
  readonly #totalCount: number;
  #underWayCount = 0;
  #endedCount = 0;
  #confirmedCount = 0;
  #onOver: (() => void) | undefined;

  /** @param upstreams the sessions to end, oldest first. */
  constructor(upstreams: Iterable<UpstreamSession>) {
    for (const upstream of upstreams) {
      if (upstream.needsDelete) this.#unsent.add(upstream.backend.target.origin, upstream);
      else upstream.close(NO_METADATA);
    }
    this.#totalCount = this.#unsent.count;
  }

  /** Sends the requests; called once. Resolves when all have been answered or have failed, or after `withinMs`. */
  async sendAll(deadlines: DeadlineWheel, withinMs: number): Promise<TerminationCount> {
    await new Promise<void>((resolve) => {
      const deadline = deadlines.after(withinMs, () => this.#onOver?.());
      this.#onOver = () => {
        this.#onOver = undefined;
        deadline.cancel();
        resolve();
      };
      this.#sendMore();
    });
    return { told: this.#confirmedCount, untold: this.#totalCount - this.#confirmedCount };
  }

  #sendMore(): void {
    while (this.#onOver !== undefined && this.#underWayCount < TERMINATIONS_MAX) {
      const upstream = this.#unsent.take();
      if (upstream === undefined) break;
      const { origin } = upstream.backend.target;
      const pace = this.#paces.get(origin) ?? { underWayCount: 0, underWayMax: TERMINATIONS_PER_ORIGIN_FIRST };
      this.#paces.set(origin, pace);
      this.#changeUnderWay(origin, pace, 1);
      upstream.close(NO_METADATA, (isConfirmed) => this.#onEnded(origin, pace, isConfirmed));
    }
    if (this.#endedCount === this.#totalCount) this.#onOver?.();
  }

  #changeUnderWay(origin: string, pace: Pace, change: number): void {
    pace.underWayCount += change;
    this.#underWayCount += change;
    if (pace.underWayCount < pace.underWayMax) this.#unsent.resume(origin);
    else this.#unsent.pause(origin);
  }

  #onEnded(origin: string, pace: Pace, isConfirmed: boolean): void {
    this.#endedCount += 1;
    if (isConfirmed) this.#confirmedCount += 1;
    const underWayMax = isConfirmed ? pace.underWayMax + 1 : Math.floor(pace.underWayMax / 2);
    pace.underWayMax = Math.min(Math.max(underWayMax, 1), TERMINATIONS_PER_ORIGIN_MAX);
    this.#changeUnderWay(origin, pace, -1);
    this.#sendMore();
  }
}
