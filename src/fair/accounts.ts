// What each subject holds of a process's shares: one account per subject that holds anything. An account is looked up once, when a session
// or a request begins, and kept for as long as that lasts.
import assert from 'node:assert';
import { refusals, type Refusal } from '../shared/index.js';
import { Holding, Share, type HoldingObserver, type ShareBounds } from './share.js';

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

export class Account implements HoldingObserver {
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
