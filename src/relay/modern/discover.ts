// `server/discover`: what the gateway has for this caller (M16). It opens every backend as `initialize` does, and answers when each
// has opened or failed, or when the patience is over. Cold path: clients ask once, if at all.
import { capabilitiesJson, TASK_CAPABILITIES } from '../../protocol/capabilities.js';
import { MODERN_PROTOCOL_VERSION, PROTOCOL_VERSIONS } from '../../protocol/protocol-versions.js';
import { rpcErrors } from '../../shared/rpc-errors.js';
import type { IdSpan } from '../../upstream/rpc/rpc-request.js';
import type { UpstreamContext } from '../../upstream/upstream-context.js';
import type { CompiledVirtualHost } from '../../user-config/compiled-config.js';
import { answer, answerError, resultMessage } from '../exchange/answers.js';
import type { ServedEras } from '../exchange/era.js';
import type { Exchange } from '../exchange/exchange.js';
import { mergeGreetings, openUpstreams } from '../session/initialize.js';
import { RequestInFlight } from '../in-flight/request-in-flight.js';
import { hasRoom } from '../session/request-room.js';
import type { Session } from '../session/session.js';
import { unavailableMeta, type UnavailableBackend } from '../message/unavailable.js';
import { RESULT_META } from './modern-results.js';

/** The capabilities that a modern request can use: all but those of legacy tasks, which need a session. */
const RELAYED = ~TASK_CAPABILITIES;

export interface DiscoverPlan {
  readonly session: Session;
  readonly virtualHost: CompiledVirtualHost;
  readonly exchange: Exchange;
  readonly id: IdSpan;
  readonly eras: ServedEras;
}

/** In the lease's list so that the lease does not count as idle meanwhile, and ends this request if it ends first. */
class DiscoverInFlight extends RequestInFlight {
  readonly id: IdSpan;
  readonly isCancellable = false;
  readonly #exchange: Exchange;

  constructor({ id, exchange }: DiscoverPlan) {
    super();
    this.id = id;
    this.#exchange = exchange;
  }

  cancel(): void {
    // Nothing to cancel: the request is answered soon in any case.
  }

  endWithSession(): void {
    answerError(this.#exchange, this.id, rpcErrors.discoverEnding);
  }
}

export function discover(context: UpstreamContext, plan: DiscoverPlan): void {
  const { session, virtualHost, exchange, id } = plan;
  if (!hasRoom(session, exchange, id)) return;
  const work = new DiscoverInFlight(plan);
  session.begin(work);
  openUpstreams(context, session, virtualHost, exchange, (unavailable) => {
    if (!work.isLinked) return;
    session.finish(work);
    answer(exchange, resultMessage(id, discoverResult(context, plan, unavailable)));
  });
}

function discoverResult(
  context: UpstreamContext,
  { session, virtualHost, eras }: DiscoverPlan,
  unavailable: readonly UnavailableBackend[],
): string {
  const { capabilities, extensions, instructionsMember } = mergeGreetings(context, session, virtualHost, unavailable);
  const members = [
    '"resultType":"complete"',
    `"supportedVersions":${JSON.stringify(supportedVersions(eras))}`,
    `"capabilities":${capabilitiesJson(capabilities & RELAYED, extensions)}`,
    // Not cacheable: the result is as old as the upstream sessions, and differs between callers (M19, M30).
    '"ttlMs":0,"cacheScope":"private"',
    `"_meta":${JSON.stringify({ ...RESULT_META, ...unavailableMeta(unavailable)._meta })}`,
  ];
  return `{${members.join()}${instructionsMember}}`;
}

/** Newest first. */
function supportedVersions(eras: ServedEras): readonly string[] {
  return eras === 'modern' ? [MODERN_PROTOCOL_VERSION] : [MODERN_PROTOCOL_VERSION, ...PROTOCOL_VERSIONS];
}
