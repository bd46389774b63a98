// Decides what an overloaded process still admits, so that the subjects that caused the overload are refused first. A subject that has used
// up a share gets 429, as always; one that holds much more than others is refused; a few requests of all others are admitted each second.
// Hot path while the process serves: one comparison per request. Cold path otherwise.
//
//                       new sessions                  requests of open sessions
//   refusing-sessions   of others, a few a second     all
//   refusing-requests   none                          of others, a few a second; none where memory is short
import type { Account, Accounts, ShareName } from './share.js';
import { refusals, type Refusal, KIB } from '../shared/index.js';
import { Quota } from './quota.js';
import { type Overload, overloadBounds } from './overload.js';

/**
 * Estimated bytes that a session adds to the shares of session bytes, beside its `clientInfo`, `capabilities` and upstream sessions;
 * resident memory grew by 5.3 KiB for each of 2,000 sessions with one backend.
 */
export const SESSION_BYTES_EACH = 3 * KIB;

/** Lets a few through each second, per key and in total. Cold path: used only while a process is overloaded. */
export class PerSecondQuota {
  readonly #taken: Quota;
  readonly #nowMs: () => number;
  #second = 0;

  /** @param perKeyMax how many pass per key and second. */
  constructor(perKeyMax: number, nowMs: () => number) {
    this.#taken = new Quota(Infinity, perKeyMax);
    this.#nowMs = nowMs;
  }

  /** @param totalMax how many of all keys together pass in this second; may change between calls. */
  tryTake(key: string, totalMax: number): boolean {
    const second = Math.floor(this.#nowMs() / 1_000);
    if (second !== this.#second) this.#taken.clear();
    this.#second = second;
    return this.#taken.tryTake(key, totalMax);
  }
}

/**
 * Part of its share, in percent, that one subject may always hold, whatever others hold. Beyond that, it can count as a subject that holds
 * much.
 */
const PRESSED_HARMLESS_PERCENT = 2;

/** The shares of which a subject may hold too much: checked for a new session, and for a request. */
const SHARES_OF_SESSIONS: readonly ShareName[] = ['sessions', 'sessionBytes', 'requests'];
const SHARES_OF_REQUESTS: readonly ShareName[] = ['requests'];

export class LoadShedder {
  readonly #overload: Overload;
  readonly #accounts: Accounts;
  readonly #sessions: PerSecondQuota;
  readonly #requests: PerSecondQuota;

  constructor(overload: Overload, accounts: Accounts, nowMs: () => number = () => performance.now()) {
    this.#overload = overload;
    this.#accounts = accounts;
    this.#sessions = new PerSecondQuota(overloadBounds.pressedSessionsPerSubjectPerSecond, nowMs);
    this.#requests = new PerSecondQuota(overloadBounds.pressedRequestsPerSubjectPerSecond, nowMs);
  }

  /**
   * The refusal of this request under overload, if any. A DELETE is never refused, because it makes room.
   * @param wanted `session` for a request that can only be an `initialize`.
   */
  refusalOf(method: string, wanted: 'session' | 'request', subject: string): Refusal | undefined {
    if (this.#overload.state === 'serving' || method === 'DELETE') return undefined;
    return wanted === 'session' ? this.#sessionRefusal(subject) : this.#requestRefusal(subject);
  }

  #sessionRefusal(subject: string): Refusal | undefined {
    const account = this.#accounts.of(subject);
    const shareRefusal = ownRefusal(account.refusalOfSession(averageSessionBytes(account)));
    if (shareRefusal !== undefined) return shareRefusal;
    if (this.#overload.state === 'refusing-requests') return refusals.overloaded;
    const totalMax = Math.floor(overloadBounds.pressedSessionsPerSecond * this.#overload.headroom);
    if (this.#holdsMuchMore(account, SHARES_OF_SESSIONS)) return refusals.sessionsPaused;
    return this.#sessions.tryTake(subject, totalMax) ? undefined : refusals.sessionsPaused;
  }

  #requestRefusal(subject: string): Refusal | undefined {
    if (this.#overload.state !== 'refusing-requests') return undefined;
    const account = this.#accounts.of(subject);
    const shareRefusal = ownRefusal(account.refusalOfRequest());
    if (shareRefusal !== undefined) return shareRefusal;
    if (this.#overload.isShortOfMemory || this.#holdsMuchMore(account, SHARES_OF_REQUESTS)) return refusals.overloaded;
    return this.#requests.tryTake(subject, overloadBounds.pressedRequestsPerSecond) ? undefined : refusals.overloaded;
  }

  /** Whether the subject holds much more of a share than others do on average; never true without others. */
  #holdsMuchMore(account: Account, names: readonly ShareName[]): boolean {
    return names.some((name) => {
      const { held, roomWhenEmpty } = account[name];
      if (held * 100 <= roomWhenEmpty * PRESSED_HARMLESS_PERCENT) return false;
      const others = this.#accounts.size - 1;
      return held * others > overloadBounds.pressedTimesOthersMax * (this.#accounts.held(name) - held);
    });
  }
}

/** The refusal if the subject's own share is full. Where all subjects together have filled a share, the overload refusal says more. */
function ownRefusal(refusal: Refusal | undefined): Refusal | undefined {
  return refusal?.status === 429 ? refusal : undefined;
}

/** The average size of the subject's sessions; the size of the next one is unknown until it is read. */
function averageSessionBytes({ sessions, sessionBytes }: Account): number {
  return Math.max(SESSION_BYTES_EACH, sessions.held === 0 ? 0 : Math.ceil(sessionBytes.held / sessions.held));
}
