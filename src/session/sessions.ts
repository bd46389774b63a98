// The sessions that this worker owns, by id. `Sessions` mints ids, ends idle sessions, and enforces the shares of sessions and of their
// memory. No session is ended to make room for another: otherwise a client that opens sessions endlessly would end those of its subject's
// other clients.
import { type Account, type Deadline, type DeadlineWheel } from '../fair/index.js';
import type { Refusal } from '../shared/index.js';
import type { CompiledVirtualHost } from '../user-config/index.js';
import {
  type ClientIntroduction,
  Introductions,
  type UpstreamContext,
  type UpstreamSession,
} from '../upstream/index.js';
import type { Era } from '../mcp/index.js';
import type { ExchangeRequest } from '../exchange/index.js';
import type { FoundSession, SessionDirectory } from './directory/session-directory.js';
import { DirectoryEntry } from './directory-entry.js';
import { onPeerMessage } from './peer-messages.js';
import { estimatedSessionBytes } from './session-memory.js';
import { Session, type SessionContext } from './session.js';

// Renews the records of sessions in use, a few at a time throughout a round, so that there is no burst of writes. Each session that was
// there when a round began is considered once in it, however many come and go. Cold path.

/** Interval between the steps in which a worker renews the records of its sessions, a few at a time, so that writes come evenly. */
export const SESSION_RENEWAL_STEP_MS = 100;
/** The longest delay of the event loop that one renewal step makes up for. After a longer one, some sessions are left to the next round. */
const SESSION_RENEWAL_STEP_MS_MAX = 500;

export interface RenewedSession {
  readonly isBusy: boolean;
  readonly entry: Pick<DirectoryEntry, 'onRenewalRound'> | undefined;
}

export class RecordRenewal {
  readonly #deadlines: DeadlineWheel;
  readonly #sessions: ReadonlyMap<string, RenewedSession>;
  readonly #roundMs: number;
  /** Sessions of the current round that are left, oldest first. */
  #leftInRound: Iterator<RenewedSession>;
  #roundEndMs: number;
  #lastStepMs: number;
  readonly #next: Deadline;

  constructor(deadlines: DeadlineWheel, sessions: ReadonlyMap<string, RenewedSession>, roundMs: number) {
    this.#deadlines = deadlines;
    this.#sessions = sessions;
    this.#roundMs = roundMs;
    this.#leftInRound = sessions.values();
    this.#lastStepMs = deadlines.nowMs();
    this.#roundEndMs = this.#lastStepMs + roundMs;
    this.#next = deadlines.after(Math.min(SESSION_RENEWAL_STEP_MS, roundMs), () => {
      this.#takeStep();
      this.#next.restart();
    });
  }

  stop(): void {
    this.#next.cancel();
  }

  #takeStep(): void {
    const nowMs = this.#deadlines.nowMs();
    // After a pause, such as a sleeping machine, the missed renewals are not all made at once.
    const passedMs = Math.min(nowMs - this.#lastStepMs, SESSION_RENEWAL_STEP_MS_MAX);
    this.#lastStepMs = nowMs;
    for (let left = Math.ceil((this.#sessions.size * passedMs) / this.#roundMs); left > 0; left -= 1) {
      const session = this.#leftInRound.next();
      if (session.done === true) break;
      session.value.entry?.onRenewalRound(session.value.isBusy);
    }
    if (nowMs >= this.#roundEndMs) {
      this.#leftInRound = this.#sessions.values();
      this.#roundEndMs = nowMs + this.#roundMs;
    }
  }
}

/**
 * How often the record of a session in use is renewed per `--session-idle-timeout`; each renewal is a write. A record is kept for one and a
 * half timeouts.
 */
export const SESSION_RENEWALS_PER_IDLE_TIMEOUT = 4;

interface SessionsOptions {
  readonly idleTimeoutMs: number;
  readonly sessionContext: SessionContext;
  /** The session directory; `undefined` if sessions end with this process. */
  readonly directory: SessionDirectory | undefined;
  /** A new id that this worker owns, unique for the life of the gateway (S19, S20). */
  mintId(): string;
}

interface SessionPlan {
  readonly account: Account;
  readonly virtualHost: CompiledVirtualHost;
  readonly protocolVersion: string;
  readonly introduction: ClientIntroduction;
  readonly adopted?: { readonly id: string } & FoundSession;
  /** How long a lease (modern/leases.ts), which has no record, may be idle; absent for other sessions. */
  readonly leaseIdleMs?: number;
  /** The era; by default modern for a lease, else legacy. */
  readonly era?: Era;
}

export class Sessions {
  readonly #context: UpstreamContext;
  readonly #options: SessionsOptions;
  readonly #sessions = new Map<string, Session>();
  readonly #introductions = new Introductions();
  readonly #renewal: RecordRenewal | undefined;
  /** Called when there is no room for another session of this account. @returns whether it has made room. */
  onFull: ((account: Account) => boolean) | undefined = undefined;

  constructor(context: UpstreamContext, options: SessionsOptions) {
    this.#context = context;
    this.#options = options;
    const { directory } = options;
    this.#renewal = directory && new RecordRenewal(context.deadlines, this.#sessions, this.#renewalRoundMs);
  }

  get count(): number {
    return this.#sessions.size;
  }

  /** Creates a session. @returns the refusal when the subject's share, or the total, is full. */
  create({
    account,
    virtualHost,
    protocolVersion,
    introduction,
    adopted,
    leaseIdleMs,
    era = leaseIdleMs === undefined ? 'legacy' : 'modern',
  }: SessionPlan): Session | Refusal {
    const bytes = estimatedSessionBytes(virtualHost, introduction);
    let refusal = account.refusalOfSession(bytes);
    while (refusal !== undefined && this.onFull?.(account) === true) refusal = account.refusalOfSession(bytes);
    if (refusal !== undefined) return refusal;
    const id = adopted?.id ?? this.#options.mintId();
    const { subject } = account;
    const shared = this.#introductions.sharedCopyOf(introduction);
    const identity = { id, subject, virtualHostId: virtualHost.id, protocolVersion, era, introduction: shared };
    const session = new Session(this.#context, identity, account, this.#options.sessionContext);
    if (adopted !== undefined) session.restore(adopted.record, virtualHost);
    const { directory } = this.#options;
    if (directory !== undefined && leaseIdleMs === undefined) {
      const onEnded = (): void => this.#drop(session);
      const events = { onEnded, onPeerMessage: (bytes: Buffer) => onPeerMessage(session, bytes) };
      session.entry = new DirectoryEntry(directory, session, events, adopted);
    }
    account.sessions.take(1);
    const idleMs = leaseIdleMs ?? this.#idleMs;
    session.idleDeadline = this.#context.deadlines.after(idleMs, () => this.#onIdle(session));
    this.#sessions.set(id, session);
    return session;
  }

  /** All sessions, oldest first. */
  values(): Iterable<Session> {
    return this.#sessions.values();
  }

  has(id: string): boolean {
    return this.#sessions.has(id);
  }

  /** Finds the caller's session and notes its use; `undefined` when there is none or it belongs to another caller. */
  find(id: string, subject: string, virtualHostId: string): Session | undefined {
    const session = this.#sessions.get(id);
    if (session?.belongsTo(subject, virtualHostId) !== true) return undefined;
    this.noteUse(session);
    const { entry } = session;
    if (entry !== undefined && entry.recentUse !== 'used') entry.onUsed();
    return session;
  }

  noteUse(session: Session): void {
    session.idleDeadline?.restart();
    session.usedAtMs = this.#context.deadlines.recentMs;
  }

  /**
   * Ends the session everywhere. @param request the DELETE that asked for it, if any.
   * @returns a promise resolved when other machines know, or after a timeout; `undefined` if no other machine has the session.
   */
  end(session: Session, request?: ExchangeRequest): Promise<void> | undefined {
    this.#forget(session);
    const removed = session.entry?.remove();
    session.end(request);
    return removed;
  }

  #onIdle(session: Session): void {
    if (session.isBusy || session.listeningStreams !== undefined || this.#mayBeElsewhere(session)) {
      session.idleDeadline?.restart();
      return;
    }
    const outcome = session.entry?.onIdle() ?? 'over';
    if (outcome === 'over') void this.end(session);
    else void outcome.then((outcome) => this.#onIdleChecked(session, outcome));
  }

  #onIdleChecked(session: Session, outcome: 'over' | 'elsewhere'): void {
    if (session.isEnded) return;
    if (outcome === 'over') void this.end(session);
    // Another process uses the session, but this one has used it meanwhile, too: both keep it.
    else if (session.isBusy || session.listeningStreams !== undefined || session.entry?.recentUse === 'used')
      session.idleDeadline?.restart();
    else this.#drop(session);
  }

  /** How long a session may be idle. With a shared directory, one round more, so that renewals by other processes are seen in time. */
  get #idleMs(): number {
    const { directory, idleTimeoutMs } = this.#options;
    return directory?.isMultiMachine === true ? idleTimeoutMs + this.#renewalRoundMs : idleTimeoutMs;
  }

  get #renewalRoundMs(): number {
    return this.#options.idleTimeoutMs / SESSION_RENEWALS_PER_IDLE_TIMEOUT;
  }

  /** Removes a session that may continue in another process: neither client nor backends learn of an end. */
  #drop(session: Session): void {
    this.#forget(session);
    session.entry?.detach();
    session.abandon();
  }

  #forget(session: Session): void {
    session.idleDeadline?.cancel();
    if (this.#sessions.delete(session.identity.id)) session.account.sessions.give(1);
  }

  endStreams(): void {
    for (const session of this.#sessions.values()) session.endStream();
  }

  /** Leaves all sessions to the process that replaces this one: their records are no longer renewed. */
  retire(): void {
    const { directory } = this.#options;
    if (directory !== undefined) directory.isRetired = true;
    this.#renewal?.stop();
    for (const session of [...this.#sessions.values()]) session.retire();
  }

  /**
   * Ends every session except for its upstream sessions.
   * @param isKept whether sessions that have a record continue elsewhere: their open upstream sessions stay as they are.
   * @returns the other upstream sessions, to be closed; oldest session first.
   */
  releaseAll(isKept: boolean): readonly UpstreamSession[] {
    return [...this.#sessions.values()].flatMap((session) => {
      const goesOn = isKept && (session.entry?.isRecordCurrent === true || this.#mayBeElsewhere(session));
      session.entry?.detach();
      this.#forget(session);
      const upstreams = session.release(true);
      return goesOn ? upstreams.filter(({ state }) => state !== 'open') : upstreams;
    });
  }

  /** Whether another process may have continued the session. */
  #mayBeElsewhere(session: Session): boolean {
    return this.#options.directory?.isRetired === true && session.entry?.hasRecord === true;
  }
}
