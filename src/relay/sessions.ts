// The sessions that this worker owns, by id. It mints ids, ends what is idle, and bounds the number.
import type { Deadline } from '../shared/deadline-wheel.js';
import { limits } from '../shared/limits.js';
import type { ExchangeRequest } from './exchange.js';
import { Session } from './session.js';
import type { UpstreamContext } from './upstream/upstream-context.js';

interface Entry {
  readonly session: Session;
  readonly idleDeadline: Deadline;
}

export interface SessionsOptions {
  readonly idleTimeoutMs: number;
  /** A new id, unique for the life of the gateway (S19, S20), that this worker owns. */
  mintId(): string;
}

export class Sessions {
  readonly #context: UpstreamContext;
  readonly #options: SessionsOptions;
  readonly #entries = new Map<string, Entry>();

  constructor(context: UpstreamContext, options: SessionsOptions) {
    this.#context = context;
    this.#options = options;
  }

  get isFull(): boolean {
    return this.#entries.size >= limits.sessionsMax;
  }

  create(subject: string, virtualHostId: string, clientInfo: Buffer): Session {
    const id = this.#options.mintId();
    const session = new Session(this.#context, { id, subject, virtualHostId, clientInfo });
    const idleDeadline = this.#context.deadlines.after(this.#options.idleTimeoutMs, () => {
      if (session.isBusy) idleDeadline.restart();
      else this.end(session);
    });
    this.#entries.set(id, { session, idleDeadline });
    return session;
  }

  /** The caller's session of this id, and a sign of life for it; `undefined` when it is not there or not theirs. */
  find(id: string, subject: string, virtualHostId: string): Session | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined || !entry.session.belongsTo(subject, virtualHostId)) return undefined;
    entry.idleDeadline.restart();
    return entry.session;
  }

  /** @param request the DELETE that asked for it, `undefined` when the gateway ends it by itself. */
  end(session: Session, request?: ExchangeRequest): void {
    const { id } = session.identity;
    this.#entries.get(id)?.idleDeadline.cancel();
    this.#entries.delete(id);
    session.end(request);
  }

  endAll(): void {
    for (const { session } of [...this.#entries.values()]) this.end(session);
  }
}
