// A request that the gateway answers itself, once backends have opened or have answered. While it is in flight, its session does not
// count as idle; if the session ends first, the request is answered with an error. Cold path.
import { rpcErrors, type RpcError } from '../shared/index.js';
import type { CompiledVirtualHost } from '../user-config/index.js';
import type { IdSpan } from '../upstream/index.js';
import { answerError, type Exchange } from '../exchange/index.js';
import { RequestInFlight } from '../streams/index.js';
import type { UnavailableBackend } from '../http-client/index.js';
import { openUpstreams } from './initialize.js';
import type { Session } from './session.js';

interface PendingRequestPlan {
  readonly session: Session;
  readonly exchange: Exchange;
  readonly id: IdSpan;
  /** The error with which the request is answered if the session ends first. */
  readonly sessionEndedError: RpcError;
}

/** Linked (`isLinked`) until it is answered here, or finished by its session. */
export class PendingRequest extends RequestInFlight {
  readonly id: IdSpan;
  readonly isCancellable: boolean;
  readonly #plan: PendingRequestPlan;

  constructor(plan: PendingRequestPlan, isCancellable: boolean) {
    super();
    this.id = plan.id;
    this.isCancellable = isCancellable;
    this.#plan = plan;
    plan.session.inFlight.begin(this);
  }

  override cancel(): void {
    this.#plan.session.finish(this);
    answerError(this.#plan.exchange, this.id, rpcErrors.cancelled);
  }

  endWithSession(): void {
    answerError(this.#plan.exchange, this.id, this.#plan.sessionEndedError);
  }
}

interface OpeningPlan extends PendingRequestPlan {
  readonly virtualHost: CompiledVirtualHost;
  /** The backends to open, some of the virtual host's; all when absent. */
  readonly backends?: CompiledVirtualHost['backends'];
}

/**
 * Opens the backends for a request: `server/discover`, or one whose method any unopened backend may declare.
 * @param done called once, perhaps synchronously, when they are open or the patience is over; not if the request is answered before.
 */
export function whenOpened(plan: OpeningPlan, done: (unavailable: readonly UnavailableBackend[]) => void): void {
  const { session, virtualHost, exchange, backends } = plan;
  const work = new PendingRequest(plan, true);
  const onOpened = (unavailable: readonly UnavailableBackend[]): void => {
    if (!work.isLinked) return;
    session.finish(work);
    done(unavailable);
  };
  openUpstreams(session, virtualHost, exchange, onOpened, backends);
}
