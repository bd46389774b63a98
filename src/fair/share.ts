// A bounded amount that many subjects use at once: sessions, requests, bytes. A `Share` counts what all subjects hold together, a `Holding`
// what one of them holds, and both are bounded, so that no subject can take it all. Nor can a few subjects together: the last part of a
// share (also of a `Quota` and of a `FairQueue`) is reserved for those that hold little. Each subject that holds anything has one account,
// which is looked up once, when a session or a request begins, and kept for as long as that lasts: taking and giving back are a few
// additions. Hot path: once per request.
import assert from 'node:assert';
import { refusals, type Refusal } from '../shared/index.js';

export interface ShareBounds {
  /** For one subject. */
  readonly subjectMax: number;
  /** For all subjects together. */
  readonly totalMax: number;
  /** The part of `totalMax` that is reserved for subjects that hold little; nothing when absent. */
  readonly reserved?: number;
}

/**
 * This part (1 ÷ 8) of what all subjects share is reserved for those that hold little, unless one subject may have the whole. Beyond the
 * rest, the others are refused, or wait.
 */
const RESERVE_DIVISOR = 8;

/** Adds the reserved part: none where one subject may have the whole, or where the part would be too small to be useful. */
export function withReserve({ subjectMax, totalMax }: ShareBounds): ShareBounds {
  const reserved = Math.floor(totalMax / RESERVE_DIVISOR);
  const isUseful = subjectMax < totalMax && reserved >= RESERVE_DIVISOR && reserved < Infinity;
  return { subjectMax, totalMax, reserved: isUseful ? reserved : 0 };
}

/**
 * Whether all subjects may hold `held` together. The reserved part is open only to a subject that then holds one thing, or at most a
 * quarter of an even part of the reserve (own ≤ reserve ÷ holders ÷ 4), so that the next subject finds room even after hundreds have taken
 * theirs.
 * @param own what the subject then holds. @param holders the number of subjects that hold anything.
 */
export function isWithinBounds(bounds: ShareBounds, held: number, own: number, holders: number): boolean {
  const { totalMax, reserved = 0 } = bounds;
  return held <= totalMax - reserved || (held <= totalMax && isLittle(bounds, own, holders));
}

function isLittle({ reserved = 0 }: ShareBounds, own: number, holders: number): boolean {
  return own <= 1 || own * 4 * holders <= reserved;
}

/** The bound that leaves no room. */
export type ShareBound = 'subjectMax' | 'totalMax';

/** What all subjects together hold of one thing. */
export class Share {
  readonly bounds: ShareBounds;
  /** Called when a subject has given something back, for code that lets others wait for that. */
  onGiven: ((subject: string) => void) | undefined = undefined;
  /** Changed only by its holdings, like the number of those that are not empty. */
  held = 0;
  holderCount = 0;

  constructor(bounds: ShareBounds) {
    this.bounds = bounds;
  }

  /** Whether there is room for `amount` more, for a subject that holds `own`, once `returning` is given back by any subject. */
  hasRoomFor(own: number, amount: number, returning = 0): boolean {
    return isWithinBounds(this.bounds, this.held + amount - returning, own + amount, this.holderCount);
  }

  isLittle(own: number): boolean {
    return isLittle(this.bounds, own, this.holderCount);
  }
}

/** What one subject holds of a share. */
export class Holding {
  readonly share: Share;
  readonly #account: Account;
  /** Changed only here. */
  held = 0;

  constructor(share: Share, account: Account) {
    this.share = share;
    this.#account = account;
  }

  /** The room if nobody held anything. */
  get roomWhenEmpty(): number {
    const { subjectMax, totalMax, reserved = 0 } = this.share.bounds;
    return Math.min(subjectMax, totalMax - reserved);
  }

  /** The room left under both bounds, including what is reserved. */
  get room(): number {
    const { subjectMax, totalMax } = this.share.bounds;
    return Math.min(subjectMax - this.held, totalMax - this.share.held);
  }

  /** The bound that leaves no room for this amount more; the subject's own comes first, since the subject can do something about it. */
  boundAgainst(amount: number): ShareBound | undefined {
    if (this.held + amount > this.share.bounds.subjectMax) return 'subjectMax';
    return this.share.hasRoomFor(this.held, amount) ? undefined : 'totalMax';
  }

  /** Whether the subject would still hold little with this amount more. */
  isLittleWith(amount: number): boolean {
    return this.share.isLittle(this.held + amount);
  }

  /** Whether the bounds allow this amount once `own` of this holding, and `all` of the whole share including `own`, has been given back. */
  willHaveRoomFor(amount: number, own: number, all: number): boolean {
    const kept = this.held - own;
    return kept + amount <= this.share.bounds.subjectMax && this.share.hasRoomFor(kept, amount, all);
  }

  /** Whether there would be room if each bound were only this fraction of itself: the rest stays free for others. */
  hasRoomWithin(fraction: number, amount: number): boolean {
    const { bounds, held } = this.share;
    return this.held + amount <= bounds.subjectMax * fraction && held + amount <= bounds.totalMax * fraction;
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

// One account per subject that holds anything.

export const shareNames = ['sessions', 'sessionBytes', 'requests', 'requestBytes', 'answerBytes', 'listBytes'] as const;

export type ShareName = (typeof shareNames)[number];

/** The bounds of every share, for one process. */
export type ShareTable = Readonly<Record<ShareName, ShareBounds>>;

export class Accounts {
  readonly #shares: Readonly<Record<ShareName, Share>>;
  /** Accounts that hold something, by subject. */
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

  /** How many subjects hold something. */
  get size(): number {
    return this.#accounts.size;
  }

  held(name: ShareName): number {
    return this.#shares[name].held;
  }

  /** The account of a subject. An account that holds nothing is a temporary object, not to be kept until something is taken in it. */
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
  /** Requests in flight, that is, those that a session is working on. */
  readonly requests: Holding;
  /** Bytes of large requests and of large answers (message-memory.ts). */
  readonly requestBytes: Holding;
  readonly answerBytes: Holding;
  /** Bytes of large lists of tools. */
  readonly listBytes: Holding;
  /** The accounts of all subjects that hold something; this account is in it while it does. */
  readonly #holders: Map<string, Account>;
  #usedHoldingsCount = 0;

  /** Called only by `Accounts`. */
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

  // Refusals when there is no room: 429 when the subject itself holds too much, and can do something about it; 503 when all together do.

  /** @param bytes the session bytes that the session will count for. */
  refusalOfSession(bytes: number): Refusal | undefined {
    const bound = this.sessions.boundAgainst(1);
    return bound === undefined ? this.refusalOfBytes(bytes) : SESSIONS[bound];
  }

  refusalOfBytes(bytes: number): Refusal | undefined {
    const bound = this.sessionBytes.boundAgainst(bytes);
    return bound && SESSION_BYTES[bound];
  }

  /** Hot path: once per request. */
  refusalOfRequest(): Refusal | undefined {
    const bound = this.requests.boundAgainst(1);
    return bound && REQUESTS[bound];
  }

  /** Called by a holding that stops being empty, and `onAllGiven` by one that becomes empty again. */
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
