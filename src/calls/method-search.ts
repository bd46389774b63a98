// Finds the backend for a method that the gateway does not know. A backend that is not open may declare it: one that could not be opened
// so far, or that another process had lost before this one adopted the session. Opens such backends to find out. Cold path.
import type { IdSpan } from '../upstream/index.js';
import { rpcErrors } from '../shared/index.js';
import type { Deadline } from '../fair/index.js';
import type { CompiledBackend } from '../user-config/index.js';
import type { UpstreamContext } from '../upstream/index.js';
import { answerError, type Exchange, metadataFor } from '../exchange/index.js';
import { visitBackends, RequestInFlight } from '../streams/index.js';
import type { Session } from '../session/index.js';

interface MethodSearchPlan {
  readonly session: Session;
  readonly exchange: Exchange;
  readonly id: IdSpan;
  /** Backends of the config that the session obeys; not empty. */
  readonly backends: ReadonlyMap<string, CompiledBackend>;
}

export class MethodSearch extends RequestInFlight {
  readonly id: IdSpan;
  readonly isCancellable = true;
  readonly #context: UpstreamContext;
  readonly #plan: MethodSearchPlan;
  readonly #onSearched: () => void;
  readonly #pending: Set<CompiledBackend>;
  #patience: Deadline | undefined;
  #isDone = false;

  /** @param onSearched called once, perhaps from within `start`, when the search is over; not if the caller is answered here. */
  constructor(context: UpstreamContext, plan: MethodSearchPlan, onSearched: () => void) {
    super();
    this.id = plan.id;
    this.#context = context;
    this.#plan = plan;
    this.#onSearched = onSearched;
    this.#pending = new Set(plan.backends.values());
  }

  start(): void {
    const { session, backends } = this.#plan;
    const { deadlines, options } = this.#context;
    session.begin(this);
    this.#patience = deadlines.after(options.initializePatienceMs, () => this.#onSearchOver());
    visitBackends(session.identity.subject, backends, {
      visit: (backend) => this.#open(backend),
      onNoRoom: (backend) => this.#settle(backend),
    });
  }

  cancel(): void {
    if (this.#finish()) answerError(this.#plan.exchange, this.id, rpcErrors.cancelled);
  }

  endWithSession(): void {
    if (this.#finish()) answerError(this.#plan.exchange, this.id, rpcErrors.methodSearchSessionEnded);
  }

  #open(backend: CompiledBackend): void {
    const { session, exchange } = this.#plan;
    // The search or the session is over, or the session obeys another config by now.
    if (this.#isDone || session.virtualHost?.backends.get(backend.name) !== backend) return this.#settle(backend);
    const upstream = session.upstream(backend);
    upstream.whenOpen(metadataFor(backend, exchange.request), () => this.#settle(backend));
    if (upstream.isTrial) this.#settle(backend);
  }

  #settle(backend: CompiledBackend): void {
    this.#pending.delete(backend);
    if (this.#pending.size === 0) this.#onSearchOver();
  }

  #onSearchOver(): void {
    if (this.#finish()) this.#onSearched();
  }

  /** @returns false if it was over already. */
  #finish(): boolean {
    if (this.#isDone) return false;
    this.#isDone = true;
    this.#patience?.cancel();
    this.#plan.session.finish(this);
    return true;
  }
}
