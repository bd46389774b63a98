// How serving a modern request differs from serving a legacy one. Several programs may use one session with a legacy backend, and their ids
// may collide. So the request goes there under an id and a progress token of the gateway's. Hot path: one object per request.
import {
  errorCodeIn,
  isToolError,
  capability,
  type BackendMessage,
  type ClientMessage,
  severityOf,
  type Era,
  taskLocation,
  CLIENT_CAPABILITIES_KEY,
  CLIENT_INFO_KEY,
  LOG_LEVEL_KEY,
  PROTOCOL_VERSION_KEY,
  type ModernEnvelope,
} from '../mcp/index.js';
import { readStringMember, stringValue, edited } from '../bytes/index.js';
import { errorsToBackends, rpcErrors, type RpcError, limits } from '../shared/index.js';
import { withModernHead, type OutgoingMessage } from '../http-client/index.js';
import { type IdSpan, type UpstreamContext, type UpstreamSession, modernHead } from '../upstream/index.js';
import { idSpanOf, type ResultExtras, type Exchange } from '../exchange/index.js';
import {
  type ReadArguments,
  mirrorDisagreement,
  paramHeaders,
  mirroredValuesIn,
  argumentsIn,
} from '../messages/index.js';
import {
  type RelayedRequestPlan,
  NO_EDITS,
  type AnswerChanges,
  type SuspendableRequest,
  type EraRules,
  mayAskForInput,
} from '../calls/index.js';
import type { Session } from '../session/index.js';
import { legacyMessage } from './legacy-message.js';
import type { SuspendedCall, CurrentCaller } from './suspended-call.js';
import { stateBindingOf, type SuspendedCalls } from './suspended-calls.js';
import type { StateBinding } from './request-state.js';
import {
  inputRequiredResult,
  isTaskHandle,
  modernErrorEdits,
  resultEdits,
  inputRequestsOf,
  readUrlElicitations,
  RESULT_META,
  RESULT_TYPE,
  httpStatusOf,
  modernError,
  httpStatusOfBackendError,
} from './modern-results.js';

// Checks the envelope of a modern request (M09, M24). Hot path: one byte per member.

const QUOTE = 0x22;
const BRACE = 0x7b;
/** The most bytes of a version or log level, even with quotes and escapes. */
const WORD_BYTES_MAX = 128;

export function envelopeFault(body: Buffer, envelope: ModernEnvelope): string | undefined {
  const { capabilitiesStart, capabilitiesEnd, clientInfoStart, clientInfoEnd } = envelope;
  if (body[envelope.protocolVersionStart] !== QUOTE) return `${PROTOCOL_VERSION_KEY} must be a string`;
  if (capabilitiesStart === -1) return `${CLIENT_CAPABILITIES_KEY} is missing`;
  if (body[capabilitiesStart] !== BRACE) return `${CLIENT_CAPABILITIES_KEY} must be an object`;
  if (capabilitiesEnd - capabilitiesStart > limits.clientMemberBytesMax)
    return `${CLIENT_CAPABILITIES_KEY} must not be longer than ${limits.clientMemberBytesMax} bytes`;
  if (clientInfoStart !== -1 && body[clientInfoStart] !== BRACE) return `${CLIENT_INFO_KEY} must be an object`;
  if (clientInfoEnd - clientInfoStart > limits.clientMemberBytesMax)
    return `${CLIENT_INFO_KEY} must not be longer than ${limits.clientMemberBytesMax} bytes`;
  if (envelope.logLevelStart !== -1 && logSeverityIn(body, envelope) === -1)
    return `${LOG_LEVEL_KEY} must be one of the eight levels of MCP`;
  return undefined;
}

/** The lowest severity of the logs that the request wants; -1 if it wants none, or names no valid level. */
function logSeverityIn(body: Buffer, { logLevelStart, logLevelEnd }: ModernEnvelope): number {
  if (body[logLevelStart] !== QUOTE || logLevelEnd - logLevelStart > WORD_BYTES_MAX) return -1;
  return severityOf(stringValue(body, logLevelStart, logLevelEnd));
}

/** The version in the envelope; `''` for a value longer than any version. */
export function versionIn(body: Buffer, { protocolVersionStart, protocolVersionEnd }: ModernEnvelope): string {
  if (protocolVersionEnd - protocolVersionStart > WORD_BYTES_MAX) return '';
  return stringValue(body, protocolVersionStart, protocolVersionEnd);
}

/** For each method of a backend's request, the capability that a client must declare to be sent it. */
const CAPABILITY_OF_METHOD: ReadonlyMap<string, string> = new Map([
  ['sampling/createMessage', 'sampling'],
  ['roots/list', 'roots'],
  ['elicitation/create', 'elicitation'],
]);

interface ModernRulesDependencies {
  readonly context: Pick<UpstreamContext, 'ownIds'>;
  readonly suspendedCalls: SuspendedCalls;
}

export class ModernRules implements EraRules {
  readonly hasSession = false;
  readonly #dependencies: ModernRulesDependencies;
  readonly #exchange: Exchange;
  readonly #message: ClientMessage;
  readonly #isMadeAnew: boolean;
  /** The arguments of a large message, located in the constructor, because the message's tape is not valid later. */
  readonly #args: Buffer | undefined;
  /** The request's id at a legacy backend, and its progress token there if the caller gave one, as JSON. */
  #ownId: Buffer | undefined;
  #suspendedCall: SuspendedCall | undefined;
  /** Capabilities that the backend has tried to use and the client lacks, as a client would declare them. */
  #missingCapabilities: Record<string, unknown> | undefined;

  /** @param isMadeAnew whether a retry's call is made from the start: its `requestState` and `inputResponses` are for the gateway. */
  constructor(parts: ModernRulesDependencies, exchange: Exchange, message: ClientMessage, isMadeAnew = false) {
    this.#isMadeAnew = isMadeAnew;
    this.#dependencies = parts;
    this.#exchange = exchange;
    this.#message = message;
    this.#args = message.tape === undefined ? undefined : argumentsIn(exchange.request.body, message);
  }

  /**
   * The members that state a result's type and how long it may be cached. A merged list may be cached only as long as every backend allows
   * for its part, and only for its own user, because that user's allow-lists have filtered it (M19, M30).
   */
  resultExtras(ttlMs?: number): ResultExtras {
    const caching = ttlMs === undefined ? '' : `"ttlMs":${ttlMs},"cacheScope":"private",`;
    return { members: `${RESULT_TYPE},${caching}`, meta: RESULT_META };
  }

  get askingObstacle(): RpcError | undefined {
    return mayAskForInput(this.#message.method) ? undefined : errorsToBackends.clientNotAskedMidRequest;
  }

  ask(plan: RelayedRequestPlan, request: SuspendableRequest, id: Buffer, message: Buffer): RpcError | undefined {
    this.#suspendedCall ??= this.#suspend(plan, request);
    if (this.#suspendedCall !== undefined) return this.#suspendedCall.ask(id, message);
    return this.#dependencies.suspendedCalls.isClosed
      ? errorsToBackends.processEnding
      : errorsToBackends.tooManySuspendedCalls;
  }

  withdraw(id: Buffer): void {
    this.#suspendedCall?.withdraw(id);
  }

  #bindingIn({ identity: { subject, virtualHostId } }: Session): StateBinding {
    return stateBindingOf(subject, virtualHostId, this.#exchange, this.#message, this.#args);
  }

  #suspend({ session, upstream }: RelayedRequestPlan, request: SuspendableRequest): SuspendedCall | undefined {
    const { account, backendRequests } = session;
    const binding = this.#bindingIn(session);
    const caller = { exchange: this.#exchange, message: this.#message };
    const { backend } = upstream;
    const plan = { binding, backendName: backend.name, allowList: backend.listHashes.resourceNames };
    return this.#dependencies.suspendedCalls.trySuspend({ ...plan, account, backendRequests, request, caller });
  }

  onOver(): void {
    this.#suspendedCall?.onRequestOver();
  }

  callersId(first: IdSpan): IdSpan {
    return this.#suspendedCall === undefined
      ? first
      : idSpanOf(this.#suspendedCall.caller.exchange, this.#suspendedCall.caller.message);
  }

  /**
   * Why a request cannot be sent to this backend: it is a retry of a call that has ended, or its `mcp-param-*` headers, by which
   * intermediaries route, contradict its arguments (M13).
   */
  #obstacleAt(upstream: UpstreamSession, bareName: string, read?: ReadArguments): RpcError | undefined {
    const { isModern } = upstream;
    const { envelope } = this.#message;
    const isRetry =
      envelope !== undefined && (envelope.requestStateStart !== -1 || envelope.inputResponsesStart !== -1);
    // A retry may only go to a modern backend, which has states of its own, or, made from the start, to a legacy backend.
    if (isRetry && this.#isMadeAnew === isModern) return rpcErrors.callOver;
    const { body, mirror, isWrapped } = this.#exchange.request;
    const mirrored = isWrapped === true ? undefined : upstream.mirroredParamsOf(this.#message.method, bareName);
    if (mirrored === undefined) return undefined;
    const values = read?.params === mirrored ? read.callersValues : mirroredValuesIn({ body }, mirrored);
    const fault = values && mirrorDisagreement(mirrored, values, mirror.params);
    return fault === undefined ? undefined : rpcErrors.headerMismatch(fault);
  }

  get sentProgressToken(): Buffer | undefined {
    return this.#ownId;
  }

  outgoing(
    message: OutgoingMessage,
    upstream: UpstreamSession,
    bareName: string,
    read?: ReadArguments,
  ): OutgoingMessage | RpcError {
    const obstacle = this.#obstacleAt(upstream, bareName, read);
    if (obstacle !== undefined) return obstacle;
    const { onSessionless } = this.#exchange;
    if (onSessionless !== undefined && upstream.isSessionless) onSessionless(upstream.url);
    if (upstream.isModern) {
      this.#ownId = undefined;
      const { method } = this.#message;
      const { params } = this.#exchange.request.mirror;
      // The headers as they came, except for arguments that the config fixes.
      const sent = paramHeaders(upstream.mirroredParamsOf(method, bareName), message, read, params) ?? params;
      return withModernHead(message, modernHead(method, bareName, sent));
    }
    // Each try has a new id: no id is used twice in an upstream session (S32).
    this.#ownId = this.#dependencies.context.ownIds.next();
    return legacyMessage(message, this.#message, this.#ownId) ?? rpcErrors.notConverted;
  }

  get #currentCaller(): CurrentCaller {
    return this.#suspendedCall?.caller ?? { exchange: this.#exchange, message: this.#message };
  }

  sentId(callers: IdSpan): IdSpan {
    const bytes = this.#ownId;
    return bytes === undefined ? callers : { bytes, start: 0, end: bytes.length };
  }

  /** Whether the caller gets a notification: only logs, from the level that it asked for (M06, M24). Progress is relayed separately. */
  isForCaller(bytes: Buffer, { method, paramsStart, paramsEnd }: BackendMessage): boolean {
    const { exchange, message } = this.#currentCaller;
    const { envelope } = message;
    if (method !== 'notifications/message' || envelope === undefined) return false;
    const wanted = logSeverityIn(exchange.request.body, envelope);
    if (wanted === -1) return false;
    const level = paramsStart === -1 ? undefined : readStringMember(bytes.subarray(paramsStart, paramsEnd), 'level');
    // A legacy backend has one level for all requests of its session, so it may send logs below this request's level.
    return level === undefined || severityOf(level) >= wanted;
  }

  withCallersProgressToken(
    bytes: Buffer,
    { progressTokenStart: start, progressTokenEnd: end }: BackendMessage,
  ): Buffer | undefined {
    if (this.#ownId === undefined) return bytes;
    const { exchange, message } = this.#currentCaller;
    if (message.progressTokenStart === -1) return undefined;
    const putIn = exchange.request.body.subarray(message.progressTokenStart, message.progressTokenEnd);
    return edited(bytes, [{ start, end, putIn }]);
  }

  onUndeclaredRequest(method: string, mode: string): void {
    const missing = CAPABILITY_OF_METHOD.get(method);
    if (missing === undefined) return;
    this.#missingCapabilities ??= {};
    this.#missingCapabilities[missing] = missing === 'elicitation' ? { [mode === 'url' ? 'url' : 'form']: {} } : {};
  }

  adaptedAnswer(
    bytes: Buffer,
    message: BackendMessage,
    plan: RelayedRequestPlan,
    era: Era,
  ): RpcError | string | AnswerChanges | undefined {
    const replacement = this.#replacementFor(bytes, message, plan, era);
    if (replacement !== undefined) return replacement;
    const { method } = this.#message;
    const { isError, bodyStart, bodyEnd } = message;
    const { upstream, taskLocations } = plan;
    if (era === 'legacy') {
      const edits = isError ? modernErrorEdits(bytes, message) : resultEdits(bytes, message, method, era);
      return { taskLocations, edits, status: 200 };
    }
    return {
      taskLocations: this.#taskLocationsIn(taskLocations, bytes, message, upstream),
      edits: isError ? NO_EDITS : resultEdits(bytes, message, method, era),
      status: isError ? httpStatusOfBackendError(errorCodeIn(bytes, bodyStart, bodyEnd)) : 200,
    };
  }

  /** What replaces an answer: a request to open addresses; for a failed call, an error with the capabilities that the client lacks (M15). */
  #replacementFor(
    bytes: Buffer,
    message: BackendMessage,
    { session }: RelayedRequestPlan,
    era: Era,
  ): RpcError | string | undefined {
    if (message.isError && era === 'legacy' && mayAskForInput(this.#message.method)) {
      const elicitations = readUrlElicitations(bytes.subarray(message.bodyStart, message.bodyEnd));
      if (elicitations !== undefined) {
        if (!session.backendRequests.offersUrls) return rpcErrors.capabilityMissing({ elicitation: { url: {} } });
        const requestState = this.#dependencies.suspendedCalls.stateToBeginAnew(this.#bindingIn(session));
        return inputRequiredResult(inputRequestsOf(elicitations), requestState);
      }
    }
    if (this.#missingCapabilities === undefined) return undefined;
    const hasFailed = message.isError || isToolError(bytes, message.bodyStart, message.bodyEnd);
    return hasFailed ? rpcErrors.capabilityMissing(this.#missingCapabilities) : undefined;
  }

  /** Where a modern backend's answer has task ids: a call's task is its whole result, and a member `task` is the tool's own. */
  #taskLocationsIn(locations: number, bytes: Buffer, message: BackendMessage, upstream: UpstreamSession): number {
    const others = locations & ~taskLocation.created;
    if (this.#message.method !== 'tools/call' || !upstream.declares(capability.tasksExtension)) return others;
    return isTaskHandle(bytes, message) ? others | taskLocation.own : others;
  }

  ownError(error: RpcError): { error: RpcError; status: number } {
    const own = modernError(error);
    return { error: own, status: httpStatusOf(own.code) };
  }
}
