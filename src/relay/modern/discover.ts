// `server/discover`: what there is behind the gateway for this caller (M16). It asks every backend as `initialize` does, and answers
// when each has come to something or the patience is over. Cold: clients ask once, if at all.
import { capabilitiesJson, TASK_CAPABILITIES } from '../../protocol/capabilities.js';
import { MODERN_PROTOCOL_VERSION, PROTOCOL_VERSIONS } from '../../protocol/protocol-versions.js';
import { rpcCodes } from '../../shared/refusals.js';
import type { IdSpan } from '../../upstream/rpc/rpc-request.js';
import type { UpstreamContext } from '../../upstream/upstream-context.js';
import type { CompiledVirtualHost } from '../../user-config/compiled-config.js';
import { answer, answerError, resultMessage, type RpcError } from '../exchange/answers.js';
import type { ServedEras } from '../exchange/era.js';
import type { Exchange } from '../exchange/exchange.js';
import { mergeGreetings, openUpstreams } from '../session/initialize.js';
import { RequestInFlight } from '../in-flight/request-in-flight.js';
import { hasRoom } from '../session/request-room.js';
import type { Session } from '../session/session.js';
import { unavailableMeta, type UnavailableBackend } from '../message/unavailable.js';
import { RESULT_META } from './modern-results.js';

/** Those that a modern request can use: what is about tasks needs a session. */
const RELAYED = ~TASK_CAPABILITIES;

export interface DiscoverPlan {
  readonly session: Session;
  readonly virtualHost: CompiledVirtualHost;
  readonly exchange: Exchange;
  readonly id: IdSpan;
  readonly eras: ServedEras;
}

/** Its lease does not idle while it is under way, and ends it. */
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
    // It is answered all the same, and soon.
  }

  endWithSession(): void {
    answerError(this.#exchange, this.id, ENDED);
  }
}

const ENDED: RpcError = { code: rpcCodes.internalError, message: 'This server is about to stop: try again' };

export function discover(context: UpstreamContext, plan: DiscoverPlan): void {
  const { session, virtualHost, exchange, id } = plan;
  if (!hasRoom(session, exchange, id)) return;
  const work = new DiscoverInFlight(plan);
  session.begin(work);
  openUpstreams(context, session, virtualHost, exchange, (unavailable) => {
    if (!work.isLinked) return;
    session.finish(work);
    answer(exchange, resultMessage(id, discoverResult(plan, unavailable)));
  });
}

function discoverResult(
  { session, virtualHost, eras }: DiscoverPlan,
  unavailable: readonly UnavailableBackend[],
): string {
  const { capabilities, instructionsMember } = mergeGreetings(session, virtualHost, unavailable);
  const members = [
    '"resultType":"complete"',
    `"supportedVersions":${JSON.stringify(supportedVersions(eras))}`,
    `"capabilities":${capabilitiesJson(capabilities & RELAYED)}`,
    // What it says is as old as the upstream sessions, and another caller would be told something else (M19, M30).
    '"ttlMs":0,"cacheScope":"private"',
    `"_meta":${JSON.stringify({ ...RESULT_META, ...unavailableMeta(unavailable)._meta })}`,
  ];
  return `{${members.join()}${instructionsMember}}`;
}

/** Newest first. */
function supportedVersions(eras: ServedEras): readonly string[] {
  return eras === 'modern' ? [MODERN_PROTOCOL_VERSION] : [MODERN_PROTOCOL_VERSION, ...PROTOCOL_VERSIONS];
}
