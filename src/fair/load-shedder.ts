// Decides which requests an overloaded process refuses: first the requests of subjects that caused the overload. A subject that has used up
// a share gets 429, as always. A subject that uses much more than others is refused. For all other subjects, a few requests are admitted
// each second. Hot path while the process serves: one comparison per request.
//
//                       new sessions                  requests of open sessions
//   refusing-sessions   of others, a few a second     all
//   refusing-requests   none                          of others, a few a second; none where memory is short
import type { Account, Accounts, ShareName } from './share.js';
import { refusals, type Refusal, KIB } from '../shared/index.js';
import { Quota } from './quota.js';
import { type Overload, overloadBounds } from './overload.js';

/** Estimated bytes of a session without its upstream sessions and what the client declares. Measured: 5.3 KiB with one backend. */
export const SESSION_BYTES_EACH = 3 * KIB;

/** Allows a few things each second, per key and in total. */
export class PerSecondQuota {
  readonly #taken: Quota;
  readonly #nowMs: () => number;
  #second = 0;

  constructor(perKeyMax: number, nowMs: () => number) {
    this.#taken = new Quota(Infinity, perKeyMax);
    this.#nowMs = nowMs;
  }

  tryTake(key: string, totalMax: number): boolean {
    const second = Math.floor(this.#nowMs() / 1_000);
    if (second !== this.#second) this.#taken.clear();
    this.#second = second;
    return this.#taken.tryTake(key, totalMax);
  }
}

/** A subject that uses less than this percentage of its share never counts as using much. */
const HARMLESS_USE_PERCENT = 2;

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

  /** Why a request is refused, if it is. A DELETE never is: it frees memory. @param wanted `session` if it must be an `initialize`. */
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
    if (this.#usesMuchMore(account, SHARES_OF_SESSIONS)) return refusals.sessionsPaused;
    return this.#sessions.tryTake(subject, totalMax) ? undefined : refusals.sessionsPaused;
  }

  #requestRefusal(subject: string): Refusal | undefined {
    if (this.#overload.state !== 'refusing-requests') return undefined;
    const account = this.#accounts.of(subject);
    const shareRefusal = ownRefusal(account.refusalOfRequest());
    if (shareRefusal !== undefined) return shareRefusal;
    if (this.#overload.isShortOfMemory || this.#usesMuchMore(account, SHARES_OF_REQUESTS)) return refusals.overloaded;
    return this.#requests.tryTake(subject, overloadBounds.pressedRequestsPerSecond) ? undefined : refusals.overloaded;
  }

  /** Whether an account uses much more than the average of others; never true without others. */
  #usesMuchMore(account: Account, names: readonly ShareName[]): boolean {
    return names.some((name) => {
      const { used, roomWhenEmpty } = account[name];
      if (used * 100 <= roomWhenEmpty * HARMLESS_USE_PERCENT) return false;
      const others = this.#accounts.size - 1;
      return used * others > overloadBounds.pressedTimesOthersMax * (this.#accounts.used(name) - used);
    });
  }
}

/** The refusal, if the subject has reached its own bound. If the bound of all subjects is reached, `overloaded` says more. */
function ownRefusal(refusal: Refusal | undefined): Refusal | undefined {
  return refusal?.status === 429 ? refusal : undefined;
}

/** An estimate of the subject's next session, whose size is not known before its `initialize` is parsed. */
function averageSessionBytes({ sessions, sessionBytes }: Account): number {
  return Math.max(SESSION_BYTES_EACH, sessions.used === 0 ? 0 : Math.ceil(sessionBytes.used / sessions.used));
}
