// The sessions that this worker owns, by id. It mints ids, ends idle sessions, and keeps to the shares of sessions and of their memory.
// Where there is a directory, each session has an entry in it, renewed while the session is used. No session is ended to make room for
// another: its client would lose it to a client of the same subject that opens sessions without end.
import type { Account } from '../../shared/accounts.js';
import { fullSessionShare } from '../../shared/full-share.js';
import type { Refusal } from '../../shared/refusals.js';
import type { CompiledVirtualHost } from '../../user-config/compiled-config.js';
import type { ClientIntroduction } from '../../upstream/session/client-introduction.js';
import { Introductions } from '../../upstream/session/introductions.js';
import type { Era } from '../../protocol/protocol-versions.js';
import type { ExchangeRequest } from '../exchange/exchange.js';
import type { FoundSession, SessionDirectory } from '../../session-directory/session-directory.js';
import { limits } from '../../shared/limits.js';
import { DirectoryEntry } from './directory-entry.js';
import { EntryRenewal } from './entry-renewal.js';
import { onPassed } from './peer-notices.js';
import { sessionBytesOf } from './session-memory.js';
import { Session } from './session.js';
import type { SessionMeans } from './session-plan.js';
import type { UpstreamContext } from '../../upstream/upstream-context.js';
import type { UpstreamSession } from '../../upstream/session/upstream-session.js';

export interface SessionsOptions {
  readonly idleTimeoutMs: number;
  readonly means: SessionMeans;
  /** `undefined`: sessions end with this process. */
  readonly directory: SessionDirectory | undefined;
  /** A new id, unique for the life of the gateway (S19, S20), that this worker owns. */
  mintId(): string;
}

export interface SessionPlan {
  readonly account: Account;
  readonly virtualHost: CompiledVirtualHost;
  readonly protocolVersion: string;
  /** Is copied. */
  readonly introduction: ClientIntroduction;
  /** Of a session that another process began: its id, and its record. */
  readonly begun?: { readonly id: string } & FoundSession;
  /** Of a lease (modern/leases.ts): how long it may idle. It is written down nowhere. */
  readonly leasedForMs?: number;
  /** In which backends are asked first; of a lease the modern one. */
  readonly era?: Era;
}

export class Sessions {
  readonly #context: UpstreamContext;
  readonly #options: SessionsOptions;
  readonly #sessions = new Map<string, Session>();
  readonly #introductions = new Introductions();
  readonly #renewal: EntryRenewal | undefined;
  /** Asked where there is no room for a session of this account's: whether there may be some now. */
  onFull: ((account: Account) => boolean) | undefined = undefined;
  #isRetired = false;

  constructor(context: UpstreamContext, options: SessionsOptions) {
    this.#context = context;
    this.#options = options;
    const { directory } = options;
    this.#renewal = directory && new EntryRenewal(context.deadlines, this.#sessions, this.#renewalRoundMs);
  }

  get count(): number {
    return this.#sessions.size;
  }

  /** @returns why there is no session, when a share of the subject's or of all has no room for it. */
  create({
    account,
    virtualHost,
    protocolVersion,
    introduction,
    begun,
    leasedForMs,
    era = leasedForMs === undefined ? 'legacy' : 'modern',
  }: SessionPlan): Session | Refusal {
    const bytes = sessionBytesOf(virtualHost, introduction);
    let refusal = fullSessionShare(account, bytes);
    while (refusal !== undefined && this.onFull?.(account) === true) refusal = fullSessionShare(account, bytes);
    if (refusal !== undefined) return refusal;
    const id = begun?.id ?? this.#options.mintId();
    const { subject } = account;
    const said = this.#introductions.of(introduction);
    const identity = { id, subject, virtualHostId: virtualHost.id, protocolVersion, era, introduction: said };
    const session = new Session(this.#context, identity, account, this.#options.means);
    const { directory } = this.#options;
    if (directory !== undefined && leasedForMs === undefined) {
      const onEnded = (): void => this.#drop(session);
      const events = { onEnded, onPassed: (bytes: Buffer) => onPassed(session, bytes) };
      session.entry = new DirectoryEntry(directory, session, events, begun);
    }
    account.sessions.take(1);
    const idleMs = leasedForMs ?? this.#idleMs;
    session.idleDeadline = this.#context.deadlines.after(idleMs, () => this.#onIdle(session));
    this.#sessions.set(id, session);
    return session;
  }

  /** In the order in which they began here. */
  all(): Iterable<Session> {
    return this.#sessions.values();
  }

  /** Whether it is here, whoever's it is. */
  has(id: string): boolean {
    return this.#sessions.has(id);
  }

  /** The caller's session of this id, and a sign of life for it; `undefined` when it is not there or not theirs. */
  find(id: string, subject: string, virtualHostId: string): Session | undefined {
    const session = this.#sessions.get(id);
    if (session?.belongsTo(subject, virtualHostId) !== true) return undefined;
    this.noteUse(session);
    session.isUsed = true;
    // Other machines learn at once that it is in use again; as long as it is, they do by its renewals.
    if (session.isQuiet) {
      session.isQuiet = false;
      session.entry?.renew();
    }
    return session;
  }

  /** A sign of life for it, as far as this process is concerned. */
  noteUse(session: Session): void {
    session.idleDeadline?.restart();
    session.usedAtMs = this.#context.deadlines.recentMs;
  }

  /**
   * @param request the DELETE that asked for it, `undefined` when the gateway ends it by itself.
   * @returns when other machines can know, where there may be any.
   */
  end(session: Session, request?: ExchangeRequest): Promise<void> | undefined {
    const { id } = session.identity;
    session.idleDeadline?.cancel();
    if (this.#sessions.delete(id)) session.account.sessions.give(1);
    const removed = session.entry?.remove();
    session.end(request);
    return removed;
  }

  #onIdle(session: Session): void {
    if (session.isBusy || this.#isElsewhere(session)) {
      session.idleDeadline?.restart();
      return;
    }
    const outcome = session.entry?.onIdle() ?? 'over';
    if (outcome === 'over') void this.end(session);
    else void outcome.then((asked) => this.#onIdleAsked(session, asked));
  }

  #onIdleAsked(session: Session, outcome: 'over' | 'elsewhere'): void {
    if (session.isEnded) return;
    if (outcome === 'over') void this.end(session);
    // Used meanwhile: it is here as well as there.
    else if (session.isBusy || session.isUsed) session.idleDeadline?.restart();
    else this.#drop(session);
  }

  /** Where others may use it: so much later that their renewals are seen, and its own do not look like theirs. */
  get #idleMs(): number {
    const { directory, idleTimeoutMs } = this.#options;
    return directory?.isShared === true ? idleTimeoutMs + this.#renewalRoundMs : idleTimeoutMs;
  }

  get #renewalRoundMs(): number {
    return this.#options.idleTimeoutMs / limits.sessionRenewalsPerIdleTimeout;
  }

  /** It is not of this process any more, and may live elsewhere: nobody is told that it has ended. */
  #drop(session: Session): void {
    session.idleDeadline?.cancel();
    if (this.#sessions.delete(session.identity.id)) session.account.sessions.give(1);
    session.entry?.letGo();
    session.abandon();
  }

  /** Every stream that belongs to no request; none is opened any more that way. */
  endStreams(): void {
    for (const session of this.#sessions.values()) session.endStream();
  }

  /** What is written down is another process's to renew and to end; here it ends without a word. */
  retire(): void {
    this.#isRetired = true;
    this.#renewal?.stop();
    for (const session of [...this.#sessions.values()]) session.retire();
  }

  /**
   * Ends every session but for its upstream sessions.
   * @param isKept whether those go on that are written down: their upstream sessions stay as they are.
   * @returns the others, those of the oldest session first.
   */
  releaseAll(isKept: boolean): readonly UpstreamSession[] {
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    return sessions.flatMap((session) => {
      const goesOn = isKept && (session.entry?.isWritten === true || this.#isElsewhere(session));
      session.entry?.letGo();
      session.idleDeadline?.cancel();
      session.account.sessions.give(1);
      const upstreams = session.release(true);
      return goesOn ? upstreams.filter(({ state }) => state !== 'open') : upstreams;
    });
  }

  /** Whether another process may be going on with it. */
  #isElsewhere(session: Session): boolean {
    return this.#isRetired && session.entry?.isKnown === true;
  }
}
