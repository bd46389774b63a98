// Counts bounded things that many subjects use at once: sessions, requests, bytes. A `Capacity` counts what all subjects use of such a
// thing, a `Share` what one subject uses. Both are bounded, and the last part of a capacity (as of a `Quota` and a `FairQueue`) is reserved
// for subjects that use little. A subject's account is looked up once per session or request. Hot path: once per request.
import assert from 'node:assert';
import { refusals, type Refusal } from '../shared/index.js';

export interface ShareBounds {
  readonly subjectMax: number;
  readonly totalMax: number;
  /** The part of `totalMax` for subjects that use little. */
  readonly reserved?: number;
  /** Whether as much as one subject's equal part stays free for the next subject, which would be refused at once, and not queued. */
  readonly keepsPart?: true;
}

/** An eighth of the total is reserved. When only that is left, subjects that do not use little are refused, or wait. */
const RESERVE_DIVISOR = 8;

/** The bounds with a reserved part, unless one subject may have the whole, or that part would be too small to be useful. */
export function withReserve({ subjectMax, totalMax }: ShareBounds): ShareBounds {
  const reserved = Math.floor(totalMax / RESERVE_DIVISOR);
  const isUseful = subjectMax < totalMax && reserved >= RESERVE_DIVISOR && reserved < Infinity;
  return { subjectMax, totalMax, reserved: isUseful ? reserved : 0 };
}

/**
 * Whether one subject may use `own`, and all together `used`. The reserved part is for a subject that uses one thing, or at most a quarter
 * of an even part of the reserve (own ≤ reserve ÷ subjects ÷ 4), so that there is room even after hundreds have taken theirs.
 * With `keepsPart`, a subject that uses more than an even part leaves such a part free.
 * @param subjects how many subjects use anything.
 */
export function isWithinBounds(bounds: ShareBounds, used: number, own: number, subjects: number): boolean {
  const { subjectMax, totalMax, reserved = 0, keepsPart } = bounds;
  if (used > totalMax) return false;
  const part = keepsPart === true ? Math.min(totalMax / (subjects + 1), totalMax - subjectMax) : 0;
  const keptFree = own > part ? Math.max(reserved, part) : reserved;
  return used <= totalMax - keptFree || isLittle(bounds, own, subjects);
}

function isLittle({ reserved = 0 }: ShareBounds, own: number, subjects: number): boolean {
  return own <= 1 || own * 4 * subjects <= reserved;
}

export type ShareBound = 'subjectMax' | 'totalMax';

export class Capacity {
  readonly bounds: ShareBounds;
  onGiven: ((subject: string) => void) | undefined = undefined;
  /** What all subjects use together. Changed only by the shares, like `subjectCount`. */
  used = 0;
  subjectCount = 0;

  constructor(bounds: ShareBounds) {
    this.bounds = bounds;
  }

  /** Whether a subject that uses `own` may take the amount. @param returning how much all subjects will have given back before. */
  hasRoomFor(own: number, amount: number, returning = 0): boolean {
    return isWithinBounds(this.bounds, this.used + amount - returning, own + amount, this.subjectCount);
  }

  isLittle(own: number): boolean {
    return isLittle(this.bounds, own, this.subjectCount);
  }
}

export class Share {
  readonly capacity: Capacity;
  readonly #account: Account;
  /** What the subject uses. Changed only here. */
  used = 0;

  constructor(capacity: Capacity, account: Account) {
    this.capacity = capacity;
    this.#account = account;
  }

  get roomWhenEmpty(): number {
    const { subjectMax, totalMax, reserved = 0 } = this.capacity.bounds;
    return Math.min(subjectMax, totalMax - reserved);
  }

  /** How much the subject may still take under both bounds, including the reserved part. */
  get room(): number {
    const { subjectMax, totalMax } = this.capacity.bounds;
    return Math.min(subjectMax - this.used, totalMax - this.capacity.used);
  }

  /** The bound that leaves no room for this amount more; if both do, the subject's own, because the subject can use less. */
  boundExceededBy(amount: number): ShareBound | undefined {
    if (this.used + amount > this.capacity.bounds.subjectMax) return 'subjectMax';
    return this.capacity.hasRoomFor(this.used, amount) ? undefined : 'totalMax';
  }

  /** Whether, with this amount more, the subject may still take from the reserved part. */
  isLittleWith(amount: number): boolean {
    return this.capacity.isLittle(this.used + amount);
  }

  /** Whether there will be room for the amount when this share has given back `own`, and all shares together `all`, including `own`. */
  willHaveRoomFor(amount: number, own: number, all: number): boolean {
    const kept = this.used - own;
    return kept + amount <= this.capacity.bounds.subjectMax && this.capacity.hasRoomFor(kept, amount, all);
  }

  /** Whether there is room under this fraction of both bounds: the rest stays free for others. */
  hasRoomWithin(fraction: number, amount: number): boolean {
    const { bounds, used } = this.capacity;
    return this.used + amount <= bounds.subjectMax * fraction && used + amount <= bounds.totalMax * fraction;
  }

  /** Takes the amount, if there is room. @returns the bound if nothing was taken. */
  tryTake(amount: number): ShareBound | undefined {
    const bound = this.boundExceededBy(amount);
    if (bound === undefined) this.take(amount);
    return bound;
  }

  /** Takes the amount even without room, because it is in use already. */
  take(amount: number): void {
    if (amount === 0) return;
    if (this.used === 0) {
      this.capacity.subjectCount += 1;
      this.#account.onFirstTaken();
    }
    this.used += amount;
    this.capacity.used += amount;
  }

  give(amount: number): void {
    if (amount === 0) return;
    this.used -= amount;
    this.capacity.used -= amount;
    assert(this.used >= 0, 'nobody gives back what was not taken');
    if (this.used === 0) {
      this.capacity.subjectCount -= 1;
      this.#account.onAllGiven();
    }
    this.capacity.onGiven?.(this.#account.subject);
  }
}

export const shareNames = ['sessions', 'sessionBytes', 'requests', 'requestBytes', 'answerBytes', 'listBytes'] as const;

export type ShareName = (typeof shareNames)[number];

export type ShareTable = Readonly<Record<ShareName, ShareBounds>>;

export class Accounts {
  readonly #shares: Readonly<Record<ShareName, Capacity>>;
  readonly #accounts = new Map<string, Account>();

  constructor(table: ShareTable) {
    this.#shares = {
      sessions: new Capacity(table.sessions),
      sessionBytes: new Capacity(table.sessionBytes),
      requests: new Capacity(table.requests),
      requestBytes: new Capacity(table.requestBytes),
      answerBytes: new Capacity(table.answerBytes),
      listBytes: new Capacity(table.listBytes),
    };
  }

  get size(): number {
    return this.#accounts.size;
  }

  used(name: ShareName): number {
    return this.#shares[name].used;
  }

  /** The account of a subject. An unused account is made anew for each call: keep it only once something is taken. */
  of(subject: string): Account {
    return this.#accounts.get(subject) ?? new Account(subject, this.#shares, this.#accounts);
  }
}

const SESSIONS = { subjectMax: refusals.subjectSessionsFull, totalMax: refusals.sessionsFull };
const SESSION_BYTES = { subjectMax: refusals.subjectSessionBytesFull, totalMax: refusals.sessionBytesFull };
const REQUESTS = { subjectMax: refusals.subjectRequestsFull, totalMax: refusals.requestsFull };

export class Account {
  readonly subject: string;
  readonly sessions: Share;
  readonly sessionBytes: Share;
  readonly requests: Share;
  readonly requestBytes: Share;
  readonly answerBytes: Share;
  readonly listBytes: Share;
  readonly #accounts: Map<string, Account>;
  #usedSharesCount = 0;

  constructor(subject: string, shares: Readonly<Record<ShareName, Capacity>>, accounts: Map<string, Account>) {
    this.subject = subject;
    this.#accounts = accounts;
    this.sessions = new Share(shares.sessions, this);
    this.sessionBytes = new Share(shares.sessionBytes, this);
    this.requests = new Share(shares.requests, this);
    this.requestBytes = new Share(shares.requestBytes, this);
    this.answerBytes = new Share(shares.answerBytes, this);
    this.listBytes = new Share(shares.listBytes, this);
  }

  // Refusals because there is no room: 429 when the subject uses too much, 503 when all together do.

  refusalOfSession(bytes: number): Refusal | undefined {
    const bound = this.sessions.boundExceededBy(1);
    return bound === undefined ? this.refusalOfBytes(bytes) : SESSIONS[bound];
  }

  refusalOfBytes(bytes: number): Refusal | undefined {
    const bound = this.sessionBytes.boundExceededBy(bytes);
    return bound && SESSION_BYTES[bound];
  }

  /** Why another request is refused. Hot path: once per request. */
  refusalOfRequest(): Refusal | undefined {
    const bound = this.requests.boundExceededBy(1);
    return bound && REQUESTS[bound];
  }

  /** Called when a share is no longer empty; `onAllGiven`, when it is empty again. */
  onFirstTaken(): void {
    this.#usedSharesCount += 1;
    if (this.#usedSharesCount > 1) return;
    assert(!this.#accounts.has(this.subject), 'a subject has one account');
    this.#accounts.set(this.subject, this);
  }

  onAllGiven(): void {
    this.#usedSharesCount -= 1;
    if (this.#usedSharesCount === 0) this.#accounts.delete(this.subject);
  }
}
