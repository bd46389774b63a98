// The sessions in which modern requests are served: nobody is told of them, and each is shared by all requests of one subject to one
// virtual host that declare the same capabilities and bring the same headers for backends, which may be credentials. They count among their subject's sessions. One that is idle ends in time, or
// when the subject has no room for another session; nobody else's ever does for it. Hot: two looks into maps a request.
import type { Account, Accounts } from '../../shared/accounts.js';
import { limits } from '../../shared/limits.js';
import { refusals, type Refusal } from '../../shared/refusals.js';
import { MODERN_PROTOCOL_VERSION } from '../../protocol/protocol-versions.js';
import { OWN_INTRODUCTION } from '../../upstream/client-introduction.js';
import { headersHash } from './headers-hash.js';
import type { Caller } from '../caller.js';
import { Session } from '../session.js';
import type { Sessions } from '../sessions.js';

export class Leases {
  readonly #sessions: Sessions;
  readonly #accounts: Accounts;
  readonly #idleTimeoutMs: number;
  /** By subject; then by virtual host and capabilities. */
  readonly #bySubject = new Map<string, Map<string, Session>>();

  constructor(sessions: Sessions, accounts: Accounts, idleTimeoutMs: number) {
    this.#sessions = sessions;
    this.#accounts = accounts;
    this.#idleTimeoutMs = idleTimeoutMs;
    sessions.onFull = ({ subject }) => this.#tryEndIdle(subject);
  }

  /**
   * @param capabilities of the client: a JSON object, of which a copy is kept.
   * @param headers as `ExchangeRequest.passthroughHeaders`.
   */
  of({ subject, virtualHost }: Caller, capabilities: Buffer, headers: readonly string[]): Session | Refusal {
    const key = `${virtualHost.id}\n${headersHash(headers)}\n${capabilities.toString('latin1')}`;
    const lease = this.#bySubject.get(subject)?.get(key);
    if (lease === undefined) return this.#begin(this.#accounts.of(subject), virtualHost, key, capabilities);
    this.#sessions.noteUse(lease);
    return lease;
  }

  #begin(account: Account, virtualHost: Caller['virtualHost'], key: string, capabilities: Buffer): Session | Refusal {
    const { subject } = account;
    const isFull = (this.#bySubject.get(subject)?.size ?? 0) >= limits.leasesPerSubjectMax;
    if (isFull && !this.#tryEndIdle(subject)) return refusals.subjectSessionsFull;
    const { clientInfo } = OWN_INTRODUCTION;
    const lease = this.#sessions.create({
      account,
      virtualHost,
      protocolVersion: MODERN_PROTOCOL_VERSION,
      // Several programs may share it: a backend is told of none of them.
      introduction: { clientInfo, capabilities },
      leasedForMs: this.#idleTimeoutMs,
    });
    if (!(lease instanceof Session)) return lease;
    // Ending others may have taken the subject's map away.
    const leases = this.#bySubject.get(subject) ?? new Map<string, Session>();
    this.#bySubject.set(subject, leases.set(key, lease));
    lease.onEnd = () => {
      leases.delete(key);
      if (leases.size === 0) this.#bySubject.delete(subject);
    };
    return lease;
  }

  /** Ends the one of the subject's that was used least of late, if there is one in which nothing is under way. */
  #tryEndIdle(subject: string): boolean {
    let idle: Session | undefined;
    for (const lease of this.#bySubject.get(subject)?.values() ?? []) {
      if (!lease.isBusy && (idle === undefined || lease.usedAtMs < idle.usedAtMs)) idle = lease;
    }
    if (idle === undefined) return false;
    this.#sessions.end(idle);
    return true;
  }
}
