// Something bounded that many subjects use at once: sessions, requests, bytes. A `Share` counts what all subjects hold of it, a `Holding`
// what one of them holds. Both are bounded, and the last part of a share (as of a `Quota` and a `FairQueue`) is reserved for subjects that
// hold little. A subject's account is looked up once per session or request. Hot path: once per request.
import assert from 'node:assert';
import { refusals, type Refusal } from '../shared/index.js';

export interface ShareBounds {
  readonly subjectMax: number;
  readonly totalMax: number;
  /** The part of `totalMax` for subjects that hold little. */
  readonly reserved?: number;
  /** Whether an even part stays free for whoever comes next, because nobody waits for room. */
  readonly keepsPart?: true;
}

/** One part in so many is reserved. Beyond the rest, subjects that hold more are refused, or wait. */
const RESERVE_DIVISOR = 8;

/** The bounds with the reserved part, unless one subject may have the whole, or the part is too small to be useful. */
export function withReserve({ subjectMax, totalMax }: ShareBounds): ShareBounds {
  const reserved = Math.floor(totalMax / RESERVE_DIVISOR);
  const isUseful = subjectMax < totalMax && reserved >= RESERVE_DIVISOR && reserved < Infinity;
  return { subjectMax, totalMax, reserved: isUseful ? reserved : 0 };
}

/**
 * Whether all subjects may hold `held` together. The reserved part is for a subject that then holds one thing, or at most a quarter of an
 * even part of the reserve (own ≤ reserve ÷ holders ÷ 4), so that there is room even after hundreds have taken theirs.
 * @param own what the subject then holds.
 * @param holders how many subjects hold anything.
 */
export function isWithinBounds(bounds: ShareBounds, held: number, own: number, holders: number): boolean {
  const { totalMax } = bounds;
  return held <= totalMax - freePart(bounds, own, holders) || (held <= totalMax && isLittle(bounds, own, holders));
}

/** What must stay free of a share: for a subject that holds more than an even part, one more such part. */
function freePart(
  { subjectMax, totalMax, reserved = 0, keepsPart }: ShareBounds,
  own: number,
  holders: number,
): number {
  const part = keepsPart === true ? Math.min(totalMax / (holders + 1), totalMax - subjectMax) : 0;
  return own > part ? Math.max(reserved, part) : reserved;
}

function isLittle({ reserved = 0 }: ShareBounds, own: number, holders: number): boolean {
  return own <= 1 || own * 4 * holders <= reserved;
}

export type ShareBound = 'subjectMax' | 'totalMax';

export class Share {
  readonly bounds: ShareBounds;
  onGiven: ((subject: string) => void) | undefined = undefined;
  /** What all subjects hold together. Changed only by the holdings, like `holderCount`. */
  held = 0;
  holderCount = 0;

  constructor(bounds: ShareBounds) {
    this.bounds = bounds;
  }

  /** Whether it has room. @param own what the subject holds. @param amount to be taken. @param returning what any will give back first. */
  hasRoomFor(own: number, amount: number, returning = 0): boolean {
    return isWithinBounds(this.bounds, this.held + amount - returning, own + amount, this.holderCount);
  }

  isLittle(own: number): boolean {
    return isLittle(this.bounds, own, this.holderCount);
  }
}

export class Holding {
  readonly share: Share;
  readonly #account: Account;
  /** What the subject holds. Changed only here. */
  held = 0;

  constructor(share: Share, account: Account) {
    this.share = share;
    this.#account = account;
  }

  get roomWhenEmpty(): number {
    const { subjectMax, totalMax, reserved = 0 } = this.share.bounds;
    return Math.min(subjectMax, totalMax - reserved);
  }

  /** How much the subject may still take under both bounds, including the reserved part. */
  get room(): number {
    const { subjectMax, totalMax } = this.share.bounds;
    return Math.min(subjectMax - this.held, totalMax - this.share.held);
  }

  /** The bound that leaves no room for this amount more. Of both, it is the subject's own, because the subject can lower what it holds. */
  boundAgainst(amount: number): ShareBound | undefined {
    if (this.held + amount > this.share.bounds.subjectMax) return 'subjectMax';
    return this.share.hasRoomFor(this.held, amount) ? undefined : 'totalMax';
  }

  /** Whether the subject would still hold little with this amount more. */
  isLittleWith(amount: number): boolean {
    return this.share.isLittle(this.held + amount);
  }

  /** Whether there will be room. @param own what this holding will have given back. @param all what all will, including `own`. */
  willHaveRoomFor(amount: number, own: number, all: number): boolean {
    const kept = this.held - own;
    return kept + amount <= this.share.bounds.subjectMax && this.share.hasRoomFor(kept, amount, all);
  }

  /** Whether there is room under this fraction of both bounds: the rest stays free for others. */
  hasRoomWithin(fraction: number, amount: number): boolean {
    const { bounds, held } = this.share;
    return this.held + amount <= bounds.subjectMax * fraction && held + amount <= bounds.totalMax * fraction;
  }

  /** Takes the amount, if there is room. @returns the bound if nothing was taken. */
  tryTake(amount: number): ShareBound | undefined {
    const bound = this.boundAgainst(amount);
    if (bound === undefined) this.take(amount);
    return bound;
  }

  /** Takes the amount even without room: for what exists already. */
  take(amount: number): void {
    if (amount === 0) return;
    if (this.held === 0) {
      this.share.holderCount += 1;
      this.#account.onFirstTaken();
    }
    this.held += amount;
    this.share.held += amount;
  }

  give(amount: number): void {
    if (amount === 0) return;
    this.held -= amount;
    this.share.held -= amount;
    assert(this.held >= 0, 'nobody gives back what was not taken');
    if (this.held === 0) {
      this.share.holderCount -= 1;
      this.#account.onAllGiven();
    }
    this.share.onGiven?.(this.#account.subject);
  }
}

export const shareNames = ['sessions', 'sessionBytes', 'requests', 'requestBytes', 'answerBytes', 'listBytes'] as const;

export type ShareName = (typeof shareNames)[number];

export type ShareTable = Readonly<Record<ShareName, ShareBounds>>;

export class Accounts {
  readonly #shares: Readonly<Record<ShareName, Share>>;
  readonly #accounts = new Map<string, Account>();

  constructor(table: ShareTable) {
    this.#shares = {
      sessions: new Share(table.sessions),
      sessionBytes: new Share(table.sessionBytes),
      requests: new Share(table.requests),
      requestBytes: new Share(table.requestBytes),
      answerBytes: new Share(table.answerBytes),
      listBytes: new Share(table.listBytes),
    };
  }

  get size(): number {
    return this.#accounts.size;
  }

  held(name: ShareName): number {
    return this.#shares[name].held;
  }

  /** The account of a subject. One that holds nothing is temporary, and must not be kept until something is taken. */
  of(subject: string): Account {
    return this.#accounts.get(subject) ?? new Account(subject, this.#shares, this.#accounts);
  }
}

const SESSIONS = { subjectMax: refusals.subjectSessionsFull, totalMax: refusals.sessionsFull };
const SESSION_BYTES = { subjectMax: refusals.subjectSessionBytesFull, totalMax: refusals.sessionBytesFull };
const REQUESTS = { subjectMax: refusals.subjectRequestsFull, totalMax: refusals.requestsFull };

export class Account {
  readonly subject: string;
  readonly sessions: Holding;
  readonly sessionBytes: Holding;
  readonly requests: Holding;
  readonly requestBytes: Holding;
  readonly answerBytes: Holding;
  readonly listBytes: Holding;
  readonly #holders: Map<string, Account>;
  #usedHoldingsCount = 0;

  constructor(subject: string, shares: Readonly<Record<ShareName, Share>>, holders: Map<string, Account>) {
    this.subject = subject;
    this.#holders = holders;
    this.sessions = new Holding(shares.sessions, this);
    this.sessionBytes = new Holding(shares.sessionBytes, this);
    this.requests = new Holding(shares.requests, this);
    this.requestBytes = new Holding(shares.requestBytes, this);
    this.answerBytes = new Holding(shares.answerBytes, this);
    this.listBytes = new Holding(shares.listBytes, this);
  }

  // Refusals because there is no room: 429 when the subject holds too much, 503 when all together do.

  refusalOfSession(bytes: number): Refusal | undefined {
    const bound = this.sessions.boundAgainst(1);
    return bound === undefined ? this.refusalOfBytes(bytes) : SESSIONS[bound];
  }

  refusalOfBytes(bytes: number): Refusal | undefined {
    const bound = this.sessionBytes.boundAgainst(bytes);
    return bound && SESSION_BYTES[bound];
  }

  /** Why another request is refused. Hot path: once per request. */
  refusalOfRequest(): Refusal | undefined {
    const bound = this.requests.boundAgainst(1);
    return bound && REQUESTS[bound];
  }

  /** Called when a holding stops being empty, and `onAllGiven` when it is empty again. */
  onFirstTaken(): void {
    this.#usedHoldingsCount += 1;
    if (this.#usedHoldingsCount > 1) return;
    assert(!this.#holders.has(this.subject), 'a subject has one account');
    this.#holders.set(this.subject, this);
  }

  onAllGiven(): void {
    this.#usedHoldingsCount -= 1;
    if (this.#usedHoldingsCount === 0) this.#holders.delete(this.subject);
  }
}
