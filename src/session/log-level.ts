// `logging/setLevel`: the client sets one level for all backends that declare `logging`, including those that are opened later or
// again. The response is sent when every open backend has answered, whatever it says, or has timed out. Each request of 2026-07-28 names
// a level of its own; a backend with sessions has one level for all of them, and is set to the lowest. Cold path.
import { capability, severityOf, type ClientMessage } from '../mcp/index.js';
import { readStringMember } from '../bytes/index.js';
import { limits, rpcErrors } from '../shared/index.js';
import type { CompiledVirtualHost } from '../user-config/index.js';
import {
  answer,
  answerError,
  resultMessage,
  type Exchange,
  type ExchangeRequest,
  metadataFor,
} from '../exchange/index.js';
import { visitBackends, RequestInFlight } from '../streams/index.js';
import type { Session } from './session.js';
import { needsLogLevel, sendLogLevel } from './own-requests.js';
import type { UpstreamContext, IdSpan } from '../upstream/index.js';

interface LogLevelPlan {
  readonly session: Session;
  readonly virtualHost: CompiledVirtualHost;
  readonly exchange: Exchange;
  readonly id: IdSpan;
  readonly message: ClientMessage;
}

/** @returns false when no backend has logging: then the request has not been answered. */
export function trySetLogLevel(context: UpstreamContext, plan: LogLevelPlan): boolean {
  const { session, exchange, id, message } = plan;
  if (session.upstreams.declares(capability.logging) === 'no') return false;
  const { body } = exchange.request;
  const params = body.subarray(message.paramsStart, message.paramsEnd);
  if (message.paramsStart === -1 || severityIn(params) === -1 || params.length > limits.logLevelParamsBytesMax) {
    answerError(exchange, id, rpcErrors.logLevelInvalid);
    return true;
  }
  session.logLevel = Buffer.from(params);
  new SettingLogLevel(context, plan).start();
  return true;
}

/**
 * For a request in a lease, which names a level of its own: sets the backends to the lowest level named so far, without waiting for their
 * answers. Log messages below a request's own level are left out of its stream.
 * @param level as JSON; a valid one.
 */
export function lowerLogLevel(
  context: UpstreamContext,
  session: Session,
  virtualHost: CompiledVirtualHost,
  request: ExchangeRequest,
  level: Buffer,
): void {
  const params = Buffer.from(`{"level":${level.toString()}}`);
  if (session.logLevel !== undefined && severityIn(session.logLevel) <= severityIn(params)) return;
  session.logLevel = params;
  setBackendLevels(context, session, virtualHost, request, () => undefined);
}

/** Sends the session's level to every open backend. @param done called once for each backend: when it has answered, or is not asked. */
function setBackendLevels(
  context: UpstreamContext,
  session: Session,
  { backends }: CompiledVirtualHost,
  request: ExchangeRequest,
  done: () => void,
): void {
  visitBackends(session.identity.subject, backends, {
    visit: (backend) => {
      const upstream = session.upstreams.open(backend.name);
      const { logLevel } = session;
      if (upstream === undefined || !needsLogLevel(upstream) || logLevel === undefined) return done();
      sendLogLevel(context, upstream, logLevel, metadataFor(backend, request), done);
    },
    onNoRoom: done,
  });
}

/** -1 if the params name no valid level. */
function severityIn(params: Buffer): number {
  return severityOf(readStringMember(params, 'level') ?? '');
}

class SettingLogLevel extends RequestInFlight {
  readonly id: IdSpan;
  readonly isCancellable = false;
  readonly #context: UpstreamContext;
  readonly #plan: LogLevelPlan;
  /** Backends that have not answered, or were not sent the level yet. */
  #pendingCount: number;
  #isDone = false;

  constructor(context: UpstreamContext, plan: LogLevelPlan) {
    super();
    this.#context = context;
    this.#plan = plan;
    this.id = plan.id;
    this.#pendingCount = plan.virtualHost.backends.size;
  }

  start(): void {
    const { session, virtualHost, exchange } = this.#plan;
    session.inFlight.begin(this);
    setBackendLevels(this.#context, session, virtualHost, exchange.request, () => this.#settle());
  }

  cancel(): void {
    // Ignored: the request is answered soon anyway.
  }

  endWithSession(): void {
    this.#isDone = true;
    answerError(this.#plan.exchange, this.id, rpcErrors.logLevelSessionEnded);
  }

  #settle(): void {
    this.#pendingCount -= 1;
    if (this.#pendingCount > 0 || this.#isDone) return;
    this.#isDone = true;
    const { session, exchange } = this.#plan;
    session.finish(this);
    answer(exchange, resultMessage(this.id, '{}'));
  }
}
