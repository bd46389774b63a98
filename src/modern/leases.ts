// Leases: the sessions in which modern requests are served. No client learns their ids. One lease serves all requests of one subject to one
// virtual host that declare the same capabilities and have the same passthrough headers, which may be credentials. An idle lease ends after
// a timeout, or when its subject has no room for another session, but never for another subject. Only a part of a subject's busy leases may
// have the same headers, so that one program cannot keep another one out. Hot path: two map lookups per request.
import type { Account, Accounts } from '../fair/index.js';
import { limits, refusals, type Refusal } from '../shared/index.js';
import { MODERN_PROTOCOL_VERSION } from '../mcp/index.js';
import { OWN_INTRODUCTION } from '../upstream/index.js';
import type { SuspendedCallsOptions } from './suspended-calls.js';
import { headersHash } from './request-state.js';
import type { Caller, ExchangeRequest } from '../exchange/index.js';
import type { SessionStream } from '../streams/index.js';
import { type ForwardRequest, Session, type Sessions, LEASES_OF_FREE_FACTOR } from '../session/index.js';

interface Lease {
  readonly session: Session;
  readonly headersHash: string;
}

interface SubjectLeases {
  readonly byKey: Map<string, Lease>;
  /** The lease without passthrough headers that was used last: most often, the next request is for it, too. */
  lastUsed: Session | undefined;
}

/** Which worker of the gateway owns which lease, and how a request gets there. */
export interface LeaseOwners extends Pick<SuspendedCallsOptions, 'slot' | 'forwardToSlot'> {
  /** The slot that owns the lease with this key. */
  readonly ownerSlotOf?: ((key: string) => number) | undefined;
}

export class Leases {
  readonly #owners: LeaseOwners;
  readonly #sessions: Sessions;
  readonly #accounts: Accounts;
  readonly #idleTimeoutMs: number;
  readonly #bySubject = new Map<string, SubjectLeases>();
  /** The streams of clients that listen, by the subject and key of the lease that serves the client's other requests. */
  readonly #listeners = new Map<string, Set<SessionStream>>();

  constructor(sessions: Sessions, accounts: Accounts, idleTimeoutMs: number, owners: LeaseOwners = { slot: 0 }) {
    this.#owners = owners;
    this.#sessions = sessions;
    this.#accounts = accounts;
    this.#idleTimeoutMs = idleTimeoutMs;
    sessions.onFull = ({ subject }) => this.#tryEndIdle(subject);
  }

  /**
   * The lease for requests of this caller; a new one if there is none.
   * @param capabilities of the client: a JSON object, of which a copy is kept.
   * @param the caller's passthrough headers: lower-case name, value, …
   */
  of({ subject, virtualHost }: Caller, capabilities: Buffer, headers: readonly string[]): Session | Refusal {
    const leases = this.#bySubject.get(subject);
    const hasNoHeaders = headers.length === 0;
    const last = hasNoHeaders ? leases?.lastUsed : undefined;
    if (last !== undefined && isLeaseFor(last, virtualHost.id, capabilities)) {
      this.#sessions.noteUse(last);
      return last;
    }
    const hash = headersHash(headers);
    const key = keyOf(virtualHost.id, hash, capabilities);
    const lease = leases?.byKey.get(key)?.session;
    if (lease === undefined) return this.#createLease(this.#accounts.of(subject), virtualHost, key, hash, capabilities);
    if (leases !== undefined && hasNoHeaders) leases.lastUsed = lease;
    this.#sessions.noteUse(lease);
    return lease;
  }

  /** A function that forwards a request to the process that owns the request's lease; `undefined` if this process does. */
  forwarderToOwner(
    { subject, virtualHost }: Caller,
    capabilities: Buffer,
    headers: readonly string[],
  ): ForwardRequest | undefined {
    return this.#forwarderToOwner(`${subject}\n${keyOf(virtualHost.id, headersHash(headers), capabilities)}`);
  }

  /** Reports list changes in the caller's lease, whenever there is one, to the stream. @returns a function that ends the reports. */
  listen(
    { subject, virtualHost }: Caller,
    capabilities: Buffer,
    request: ExchangeRequest,
    stream: SessionStream,
  ): () => void {
    const key = keyOf(virtualHost.id, headersHash(request.passthroughHeaders), capabilities);
    const findLease = (): Session | undefined => this.#bySubject.get(subject)?.byKey.get(key)?.session;
    const listeners = this.#listeners.get(`${subject}\n${key}`) ?? new Set();
    this.#listeners.set(`${subject}\n${key}`, listeners.add(stream));
    findLease()?.applyConfig(virtualHost, request);
    findLease()?.setListeningStreams(listeners, request);
    return () => {
      if (!listeners.delete(stream) || listeners.size > 0) return;
      this.#listeners.delete(`${subject}\n${key}`);
      findLease()?.setListeningStreams(undefined);
    };
  }

  #createLease(
    account: Account,
    virtualHost: Caller['virtualHost'],
    key: string,
    hash: string,
    capabilities: Buffer,
  ): Session | Refusal {
    const { subject } = account;
    if (!this.#tryMakeRoom(account, hash)) return refusals.subjectLeasesFull;
    const { clientInfo } = OWN_INTRODUCTION;
    const lease = this.#sessions.create({
      account,
      virtualHost,
      protocolVersion: MODERN_PROTOCOL_VERSION,
      // Backends get the gateway's name instead of a client's, because several programs may use the lease.
      introduction: { clientInfo, capabilities },
      leaseIdleMs: this.#idleTimeoutMs,
    });
    // Not the refusal for sessions, which advises a DELETE: a modern client has no session id.
    if (!(lease instanceof Session)) return lease === refusals.subjectSessionsFull ? refusals.subjectLeasesFull : lease;
    lease.forwardToOwner = this.#forwarderToOwner(`${subject}\n${key}`);
    const listeners = this.#listeners.get(`${subject}\n${key}`);
    if (listeners !== undefined) lease.setListeningStreams(listeners);
    else if (lease.acceptsRequests) lease.startListening();
    // Looked up again, because the end of another lease may have removed the subject's maps.
    const leases = this.#bySubject.get(subject) ?? { byKey: new Map<string, Lease>(), lastUsed: undefined };
    this.#bySubject.set(subject, leases);
    leases.byKey.set(key, { session: lease, headersHash: hash });
    lease.onEnd = () => {
      leases.byKey.delete(key);
      if (leases.lastUsed === lease) leases.lastUsed = undefined;
      if (leases.byKey.size === 0) this.#bySubject.delete(subject);
    };
    return lease;
  }

  #forwarderToOwner(key: string): ForwardRequest | undefined {
    const { slot, ownerSlotOf, forwardToSlot } = this.#owners;
    const owner = ownerSlotOf?.(key) ?? slot;
    return owner === slot || forwardToSlot === undefined ? undefined : (...request) => forwardToSlot(owner, ...request);
  }

  /** Makes room for one more lease with these headers; ends an idle one if need be. */
  #tryMakeRoom({ subject, sessions }: Account, hash: string): boolean {
    const leases = this.#bySubject.get(subject);
    if (leases === undefined) return true;
    const max = Math.min(limits.leasesPerSubjectMax, sessions.roomWhenEmpty);
    const busy = [...leases.byKey.values()].filter(({ session }) => session.isBusy);
    const withSameHeaders = busy.filter((lease) => lease.headersHash === hash);
    if (withSameHeaders.length >= LEASES_OF_FREE_FACTOR * (max - busy.length)) return false;
    return leases.byKey.size < max || this.#tryEndIdle(subject);
  }

  /** Ends one idle lease: of those whose headers have the most leases, the least recently used. */
  #tryEndIdle(subject: string): boolean {
    const leases = [...(this.#bySubject.get(subject)?.byKey.values() ?? [])];
    const counts = new Map<string, number>();
    for (const { headersHash: hash } of leases) counts.set(hash, (counts.get(hash) ?? 0) + 1);
    let idle: Session | undefined;
    let most = 0;
    for (const { session, headersHash: hash } of leases) {
      const count = counts.get(hash)!;
      if (session.isBusy || count < most) continue;
      if (count === most && idle !== undefined && session.usedAtMs >= idle.usedAtMs) continue;
      idle = session;
      most = count;
    }
    if (idle === undefined) return false;
    void this.#sessions.end(idle);
    return true;
  }
}

function keyOf(virtualHostId: string, hash: string, capabilities: Buffer): string {
  return `${virtualHostId}\n${hash}\n${capabilities.toString('latin1')}`;
}

function isLeaseFor({ identity }: Session, virtualHostId: string, capabilities: Buffer): boolean {
  return identity.virtualHostId === virtualHostId && identity.introduction.capabilities.equals(capabilities);
}
