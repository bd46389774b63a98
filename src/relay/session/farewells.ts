// The end of very many upstream sessions at once, when a process stops: each backend is told of its own, oldest first, a few at
// a time, so that no notice waits for a connection until its own time is up. Origins take turns, and have more under way
// the better they answer: one that is silent costs the others nothing. What cannot be told in time is counted. Cold.
import type { DeadlineWheel } from '../../shared/deadline-wheel.js';
import { limits } from '../../shared/limits.js';
import type { UpstreamSession } from '../../upstream/session/upstream-session.js';
import { NO_METADATA } from '../../upstream/http/request-metadata.js';

export interface FarewellCount {
  /** Upstream sessions whose backend has answered to their end. */
  readonly told: number;
  /** Those whose backend could not be reached, did not answer, or had not its turn in time. */
  readonly untold: number;
}

interface Origin {
  readonly upstreams: UpstreamSession[];
  nextIndex: number;
  underWayCount: number;
  /** How many may be under way: one more for each that was told, half for each that was not. */
  underWayMax: number;
  isReady: boolean;
}

export class Farewells {
  /** Origins that have something to be told, and room for it; the next one first. */
  readonly #ready: Origin[];
  readonly #totalCount: number;
  #underWayCount = 0;
  #endedCount = 0;
  #toldCount = 0;
  #onOver: (() => void) | undefined;

  /** @param upstreams to be closed, oldest first. */
  constructor(upstreams: Iterable<UpstreamSession>) {
    const byOrigin = new Map<string, Origin>();
    let totalCount = 0;
    for (const upstream of upstreams) {
      if (!upstream.hasToBeTold) {
        upstream.close(NO_METADATA);
        continue;
      }
      totalCount += 1;
      const { origin } = upstream.backend.target;
      const known = byOrigin.get(origin);
      if (known === undefined) byOrigin.set(origin, newOrigin(upstream));
      else known.upstreams.push(upstream);
    }
    this.#totalCount = totalCount;
    this.#ready = [...byOrigin.values()];
  }

  /** Resolves when every backend was told, or `withinMs` is over. Once. */
  async say(deadlines: DeadlineWheel, withinMs: number): Promise<FarewellCount> {
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

  /** Starts what may be under way. It goes on whenever one has ended, until all have or the time is over. */
  #fill(): void {
    while (this.#onOver !== undefined && this.#underWayCount < limits.farewellsMax) {
      const origin = this.#ready.shift();
      if (origin === undefined) break;
      origin.isReady = false;
      this.#sayNext(origin);
    }
    if (this.#endedCount === this.#totalCount) this.#onOver?.();
  }

  #sayNext(origin: Origin): void {
    const upstream = origin.upstreams[origin.nextIndex];
    if (upstream === undefined) return;
    origin.nextIndex += 1;
    origin.underWayCount += 1;
    this.#underWayCount += 1;
    upstream.close(NO_METADATA, (isTold) => this.#onEnded(origin, isTold));
    this.#lineUp(origin);
  }

  #onEnded(origin: Origin, isTold: boolean): void {
    origin.underWayCount -= 1;
    this.#underWayCount -= 1;
    this.#endedCount += 1;
    if (isTold) this.#toldCount += 1;
    const underWayMax = isTold ? origin.underWayMax + 1 : Math.floor(origin.underWayMax / 2);
    origin.underWayMax = Math.min(Math.max(underWayMax, 1), limits.farewellsPerOriginMax);
    this.#lineUp(origin);
    this.#fill();
  }

  #lineUp(origin: Origin): void {
    if (origin.isReady || origin.underWayCount >= origin.underWayMax) return;
    origin.isReady = true;
    this.#ready.push(origin);
  }
}

function newOrigin(first: UpstreamSession): Origin {
  return {
    upstreams: [first],
    nextIndex: 0,
    underWayCount: 0,
    underWayMax: limits.farewellsPerOriginFirst,
    isReady: true,
  };
}
