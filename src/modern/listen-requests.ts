// The open `subscriptions/listen` requests (listen-request.ts): limited per subject and in total. Also whether a client declares the
// extension of tasks. Cold path.
import { TASKS_EXTENSION, type ClientMessage, type ModernEnvelope, MODERN_PROTOCOL_VERSION } from '../mcp/index.js';
import { type Accounts, Quota } from '../fair/index.js';
import { limits, rpcErrors, isObject } from '../shared/index.js';
import { type IdSpan, OWN_INTRODUCTION, type UpstreamContext } from '../upstream/index.js';
import { answerError, idSpanOf, refuse, refuseMessage, type Caller, type Exchange } from '../exchange/index.js';
import type { Dispatcher } from '../calls/index.js';
import { type ConfigPoll, Session, type Sessions } from '../session/index.js';
import { type ListenFilter, readListenFilter } from '../messages/index.js';
import type { SessionStream } from '../streams/index.js';
import type { CompiledBackend } from '../user-config/index.js';
import type { Leases } from './leases.js';
import { ListenRequest } from './listen-request.js';
import { httpStatusOf } from './modern-results.js';

// Tasks of MCP 2026-07-28: the extension `io.modelcontextprotocol/tasks`, relayed where client and backend both declare it.

export const TASKS_REQUIRED: Readonly<Record<string, unknown>> = Object.freeze({
  extensions: { [TASKS_EXTENSION]: {} },
});

/** Whether a client declares the extension. Its capabilities are small enough to be parsed at once: the envelope check has limited them. */
export function declaresTasksExtension(body: Buffer, { capabilitiesStart, capabilitiesEnd }: ModernEnvelope): boolean {
  const capabilities: unknown = JSON.parse(body.toString('utf8', capabilitiesStart, capabilitiesEnd));
  const extensions = isObject(capabilities) ? capabilities['extensions'] : undefined;
  return isObject(extensions) && isObject(extensions[TASKS_EXTENSION]);
}

interface ListenRequestsDependencies {
  readonly context: UpstreamContext;
  readonly sessions: Sessions;
  readonly accounts: Accounts;
  readonly dispatcher: Dispatcher;
  readonly leases: Leases;
  /** The poll of configs; if `undefined`, a stream keeps the config that it began with. */
  readonly configPoll: ConfigPoll | undefined;
}

export class ListenRequests {
  readonly #dependencies: ListenRequestsDependencies;
  readonly #openQuota = new Quota(limits.listensMax);
  #isDraining = false;

  constructor(parts: ListenRequestsDependencies) {
    this.#dependencies = parts;
  }

  /** Accepts no more requests, because this process is about to end. */
  drain(): void {
    this.#isDraining = true;
  }

  listen(caller: Caller, exchange: Exchange, message: ClientMessage, envelope: ModernEnvelope): void {
    const { context, leases } = this.#dependencies;
    const { virtualHost } = caller;
    const filter = readListenFilter(exchange.request.body, message);
    const id = idSpanOf(exchange, message);
    if (typeof filter === 'string') return answerError(exchange, id, rpcErrors.listenInvalid(filter));
    if (filter.wantsTasks === true && !declaresTasksExtension(exchange.request.body, envelope)) {
      const error = rpcErrors.capabilityMissing(TASKS_REQUIRED);
      return answerError(exchange, id, error, httpStatusOf(error.code));
    }
    if (exchange.request.acceptedTypes === 'json') return answerError(exchange, id, rpcErrors.listenNeedsEventStream);
    const { body, passthroughHeaders } = exchange.request;
    const capabilities = Buffer.from(body.subarray(envelope.capabilitiesStart, envelope.capabilitiesEnd));
    const isSessionless = (backend: CompiledBackend): boolean => context.endpoints.of(backend.target).isSessionless;
    const backends = [...virtualHost.backends.values()];
    const forward = backends.every(isSessionless)
      ? undefined
      : leases.forwarderToOwner(caller, capabilities, passthroughHeaders);
    if (forward === undefined) return this.#listen(caller, exchange, id, filter, capabilities);
    forward(caller, exchange, (refusal) => {
      // Nothing is opened for a caller that has left, because nothing would end it.
      if (exchange.isAborted) exchange.reset();
      else if (refusal === undefined) this.#listen(caller, exchange, id, filter, capabilities);
      else refuseMessage(exchange, refusal, message);
    });
  }

  #listen(caller: Caller, exchange: Exchange, id: IdSpan, filter: ListenFilter, capabilities: Buffer): void {
    const { context, sessions, accounts, dispatcher, leases, configPoll } = this.#dependencies;
    const { subject, virtualHost } = caller;
    if (this.#isDraining || !this.#openQuota.tryTake(subject))
      return answerError(exchange, id, this.#isDraining ? rpcErrors.listenEnding : rpcErrors.listensFull);
    const session = sessions.create({
      account: accounts.of(subject),
      virtualHost,
      // The caller's version, although the session is a legacy one.
      protocolVersion: MODERN_PROTOCOL_VERSION,
      // The client cannot be asked anything on such a stream.
      introduction: OWN_INTRODUCTION,
      // A legacy session's stream carries the unasked messages of backends of both eras.
      era: 'legacy',
      // The session is in use for as long as its stream is open.
      leaseIdleMs: limits.sessionStreamMsMax,
    });
    if (!(session instanceof Session)) {
      this.#openQuota.give(subject);
      return refuse(exchange, session);
    }
    session.wantedChanges = filter.changes.reduce((bits, { bit }) => bits | bit, 0);
    session.applyConfig(virtualHost, exchange.request);
    configPoll?.add(session, exchange);
    const idJson = id.bytes.toString('utf8', id.start, id.end);
    // The request's body is not needed any more, and the stream may be open for hours.
    exchange.releaseBody();
    const onOver = (): void => {
      this.#openQuota.give(subject);
      void sessions.end(session);
    };
    const watchLease = (stream: SessionStream): (() => void) =>
      leases.listen(caller, capabilities, exchange.request, stream);
    new ListenRequest({ context, dispatcher, caller, session, exchange, idJson, filter, watchLease, onOver }).start();
  }
}
