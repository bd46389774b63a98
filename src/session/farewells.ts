// Ends very many upstream sessions at once, when a process stops. Backends are told of the oldest first, a few at a time, so that no
// notice times out while it waits for a connection. Origins take turns, and get more notices in flight the better they respond: a
// silent origin costs the others nothing. Sessions whose backend cannot be told in time are counted. Cold path.
import { FairQueue, type DeadlineWheel } from '../fair/index.js';
import type { UpstreamSession } from '../upstream/index.js';
import { NO_METADATA } from '../http-client/index.js';

/**
 * Farewells to one origin in progress at once: fewer than an origin's limit of connections, so that none waits for a connection. Beyond
 * that, further farewells wait for their turn.
 */
export const FAREWELLS_PER_ORIGIN_MAX = 256;
/**
 * Farewells to one origin in progress at once at the beginning, so that a silent origin does not delay the others. Each that is answered
 * then allows one more, each that is not answered halves the number.
 */
export const FAREWELLS_PER_ORIGIN_FIRST = 16;

/** Farewells in progress at once to all origins together. Beyond that, further farewells wait for their turn. */
export const FAREWELLS_MAX = 2_048;

export interface FarewellCount {
  /** Upstream sessions whose backend has responded to the notice of their end. */
  readonly told: number;
  /** Upstream sessions whose backend could not be reached, did not respond, or did not have its turn in time. */
  readonly untold: number;
}

/** How many farewells to one origin are in progress, and how many may be. */
interface Pace {
  underWayCount: number;
  /** One more after each farewell that was answered, half as many after each that was not. */
  underWayMax: number;
}

export class Farewells {
  /** Upstream sessions whose backend is still to be told, by origin. An origin with as many farewells as it may have is held. */
  readonly #left = new FairQueue<UpstreamSession>(Infinity, Infinity);
  readonly #paces = new Map<string, Pace>();
  readonly #totalCount: number;
  #underWayCount = 0;
  #endedCount = 0;
  #toldCount = 0;
  #onOver: (() => void) | undefined;

  /** @param upstreams to be closed, oldest first. */
  constructor(upstreams: Iterable<UpstreamSession>) {
    for (const upstream of upstreams) {
      if (upstream.hasToBeTold) this.#left.add(upstream.backend.target.origin, upstream);
      else upstream.close(NO_METADATA);
    }
    this.#totalCount = this.#left.count;
  }

  /** Sends the notices; called once. Resolves when every notice has ended, answered or not, or `withinMs` is over. */
  async sendAll(deadlines: DeadlineWheel, withinMs: number): Promise<FarewellCount> {
    await new Promise<void>((resolve) => {
      const deadline = deadlines.after(withinMs, () => this.#onOver?.());
      this.#onOver = () => {
        this.#onOver = undefined;
        deadline.cancel();
        resolve();
      };
      this.#fill();
    });
    return { told: this.#toldCount, untold: this.#totalCount - this.#toldCount };
  }

  /** Starts as many notices as may be in flight. Called again whenever one has ended, until all have or the time is over. */
  #fill(): void {
    while (this.#onOver !== undefined && this.#underWayCount < FAREWELLS_MAX) {
      const upstream = this.#left.take();
      if (upstream === undefined) break;
      const { origin } = upstream.backend.target;
      const pace = this.#paces.get(origin) ?? { underWayCount: 0, underWayMax: FAREWELLS_PER_ORIGIN_FIRST };
      this.#paces.set(origin, pace);
      this.#count(origin, pace, 1);
      upstream.close(NO_METADATA, (isTold) => this.#onEnded(origin, pace, isTold));
    }
    if (this.#endedCount === this.#totalCount) this.#onOver?.();
  }

  #count(origin: string, pace: Pace, change: number): void {
    pace.underWayCount += change;
    this.#underWayCount += change;
    if (pace.underWayCount < pace.underWayMax) this.#left.release(origin);
    else this.#left.hold(origin);
  }

  #onEnded(origin: string, pace: Pace, isTold: boolean): void {
    this.#endedCount += 1;
    if (isTold) this.#toldCount += 1;
    const underWayMax = isTold ? pace.underWayMax + 1 : Math.floor(pace.underWayMax / 2);
    pace.underWayMax = Math.min(Math.max(underWayMax, 1), FAREWELLS_PER_ORIGIN_MAX);
    this.#count(origin, pace, -1);
    this.#fill();
  }
}
