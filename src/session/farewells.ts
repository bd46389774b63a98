// Ends very many upstream sessions at once, when a process stops. Backends are told of the oldest first, a few at a time, so that no
// notice times out while it waits for a connection. Origins take turns, and get more notices in flight the better they respond: a
// silent origin costs the others nothing. Sessions whose backend cannot be told in time are counted. Cold path.
import type { DeadlineWheel } from '../fair/index.js';
import type { UpstreamSession } from '../upstream/index.js';
import { NO_METADATA } from '../http-client/index.js';

/**
 * Such notifications to one origin at once: lower than an origin's limit of connections, so that none waits for one. Beyond it, further
 * ones wait for their turn.
 */
export const FAREWELLS_PER_ORIGIN_MAX = 256;
/**
 * Such notifications to one origin at the beginning, so that a silent origin does not delay the others. Beyond it, each answered one
 * allows one more, each unanswered one halves the number.
 */
export const FAREWELLS_PER_ORIGIN_FIRST = 16;

/** Notifications of backends in progress at once when all sessions end with the process. Beyond it, further ones wait for their turn. */
export const FAREWELLS_MAX = 2_048;

export interface FarewellCount {
  /** Upstream sessions whose backend has responded to the notice of their end. */
  readonly told: number;
  /** Upstream sessions whose backend could not be reached, did not respond, or did not have its turn in time. */
  readonly untold: number;
}

interface Origin {
  readonly upstreams: UpstreamSession[];
  nextIndex: number;
  underWayCount: number;
  /** How many notices may be in flight: one more for each that was answered, halved for each that was not. */
  underWayMax: number;
  isReady: boolean;
}

export class Farewells {
  /** Origins with a notice to send and room for it; the next one first. */
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

  /** Sends the notices; called once. Resolves when every notice has ended, answered or not, or `withinMs` is over. */
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

  /** Starts as many notices as may be in flight. Called again whenever one has ended, until all have or the time is over. */
  #fill(): void {
    while (this.#onOver !== undefined && this.#underWayCount < FAREWELLS_MAX) {
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
    origin.underWayMax = Math.min(Math.max(underWayMax, 1), FAREWELLS_PER_ORIGIN_MAX);
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
    underWayMax: FAREWELLS_PER_ORIGIN_FIRST,
    isReady: true,
  };
}
