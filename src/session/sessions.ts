// The sessions that this worker owns, by id. `Sessions` mints ids, ends idle sessions, and enforces the shares of sessions and of their
// memory. With a session directory, each session has an entry there, renewed while the session is used. No session is ended to make
// room for another: a client that opens sessions endlessly would cost other clients of its subject theirs.
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
import { Session } from './session.js';
import type { SessionMeans } from './session-plan.js';

// Renews the directory entries of sessions in use, a few at a time throughout a round, so that there is no burst of writes. A session
// that was there when a round began has its turn in it, however many come and go meanwhile. Cold path: for each session a few times
// within the idle timeout.

/** Interval between the steps in which a worker renews the records of its sessions, a few at a time, so that writes come evenly. */
export const SESSION_RENEWAL_STEP_MS = 100;
/** Delay of the event loop that one renewal step makes up for. After that, the remaining sessions are renewed in the next round. */
const SESSION_RENEWAL_STEP_MS_MAX = 500;

export interface RenewedSession {
  readonly isBusy: boolean;
  readonly entry: Pick<DirectoryEntry, 'onTurn'> | undefined;
}

export class EntryRenewal {
  readonly #deadlines: DeadlineWheel;
  readonly #sessions: ReadonlyMap<string, RenewedSession>;
  readonly #roundMs: number;
  /** The current round's iterator, over the sessions in the order in which they came. */
  #turns: Iterator<RenewedSession>;
  #roundEndMs: number;
  #lastStepMs: number;
  readonly #next: Deadline;

  constructor(deadlines: DeadlineWheel, sessions: ReadonlyMap<string, RenewedSession>, roundMs: number) {
    this.#deadlines = deadlines;
    this.#sessions = sessions;
    this.#roundMs = roundMs;
    this.#turns = sessions.values();
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
    // After a pause, such as a sleeping machine, sessions that missed their turns do not all have them at once.
    const passedMs = Math.min(nowMs - this.#lastStepMs, SESSION_RENEWAL_STEP_MS_MAX);
    this.#lastStepMs = nowMs;
    this.#renewNext(Math.ceil((this.#sessions.size * passedMs) / this.#roundMs));
    if (nowMs >= this.#roundEndMs) {
      this.#turns = this.#sessions.values();
      this.#roundEndMs = nowMs + this.#roundMs;
    }
  }

  #renewNext(count: number): void {
    for (let left = count; left > 0; left -= 1) {
      const turn = this.#turns.next();
      if (turn.done === true) return;
      turn.value.entry?.onTurn(turn.value.isBusy);
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
  readonly means: SessionMeans;
  /** `undefined`: sessions end with this process. */
  readonly directory: SessionDirectory | undefined;
  /** A new id, unique for the life of the gateway (S19, S20), that this worker owns. */
  mintId(): string;
}

interface SessionPlan {
  readonly account: Account;
  readonly virtualHost: CompiledVirtualHost;
  readonly protocolVersion: string;
  /** Copied by the session. */
  readonly introduction: ClientIntroduction;
  /** For a session that another process opened: its id and its record. */
  readonly adopted?: { readonly id: string } & FoundSession;
  /** For a lease (modern/leases.ts), which has no record: how long it may be idle. */
  readonly leasedForMs?: number;
  /** The era of the requests served in the session; by default modern for a lease, else legacy. */
  readonly era?: Era;
}

export class Sessions {
  readonly #context: UpstreamContext;
  readonly #options: SessionsOptions;
  readonly #sessions = new Map<string, Session>();
  readonly #introductions = new Introductions();
  readonly #renewal: EntryRenewal | undefined;
  /** Called when there is no room for another session of this account. @returns whether it has made some. */
  onFull: ((account: Account) => boolean) | undefined = undefined;

  constructor(context: UpstreamContext, options: SessionsOptions) {
    this.#context = context;
    this.#options = options;
    const { directory } = options;
    this.#renewal = directory && new EntryRenewal(context.deadlines, this.#sessions, this.#renewalRoundMs);
  }

  get count(): number {
    return this.#sessions.size;
  }

  /** @returns the refusal when the subject's share or the total has no room for the session. */
  create({
    account,
    virtualHost,
    protocolVersion,
    introduction,
    adopted,
    leasedForMs,
    era = leasedForMs === undefined ? 'legacy' : 'modern',
  }: SessionPlan): Session | Refusal {
    const bytes = estimatedSessionBytes(virtualHost, introduction);
    let refusal = account.refusalOfSession(bytes);
    while (refusal !== undefined && this.onFull?.(account) === true) refusal = account.refusalOfSession(bytes);
    if (refusal !== undefined) return refusal;
    const id = adopted?.id ?? this.#options.mintId();
    const { subject } = account;
    const shared = this.#introductions.of(introduction);
    const identity = { id, subject, virtualHostId: virtualHost.id, protocolVersion, era, introduction: shared };
    const session = new Session(this.#context, identity, account, this.#options.means);
    if (adopted !== undefined) session.restore(adopted.record, virtualHost);
    const { directory } = this.#options;
    if (directory !== undefined && leasedForMs === undefined) {
      const onEnded = (): void => this.#drop(session);
      const events = { onEnded, onPassed: (bytes: Buffer) => onPeerMessage(session, bytes) };
      session.entry = new DirectoryEntry(directory, session, events, adopted);
    }
    account.sessions.take(1);
    const idleMs = leasedForMs ?? this.#idleMs;
    session.idleDeadline = this.#context.deadlines.after(idleMs, () => this.#onIdle(session));
    this.#sessions.set(id, session);
    return session;
  }

  /** All sessions, in the order in which they began in this process. */
  all(): Iterable<Session> {
    return this.#sessions.values();
  }

  /** Whether this process has the session, whoever it belongs to. */
  has(id: string): boolean {
    return this.#sessions.has(id);
  }

  /** Finds the caller's session by id and notes its use; `undefined` when there is none or it belongs to another caller. */
  find(id: string, subject: string, virtualHostId: string): Session | undefined {
    const session = this.#sessions.get(id);
    if (session?.belongsTo(subject, virtualHostId) !== true) return undefined;
    this.noteUse(session);
    const { entry } = session;
    if (entry !== undefined && entry.use !== 'used') entry.onUsed();
    return session;
  }

  /** Notes that the session is used, in this process only. */
  noteUse(session: Session): void {
    session.idleDeadline?.restart();
    session.usedAtMs = this.#context.deadlines.recentMs;
  }

  /**
   * @param request the DELETE that asked for it, `undefined` when the gateway ends it by itself.
   * @returns a promise resolved when other machines know of the end, or had time to; `undefined` where there are none.
   */
  end(session: Session, request?: ExchangeRequest): Promise<void> | undefined {
    this.#forget(session);
    const removed = session.entry?.remove();
    session.end(request);
    return removed;
  }

  #onIdle(session: Session): void {
    if (session.isBusy || session.hasListeners || this.#isElsewhere(session)) {
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
    // Used here meanwhile: both processes have the session.
    else if (session.isBusy || session.hasListeners || session.entry?.use === 'used') session.idleDeadline?.restart();
    else this.#drop(session);
  }

  /** With a shared directory, one round of renewals longer, so that other processes' renewals are seen and told from our own. */
  get #idleMs(): number {
    const { directory, idleTimeoutMs } = this.#options;
    return directory?.isShared === true ? idleTimeoutMs + this.#renewalRoundMs : idleTimeoutMs;
  }

  get #renewalRoundMs(): number {
    return this.#options.idleTimeoutMs / SESSION_RENEWALS_PER_IDLE_TIMEOUT;
  }

  /** Forgets a session that may continue in another process: nobody is told that it has ended. */
  #drop(session: Session): void {
    this.#forget(session);
    session.entry?.letGo();
    session.abandon();
  }

  #forget(session: Session): void {
    session.idleDeadline?.cancel();
    if (this.#sessions.delete(session.identity.id)) session.account.sessions.give(1);
  }

  /** Ends every stream that belongs to no request; the sessions do not listen to their backends again. */
  endStreams(): void {
    for (const session of this.#sessions.values()) session.endStream();
  }

  /** Another process now renews and ends the sessions that have a record; here they end without telling anyone. */
  retire(): void {
    this.#options.directory?.retire();
    this.#renewal?.stop();
    for (const session of [...this.#sessions.values()]) session.retire();
  }

  /**
   * Ends every session except for its upstream sessions.
   * @param isKept whether sessions that have a record continue elsewhere: their open upstream sessions stay as they are.
   * @returns the other upstream sessions, to be closed; those of the oldest session first.
   */
  releaseAll(isKept: boolean): readonly UpstreamSession[] {
    return [...this.#sessions.values()].flatMap((session) => {
      const goesOn = isKept && (session.entry?.isWritten === true || this.#isElsewhere(session));
      session.entry?.letGo();
      this.#forget(session);
      const upstreams = session.release(true);
      return goesOn ? upstreams.filter(({ state }) => state !== 'open') : upstreams;
    });
  }

  /** Whether another process may have continued the session. */
  #isElsewhere(session: Session): boolean {
    return this.#options.directory?.isRetired === true && session.entry?.isKnown === true;
  }
}
