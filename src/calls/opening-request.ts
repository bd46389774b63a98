// A request that is answered when backends have opened or failed: `server/discover`, or a request whose method the gateway does not know.
// A backend that is not open may declare the method: it could not be opened so far, or another process had lost it before this process
// adopted the session. Cold path.
import { rpcErrors, type RpcError } from '../shared/index.js';
import type { CompiledVirtualHost } from '../user-config/index.js';
import type { IdSpan, UpstreamContext } from '../upstream/index.js';
import { answerError, type Exchange } from '../exchange/index.js';
import { openUpstreams, type Session } from '../session/index.js';
import { RequestInFlight } from '../streams/index.js';
import type { UnavailableBackend } from '../http-client/index.js';

interface OpeningPlan {
  readonly session: Session;
  /** The virtual host by the config that the session has applied. */
  readonly virtualHost: CompiledVirtualHost;
  readonly exchange: Exchange;
  readonly id: IdSpan;
  /** What the caller is told if the session ends meanwhile. */
  readonly ending: RpcError;
  /** Some of the virtual host's; all when absent. */
  readonly backends?: CompiledVirtualHost['backends'];
}

/** Is in the session's list, so that the session does not count as idle meanwhile, and ends this request if it ends first. */
class OpeningRequest extends RequestInFlight {
  readonly id: IdSpan;
  readonly isCancellable = true;
  readonly #plan: OpeningPlan;

  constructor(plan: OpeningPlan) {
    super();
    this.id = plan.id;
    this.#plan = plan;
  }

  cancel(): void {
    this.#plan.session.finish(this);
    answerError(this.#plan.exchange, this.id, rpcErrors.cancelled);
  }

  endWithSession(): void {
    answerError(this.#plan.exchange, this.id, this.#plan.ending);
  }
}

/** @param done called once, perhaps from within, when the backends are open or the patience is over; not if the caller is answered here. */
export function whenOpened(
  context: UpstreamContext,
  plan: OpeningPlan,
  done: (unavailable: readonly UnavailableBackend[]) => void,
): void {
  const { session, virtualHost, exchange, backends } = plan;
  const work = new OpeningRequest(plan);
  session.inFlight.begin(work);
  const onOpened = (unavailable: readonly UnavailableBackend[]): void => {
    if (!work.isLinked) return;
    session.finish(work);
    done(unavailable);
  };
  openUpstreams(context, session, virtualHost, exchange, onOpened, backends);
}
