// A bounded amount that many subjects use at once: sessions, requests, bytes. A `Share` counts what all subjects hold together, a `Holding`
// what one of them holds, and both are bounded, so that no subject can take it all. Nor can a few subjects together, as the last part of a
// share may be reserved for those that hold little. Whoever holds something keeps a reference to the holding: taking and giving back are a
// few additions. Hot path: once per request.
import assert from 'node:assert';

export interface ShareBounds {
  /** For one subject. */
  readonly subjectMax: number;
  /** For all subjects together. */
  readonly totalMax: number;
  /** The part of `totalMax` that is reserved for subjects that hold little; nothing when absent. */
  readonly kept?: number;
}

/** The bound under which there is no room. */
export type ShareBound = 'subjectMax' | 'totalMax';

/** What all subjects together hold of one thing. */
export class Share {
  readonly bounds: ShareBounds;
  readonly #kept: number;
  #held = 0;
  #holderCount = 0;

  constructor(bounds: ShareBounds) {
    this.bounds = bounds;
    this.#kept = bounds.kept ?? 0;
  }

  get held(): number {
    return this.#held;
  }

  /**
   * Whether there is room for `amount` more, for a subject that holds `own`. The reserved part is open only to subjects that would then hold
   * at most a quarter of their even part of it (own + amount ≤ reserve ÷ holders ÷ 4), so that the next subject finds room there even after
   * hundreds before it took all they could.
   */
  hasRoomFor(own: number, amount: number): boolean {
    const after = this.#held + amount;
    const { totalMax } = this.bounds;
    if (after <= totalMax - this.#kept) return true;
    return after <= totalMax && (own + amount) * 4 * this.#holderCount <= this.#kept;
  }

  /** For `Holding`. */
  add(amount: number): void {
    this.#held += amount;
  }

  /** For `Holding`: changes the number of holdings that are not empty. */
  addHolders(count: number): void {
    this.#holderCount += count;
  }
}

/** Called when a holding stops being empty, and when it becomes empty again. */
export interface HoldingObserver {
  onFirstTaken(): void;
  onAllGiven(): void;
}

/** What one subject holds of a share. */
export class Holding {
  readonly #share: Share;
  readonly #observer: HoldingObserver;
  #held = 0;

  constructor(share: Share, observer: HoldingObserver) {
    this.#share = share;
    this.#observer = observer;
  }

  get held(): number {
    return this.#held;
  }

  /** The room that there would be if nothing were held. */
  get roomWhenEmpty(): number {
    const { subjectMax, totalMax } = this.#share.bounds;
    return Math.min(subjectMax, totalMax);
  }

  /** The room left under both bounds; what is reserved for others is not considered. */
  get room(): number {
    const { subjectMax, totalMax } = this.#share.bounds;
    return Math.min(subjectMax - this.#held, totalMax - this.#share.held);
  }

  /** The bound without room for this amount; the subject's own bound first, as only that one is in the subject's power. */
  boundAgainst(amount: number): ShareBound | undefined {
    if (this.#held + amount > this.#share.bounds.subjectMax) return 'subjectMax';
    return this.#share.hasRoomFor(this.#held, amount) ? undefined : 'totalMax';
  }

  /** Whether the bounds allow this amount once `own` of this holding, and `all` of the whole share including `own`, has been given back. */
  willHaveRoomFor(amount: number, own: number, all: number): boolean {
    const { bounds, held } = this.#share;
    return this.#held + amount - own <= bounds.subjectMax && held + amount - all <= bounds.totalMax;
  }

  /** Whether there would be room if each bound were only this fraction of itself: the rest stays free for others. */
  hasRoomWithin(fraction: number, amount: number): boolean {
    const { bounds, held } = this.#share;
    return this.#held + amount <= bounds.subjectMax * fraction && held + amount <= bounds.totalMax * fraction;
  }

  /** @returns `undefined` when the amount was taken; otherwise the bound without room, and nothing was taken. */
  tryTake(amount: number): ShareBound | undefined {
    const bound = this.boundAgainst(amount);
    if (bound === undefined) this.take(amount);
    return bound;
  }

  /** Takes the amount whatever the bounds say: for what exists already, and has to count against what comes later. */
  take(amount: number): void {
    if (amount === 0) return;
    if (this.#held === 0) {
      this.#share.addHolders(1);
      this.#observer.onFirstTaken();
    }
    this.#held += amount;
    this.#share.add(amount);
  }

  give(amount: number): void {
    if (amount === 0) return;
    this.#held -= amount;
    this.#share.add(-amount);
    assert(this.#held >= 0, 'nobody gives back what was not taken');
    if (this.#held > 0) return;
    this.#share.addHolders(-1);
    this.#observer.onAllGiven();
  }
}
