// `logging/setLevel`: one level for all backends that declare `logging`, also those that are opened later. The response is sent when every
// open backend has answered, with whatever result, or has timed out. Requests of 2026-07-28 have a level each; a backend with sessions is
// set to the lowest of them. Cold path.
import { capability, severityOf, type ClientMessage } from '../mcp/index.js';
import { readStringMember } from '../bytes/index.js';
import { limits, rpcErrors } from '../shared/index.js';
import type { CompiledVirtualHost } from '../user-config/index.js';
import {
  answer,
  answerError,
  resultMessage,
  idSpanOf,
  type Exchange,
  type ExchangeRequest,
  metadataFor,
} from '../exchange/index.js';
import { visitAll } from '../streams/index.js';
import { PendingRequest } from './pending-request.js';
import type { Session } from './session.js';
import { membersOf, needsLogLevel, sendOwnRequest } from './own-requests.js';

/** Serves the request. @returns false, without an answer, when no backend has logging. */
export function trySetLogLevel(
  session: Session,
  virtualHost: CompiledVirtualHost,
  exchange: Exchange,
  message: ClientMessage,
): boolean {
  if (session.upstreams.declares(capability.logging) === 'no') return false;
  const id = idSpanOf(exchange, message);
  const { body } = exchange.request;
  const params = body.subarray(message.paramsStart, message.paramsEnd);
  if (message.paramsStart === -1 || severityIn(params) === -1 || params.length > limits.logLevelParamsBytesMax) {
    answerError(exchange, id, rpcErrors.logLevelInvalid);
    return true;
  }
  session.logLevel = Buffer.from(params);
  const work = new PendingRequest({ session, exchange, id, sessionEndedError: rpcErrors.logLevelSessionEnded }, false);
  // One more than the backends, for the last `settle` here: a request to a config without backends is answered, too.
  let pendingCount = virtualHost.backends.size + 1;
  const settle = (): void => {
    pendingCount -= 1;
    if (pendingCount > 0 || !work.isLinked) return;
    session.finish(work);
    answer(exchange, resultMessage(id, '{}'));
  };
  setBackendLevels(session, virtualHost, exchange.request, settle);
  settle();
  return true;
}

/**
 * Lowers the backends' level to that of a request in a lease, without waiting for their answers. Log messages below that level are left out
 * of the request's stream.
 * @param level as valid JSON.
 */
export function lowerLogLevel(
  session: Session,
  virtualHost: CompiledVirtualHost,
  request: ExchangeRequest,
  level: Buffer,
): void {
  const params = Buffer.from(`{"level":${level.toString()}}`);
  if (session.logLevel !== undefined && severityIn(session.logLevel) <= severityIn(params)) return;
  session.logLevel = params;
  setBackendLevels(session, virtualHost, request, () => undefined);
}

/** Sends the session's level to every open backend. @param done called once per backend: when it has answered, or is not asked. */
function setBackendLevels(
  session: Session,
  { backends }: CompiledVirtualHost,
  request: ExchangeRequest,
  done: () => void,
): void {
  visitAll(session.identity.subject, backends.values(), {
    visit: (backend) => {
      const upstream = session.upstreams.findOpen(backend.name);
      const { logLevel } = session;
      if (upstream === undefined || !needsLogLevel(upstream) || logLevel === undefined) return done();
      sendOwnRequest(upstream, 'logging/setLevel', membersOf(logLevel), metadataFor(backend, request), done);
    },
    onNoRoom: done,
  });
}

/** How severe the level in the params is; -1 if it is no valid level. */
function severityIn(params: Buffer): number {
  return severityOf(readStringMember(params, 'level') ?? '');
}
