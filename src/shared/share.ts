// A bounded amount that many subjects use at once: sessions, requests, bytes. A share counts what all of them hold, a
// holding what one of them does, so that no subject can take it all. Nor can a few together: the last part of it may be kept
// for those who hold little. Who holds something keeps the holding at hand: taking and giving back are a few additions. Hot:
// once a request.
import assert from 'node:assert';

export interface ShareBounds {
  /** Of one subject. */
  readonly subjectMax: number;
  /** Of all together. */
  readonly totalMax: number;
  /** Of that, what is kept for subjects that hold little: nothing when not given. */
  readonly kept?: number;
}

/** Which bound there was no room under. */
export type ShareBound = 'subjectMax' | 'totalMax';

/** What all subjects hold of one thing. */
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
   * Whether there is room for so much more, for a subject that holds `own`. Into what is kept those may go who hold a quarter of
   * an even part of it at most: so the next one finds room there even if hundreds before it took all that they could.
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

  /** For `Holding`: how many more hold something than before. */
  addHolders(count: number): void {
    this.#holderCount += count;
  }
}

/** Hears when a holding begins to hold something, and when it holds nothing any more. */
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

  /** How much there would be room for, were nothing else held. */
  get roomWhenEmpty(): number {
    const { subjectMax, totalMax } = this.#share.bounds;
    return Math.min(subjectMax, totalMax);
  }

  /** How much more there would be room for, by these bounds. */
  get room(): number {
    const { subjectMax, totalMax } = this.#share.bounds;
    return Math.min(subjectMax - this.#held, totalMax - this.#share.held);
  }

  /** Which bound has no room for so much; the subject's own first, because only about that one can it do something. */
  boundAgainst(amount: number): ShareBound | undefined {
    if (this.#held + amount > this.#share.bounds.subjectMax) return 'subjectMax';
    return this.#share.hasRoomFor(this.#held, amount) ? undefined : 'totalMax';
  }

  /** Whether the bounds let so much more in once `own` of this holding's and `all` of everybody's, its own too, is given back. */
  willHaveRoomFor(amount: number, own: number, all: number): boolean {
    const { bounds, held } = this.#share;
    return this.#held + amount - own <= bounds.subjectMax && held + amount - all <= bounds.totalMax;
  }

  /** Whether there would be room for so much if each bound were only this fraction of itself: the rest stays free for others. */
  hasRoomWithin(fraction: number, amount: number): boolean {
    const { bounds, held } = this.#share;
    return this.#held + amount <= bounds.subjectMax * fraction && held + amount <= bounds.totalMax * fraction;
  }

  /** @returns `undefined` when it was taken, else the bound that has no room, and nothing was taken. */
  tryTake(amount: number): ShareBound | undefined {
    const bound = this.boundAgainst(amount);
    if (bound === undefined) this.take(amount);
    return bound;
  }

  /** Takes it whatever the bounds say: for what is there already, and counts against what comes. */
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
