// Handles modern requests. Each request states its version, client and capabilities, so it is checked before any backend is asked. The
// checks are made in this order: version header against body, envelope, version, other headers, method. A request that passes is served in
// a lease, by the code that serves sessions.
import { ESCAPE_BYTES_MAX, isStringEqual, readStringMember, stringValue } from '../bytes/index.js';
import {
  isMcpMethod,
  type ClientMessage,
  listKindOf,
  type ModernEnvelope,
  MODERN_PROTOCOL_VERSION,
  LEGACY_VERSIONS,
  capabilitiesJson,
  TASK_CAPABILITIES,
} from '../mcp/index.js';
import { rpcCodes, rpcErrors, type RpcError } from '../shared/index.js';
import type { UpstreamContext } from '../upstream/index.js';
import {
  accept,
  answerError,
  idSpanOf,
  refuse,
  answer,
  resultMessage,
  type Caller,
  type Exchange,
  type MirrorHeaders,
  type ServedEras,
} from '../exchange/index.js';
import {
  type Dispatcher,
  type ServedRequest,
  tryForward,
  answerToolError,
  isForSearchTool,
  isMethodOf,
  isTargetMethodOf,
  isTaskMethod,
  mayAskForInput,
  nameInHead,
} from '../calls/index.js';
import { lowerLogLevel, Session, mergeDeclarations, whenOpened } from '../session/index.js';
import { CALL_TOOL, decodeHeader, unwrapCall } from '../messages/index.js';
import { unavailableMeta, type UnavailableBackend } from '../http-client/index.js';
import { envelopeFault, versionIn, ModernRules } from './modern-rules.js';
import { declaresTasksExtension, TASKS_REQUIRED, type ListenRequests } from './listen-requests.js';
import type { SuspendedCalls } from './suspended-calls.js';
import type { Leases } from './leases.js';
import { RESULT_META, httpStatusOf, MODERN_VERSIONS } from './modern-results.js';

// `server/discover` (M16) opens every backend as `initialize` does. Cold path: clients ask once, if at all.

/** The capabilities that modern clients can use: all but those of legacy tasks, which need a session. */
const USABLE_CAPABILITIES = ~TASK_CAPABILITIES;

function discover(incoming: ServedRequest, eras: ServedEras): void {
  const { session, virtualHost, exchange, message } = incoming;
  const id = idSpanOf(exchange, message);
  if (!session.tryAdmit(exchange, id)) return;
  const plan = { session, virtualHost, exchange, id, sessionEndedError: rpcErrors.discoverEnding };
  whenOpened(plan, (unavailable) => answer(exchange, resultMessage(id, discoverResult(incoming, eras, unavailable))));
}

function discoverResult(
  { session, virtualHost }: ServedRequest,
  eras: ServedEras,
  unavailable: readonly UnavailableBackend[],
): string {
  const { capabilities, extensions, instructionsMember } = mergeDeclarations(session, virtualHost);
  const members = [
    '"resultType":"complete"',
    `"supportedVersions":${JSON.stringify(supportedVersions(eras))}`,
    `"capabilities":${capabilitiesJson(capabilities & USABLE_CAPABILITIES, extensions)}`,
    // The result must not be cached: it depends on the current upstream sessions, and differs between callers (M19, M30).
    '"ttlMs":0,"cacheScope":"private"',
    `"_meta":${JSON.stringify({ ...RESULT_META, ...unavailableMeta(unavailable)._meta })}`,
  ];
  return `{${members.join()}${instructionsMember}}`;
}

/** The versions that are served, newest first. */
function supportedVersions(eras: ServedEras): readonly string[] {
  return eras === 'modern' ? [MODERN_PROTOCOL_VERSION] : [MODERN_PROTOCOL_VERSION, ...LEGACY_VERSIONS];
}

interface ModernHandlerDependencies {
  readonly context: UpstreamContext;
  readonly leases: Leases;
  readonly dispatcher: Dispatcher;
  readonly suspendedCalls: SuspendedCalls;
  readonly listenRequests: ListenRequests;
  readonly eras: ServedEras;
}

export class ModernHandler {
  readonly #dependencies: ModernHandlerDependencies;

  constructor(parts: ModernHandlerDependencies) {
    this.#dependencies = parts;
  }

  handle(caller: Caller, exchange: Exchange, message: ClientMessage, envelope: ModernEnvelope): void {
    exchange.watcher?.onIdentified(message.method, '', '');
    // Notifications and responses have no effect: a modern client cancels by closing the stream (M08), and is sent no requests.
    if (message.kind !== 'request') accept(exchange);
    else {
      const error = exchange.isAborted ? rpcErrors.cancelled : requestError(exchange, message, envelope);
      if (error === undefined) this.#unwrapAndServe(caller, exchange, message, envelope);
      else refuseWith(exchange, message, error);
    }
  }

  /**
   * Gives up suspended calls, whose retries will not reach this process any more: if the client makes its call anew in another process, the
   * call must not run twice at once. Further `subscriptions/listen` are refused.
   */
  drain(): void {
    this.#dependencies.listenRequests.drain();
    this.#dependencies.suspendedCalls.giveUpAll();
  }

  /** Refuses a message without an envelope. @param era `unclaimed`: its modern header requires an envelope; `legacy`: not served (M28). */
  refuse(exchange: Exchange, message: ClientMessage, era: 'legacy' | 'unclaimed'): void {
    exchange.watcher?.onIdentified(message.method, '', '');
    if (message.kind === 'notification') return accept(exchange);
    const { body, mirror } = exchange.request;
    const { method, paramsStart, paramsEnd } = message;
    const asked =
      method === 'initialize' && paramsStart !== -1
        ? readStringMember(body.subarray(paramsStart, paramsEnd), 'protocolVersion')
        : undefined;
    const requested = asked ?? (mirror.protocolVersion || undefined);
    const error =
      era === 'unclaimed'
        ? rpcErrors.envelopeInvalid(ENVELOPE_MISSING)
        : rpcErrors.versionUnsupported(requested, MODERN_VERSIONS);
    refuseWith(exchange, message, error);
  }

  #unwrapAndServe(caller: Caller, exchange: Exchange, message: ClientMessage, envelope: ModernEnvelope): void {
    const hasSearchTools = caller.virtualHost.exposure === 'search';
    if (!hasSearchTools || !isForSearchTool(exchange.request.body, message, CALL_TOOL))
      return this.#serve(caller, exchange, message, envelope);
    unwrapCall(caller.subject, exchange, message, (call) => {
      if (typeof call === 'string')
        answerToolError(exchange, message, call, new ModernRules(this.#dependencies, exchange, message));
      else this.#serve(caller, exchange, call, call.envelope ?? envelope);
    });
  }

  #serve(caller: Caller, exchange: Exchange, message: ClientMessage, envelope: ModernEnvelope): void {
    const { leases, dispatcher, suspendedCalls, eras } = this.#dependencies;
    const continued = mayAskForInput(message.method) && suspendedCalls.continueCall(caller, exchange, message);
    if (continued === true) return;
    if (message.method === 'subscriptions/listen') {
      this.#dependencies.listenRequests.listen(caller, exchange, message, envelope);
      return;
    }
    const { body } = exchange.request;
    const capabilities = body.subarray(envelope.capabilitiesStart, envelope.capabilitiesEnd);
    const lease = leases.of(caller, capabilities, exchange.request.passthroughHeaders);
    if (!(lease instanceof Session)) {
      refuse(exchange, lease);
      return;
    }
    // Another request may have brought a newer config meanwhile.
    const virtualHost = lease.applyConfig(caller.virtualHost, exchange.request);
    const { logLevelStart, logLevelEnd } = envelope;
    if (logLevelStart !== -1)
      lowerLogLevel(lease, virtualHost, exchange.request, body.subarray(logLevelStart, logLevelEnd));
    const { method } = message;
    const rules = new ModernRules(this.#dependencies, exchange, message, continued === 'anew');
    const incoming = { virtualHost, session: lease, exchange, message, rules };
    const kind = listKindOf(method);
    if (kind !== undefined) dispatcher.serveList(kind, incoming);
    else if (isTargetMethodOf('modern', method)) dispatcher.relayRequest(method, incoming);
    else if (method !== 'server/discover') dispatcher.relayExtraMethod(incoming);
    else {
      const answerHere = (): void => discover(incoming, eras);
      if (!tryForward(incoming, virtualHost.backends.values(), answerHere)) answerHere();
    }
  }
}

/** The HTTP status of faults of the envelope; other invalid params are answered with 200. */
const ENVELOPE_STATUS = 400;
const ENVELOPE_MISSING =
  'io.modelcontextprotocol/protocolVersion and io.modelcontextprotocol/clientCapabilities are missing, but are required by the version in mcp-protocol-version';

function requestError(exchange: Exchange, message: ClientMessage, envelope: ModernEnvelope): RpcError | undefined {
  const { body, mirror } = exchange.request;
  const contradiction = versionContradiction(body, message, mirror);
  if (contradiction !== undefined) return rpcErrors.headerMismatch(contradiction);
  const fault = envelopeFault(body, envelope);
  if (fault !== undefined) return rpcErrors.envelopeInvalid(fault);
  const { protocolVersionStart, protocolVersionEnd } = envelope;
  if (!isStringEqual(body, protocolVersionStart, protocolVersionEnd, MODERN_PROTOCOL_VERSION))
    return rpcErrors.versionUnsupported(versionIn(body, envelope), MODERN_VERSIONS);
  const mismatch = mirrorFault(body, message, mirror);
  if (mismatch !== undefined) return rpcErrors.headerMismatch(mismatch);
  if (!isMethodOf('modern', message.method) && isMcpMethod(message.method))
    return rpcErrors.methodNotFound(message.method);
  return isTaskMethod(message.method) && !declaresTasksExtension(body, envelope)
    ? rpcErrors.capabilityMissing(TASKS_REQUIRED)
    : undefined;
}

function refuseWith(exchange: Exchange, message: ClientMessage, error: RpcError): void {
  const status = error.code === rpcCodes.invalidParams ? ENVELOPE_STATUS : httpStatusOf(error.code);
  answerError(exchange, idSpanOf(exchange, message), error, status);
}

// Checks that the headers of a modern request agree with its body. Intermediaries route, count and refuse by headers, so these must say the
// same as the body, which the backend reads (M10, M12). Hot path: a few comparisons per modern request.

/** How the version header contradicts the body, in words; `undefined` if it agrees or is absent. Reported before any other fault. */
function versionContradiction(body: Buffer, message: ClientMessage, mirror: MirrorHeaders): string | undefined {
  const { envelope } = message;
  if (envelope === undefined || mirror.protocolVersion === '') return undefined;
  const { protocolVersionStart: start, protocolVersionEnd: end } = envelope;
  // A version that is not a string is reported by the envelope check.
  if (body[start] !== QUOTE || isStringEqual(body, start, end, mirror.protocolVersion)) return undefined;
  return 'mcp-protocol-version differs from the body';
}

/** What is wrong with the first header that disagrees with the body or is missing, in words; `undefined` if all agree. */
export function mirrorFault(body: Buffer, message: ClientMessage, mirror: MirrorHeaders): string | undefined {
  if (mirror.protocolVersion === '') return 'mcp-protocol-version is missing';
  if (mirror.method === '') return 'mcp-method is missing';
  if (mirror.method !== message.method) return 'mcp-method differs from the body';
  if (message.nameStart === -1) return undefined;
  const inHead = nameInHead(message.method);
  if (inHead === 'no' || (inHead === 'may' && mirror.name === '')) return undefined;
  if (mirror.name === '') return 'mcp-name is missing';
  const name = decodeHeader(mirror.name);
  if (name === undefined) return 'mcp-name is not valid base64 of UTF-8';
  const { nameStart, nameEnd } = message;
  // A value that is too long for this name differs, and is not decoded.
  const isSame =
    nameEnd - nameStart <= ESCAPE_BYTES_MAX * name.length + 2 && stringValue(body, nameStart, nameEnd) === name;
  return isSame ? undefined : 'mcp-name differs from the body';
}

const QUOTE = 0x22;
