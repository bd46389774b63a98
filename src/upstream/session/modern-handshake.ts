// The opening of what a session is to a backend that has none (MCP 2026-07-28): one `server/discover`, which says what the backend
// can do. Nothing of it is kept by the backend, and nothing has to be ended. Cold: once per upstream session.
import { TASK_CAPABILITIES } from '../../protocol/capabilities.js';
import { readDiscoverResult } from '../../protocol/initialize-result.js';
import type { BackendMessage } from '../../protocol/json-rpc.js';
import { readSaidError } from '../../protocol/modern-error.js';
import { MODERN_PROTOCOL_VERSION, PROTOCOL_VERSIONS } from '../../protocol/protocol-versions.js';
import { limits } from '../../shared/limits.js';
import { modernCodes, rpcCodes } from '../../shared/refusals.js';
import { envelopeOf, modernRequest } from './modern-request.js';
import { sessionHeaders, withHeaders, type Handshake, type HandshakeHandler, type HandshakePlan } from './handshake.js';
import type { UpstreamContext } from '../upstream-context.js';
import { upstreamFault, versionsFault, type UpstreamFault } from '../http/upstream-fault.js';
import { RpcRequest, type RequestHandler } from '../rpc/rpc-request.js';

/** Headers of every request to a backend of this era: name, value, … */
export function modernHeaders(): readonly string[] {
  return sessionHeaders('', MODERN_PROTOCOL_VERSION);
}

/** Starts one; the handler is never called from within. */
export function openModernHandshake(
  context: UpstreamContext,
  plan: HandshakePlan,
  handler: HandshakeHandler,
): Handshake {
  return new Discovery(context, plan, handler);
}

/** Of HTTP's errors those that say nothing about the era: who asks, how often, and how the backend is. */
const ERALESS_STATUSES: ReadonlySet<string> = new Set(['401', '403', '407', '408', '425', '429']);
const MODERN_CODES: ReadonlySet<unknown> = new Set(Object.values(modernCodes));

class Discovery implements Handshake, RequestHandler {
  readonly #context: UpstreamContext;
  readonly #plan: HandshakePlan;
  readonly #handler: HandshakeHandler;
  readonly #headers = modernHeaders();
  #request: RpcRequest;
  /** The backend has refused the version, and named it among those that it speaks. */
  #isNamed = false;
  #isSecondTry = false;

  constructor(context: UpstreamContext, plan: HandshakePlan, handler: HandshakeHandler) {
    this.#context = context;
    this.#plan = plan;
    this.#handler = handler;
    this.#request = this.#ask();
  }

  #ask(): RpcRequest {
    const { subject, target, endpoint, headers, introduction, dueMs, isUnauthorizedFault } = this.#plan;
    const { ids, http, deadlines } = this.#context;
    const id = ids.next();
    return new RpcRequest(
      http,
      deadlines,
      {
        ...{ subject, target, endpoint, isUnauthorizedFault },
        headers: withHeaders(this.#headers, headers),
        ...modernRequest(id, 'server/discover', '', envelopeOf(introduction)),
        id: { bytes: id, start: 0, end: id.length },
        deadlineMs: dueMs - this.#context.nowMs(),
        isSilenceDeadline: false,
        carriesSession: false,
        answerBytesMax: limits.initializeAnswerBytesMax,
      },
      this,
    );
  }

  abort(): void {
    this.#request.abort();
  }

  onMessage(): void {
    // Whatever it is, it concerns nothing that anybody has asked for.
  }

  onAnswer(bytes: Buffer, message: BackendMessage): void {
    const body = bytes.subarray(message.bodyStart, message.bodyEnd);
    if (message.isError) this.#onError(body);
    else this.#onResult(body);
  }

  onFault(fault: UpstreamFault): void {
    if (!this.#tryAgain()) this.#handler.onFault(fault, isOfOtherEra(fault));
  }

  /** Servers answer with errors that belong to no request when they do not even look at it. */
  faultOfError(error: Buffer): UpstreamFault | undefined {
    const { code, versions } = readSaidError(error);
    if (code === modernCodes.versionUnsupported) {
      this.#isNamed = versions.includes(MODERN_PROTOCOL_VERSION);
      return versionsFault(versions);
    }
    return MODERN_CODES.has(code) ? upstreamFault('discover-refused') : undefined;
  }

  #onResult(body: Buffer): void {
    const result = readDiscoverResult(body);
    if (result === undefined) this.#handler.onFault(upstreamFault('answer-invalid'), true);
    else if (result.supportedVersions.includes(MODERN_PROTOCOL_VERSION)) {
      const { experimental, instructions } = result;
      // Tasks are an extension since, and another one than those that clients know.
      const capabilities = result.capabilities & ~TASK_CAPABILITIES;
      const form = { era: 'modern', sessionId: '', protocolVersion: MODERN_PROTOCOL_VERSION } as const;
      this.#handler.onOpen({
        record: { ...form, capabilities, experimental, instructions },
        headers: this.#headers,
        speaksLegacy: result.supportedVersions.some((version) => PROTOCOL_VERSIONS.has(version)),
      });
    } else this.#onVersions(result.supportedVersions);
  }

  #onError(error: Buffer): void {
    const { code, versions } = readSaidError(error);
    if (code === modernCodes.versionUnsupported) this.#onVersions(versions);
    else {
      // An error about headers or capabilities comes from a server of this era; an internal error says nothing about the era.
      const isOtherEra = !MODERN_CODES.has(code) && code !== rpcCodes.internalError;
      this.#handler.onFault(upstreamFault('discover-refused'), isOtherEra);
    }
  }

  /** It does not speak this version, but these: one of them may have sessions, or be this one after all (N05). */
  #onVersions(versions: readonly string[]): void {
    this.#isNamed = versions.includes(MODERN_PROTOCOL_VERSION);
    if (this.#tryAgain()) return;
    this.#handler.onFault(
      versionsFault(versions),
      versions.some((version) => PROTOCOL_VERSIONS.has(version)),
    );
  }

  /** Once, as servers do that are being replaced by newer ones. */
  #tryAgain(): boolean {
    if (!this.#isNamed || this.#isSecondTry) return false;
    this.#isSecondTry = true;
    this.#request = this.#ask();
    return true;
  }
}

/** What came in place of an answer. A server of before knows neither the method nor what to make of a request without a session. */
function isOfOtherEra({ kind, detail = '' }: UpstreamFault): boolean {
  if (kind === 'http-status') return detail < '500' && !ERALESS_STATUSES.has(detail);
  return kind === 'answer-invalid';
}
