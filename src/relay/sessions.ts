// The sessions that this worker owns, by id. It mints ids, ends what is idle, and keeps to the shares of sessions and of
// their memory. No session is ended to make room for another: an idle one has a client behind it, which would lose its
// place to a client of the same subject that opens sessions without end.
import type { Account } from '../shared/accounts.js';
import { refusals, type Refusal } from '../shared/refusals.js';
import type { CompiledVirtualHost } from '../user-config/compiled-config.js';
import type { ClientIntroduction } from '../upstream/client-introduction.js';
import type { ExchangeRequest } from './exchange.js';
import { sessionBytesBound } from './session-memory.js';
import { Session, type SessionMeans } from './session.js';
import type { UpstreamContext } from '../upstream/upstream-context.js';
import type { UpstreamSession } from '../upstream/upstream-session.js';

export interface SessionsOptions {
  readonly idleTimeoutMs: number;
  readonly means: SessionMeans;
  /** A new id, unique for the life of the gateway (S19, S20), that this worker owns. */
  mintId(): string;
}

export class Sessions {
  readonly #context: UpstreamContext;
  readonly #options: SessionsOptions;
  readonly #sessions = new Map<string, Session>();

  constructor(context: UpstreamContext, options: SessionsOptions) {
    this.#context = context;
    this.#options = options;
  }

  /** @returns why there is no session, when a share of the subject's or of all has no room for it. */
  create(
    account: Account,
    virtualHost: CompiledVirtualHost,
    protocolVersion: string,
    introduction: ClientIntroduction,
  ): Session | Refusal {
    const refusal = fullShare(account, virtualHost, introduction);
    if (refusal !== undefined) return refusal;
    const id = this.#options.mintId();
    const identity = { id, subject: account.subject, virtualHostId: virtualHost.id, protocolVersion, introduction };
    const session = new Session(this.#context, identity, account, this.#options.means);
    account.sessions.take(1);
    session.idleDeadline = this.#context.deadlines.after(this.#options.idleTimeoutMs, () => {
      if (session.isBusy) session.idleDeadline?.restart();
      else this.end(session);
    });
    this.#sessions.set(id, session);
    return session;
  }

  /** The caller's session of this id, and a sign of life for it; `undefined` when it is not there or not theirs. */
  find(id: string, subject: string, virtualHostId: string): Session | undefined {
    const session = this.#sessions.get(id);
    if (session?.belongsTo(subject, virtualHostId) !== true) return undefined;
    session.idleDeadline?.restart();
    return session;
  }

  /** @param request the DELETE that asked for it, `undefined` when the gateway ends it by itself. */
  end(session: Session, request?: ExchangeRequest): void {
    const { id } = session.identity;
    session.idleDeadline?.cancel();
    if (this.#sessions.delete(id)) session.account.sessions.give(1);
    session.end(request);
  }

  /** Every stream that belongs to no request; none is opened any more that way. */
  endStreams(): void {
    for (const session of this.#sessions.values()) session.endStream();
  }

  /** Ends every session but for its upstream sessions. @returns these, those of the oldest session first. */
  releaseAll(): readonly UpstreamSession[] {
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    return sessions.flatMap((session) => {
      session.idleDeadline?.cancel();
      session.account.sessions.give(1);
      return session.release();
    });
  }
}

function fullShare(
  account: Account,
  virtualHost: CompiledVirtualHost,
  introduction: ClientIntroduction,
): Refusal | undefined {
  switch (account.sessions.boundAgainst(1)) {
    case 'subjectMax':
      return refusals.subjectSessionsFull;
    case 'totalMax':
      return refusals.sessionsFull;
    case undefined:
  }
  switch (sessionBytesBound(account, virtualHost, introduction)) {
    case 'subjectMax':
      return refusals.subjectSessionBytesFull;
    case 'totalMax':
      return refusals.sessionBytesFull;
    case undefined:
      return undefined;
  }
}
