// Opens an upstream session with a backend that has no sessions (MCP 2026-07-28): one `server/discover`. The backend keeps no state for it.
// Cold path: once per upstream session.
import {
  TASK_CAPABILITIES,
  readDiscoverResult,
  type BackendMessage,
  readBackendError,
  MODERN_PROTOCOL_VERSION,
  LEGACY_VERSIONS,
} from '../../mcp/index.js';
import { modernCodes } from '../../shared/index.js';
import { envelopeOf, modernRequest } from './modern-request.js';
import { sessionHeaders, Handshake, type HandshakeHandler, type HandshakePlan } from './handshake.js';
import type { UpstreamDependencies } from '../upstream-context.js';
import { isNotUnderstood, upstreamFault, versionsFault, type UpstreamFault } from '../../http-client/index.js';
import type { RpcRequest } from '../rpc/rpc-request.js';
import type { RequestHandler } from '../rpc/request-plan.js';

const MODERN_CODES: ReadonlySet<unknown> = new Set(Object.values(modernCodes));

export class Discovery extends Handshake implements RequestHandler {
  readonly #headers = sessionHeaders({ sessionId: '', protocolVersion: MODERN_PROTOCOL_VERSION });
  #request: RpcRequest;
  /** Whether the backend refused the version although it says that it speaks it. */
  #isVersionListed = false;
  #isSecondTry = false;

  constructor(context: UpstreamDependencies, plan: HandshakePlan, handler: HandshakeHandler) {
    super(context, plan, handler);
    this.#request = this.#discover();
  }

  #discover(): RpcRequest {
    const id = this.context.ownIds.next();
    const message = modernRequest(id, 'server/discover', '', envelopeOf(this.plan.introduction));
    return this.sendRequest(id, message, this.#headers, this);
  }

  abort(): void {
    this.#request.abort();
  }

  onMessage(): void {
    // No other message is expected before the answer.
  }

  onAnswer(bytes: Buffer, message: BackendMessage): void {
    const body = bytes.subarray(message.bodyStart, message.bodyEnd);
    if (message.isError) this.#onError(body);
    else this.#onResult(body);
  }

  onFault(fault: UpstreamFault): void {
    // An older server knows neither the method nor requests without a session.
    const isOtherEra = fault.kind === 'answer-invalid' || isNotUnderstood(fault);
    if (!this.#tryAgain()) this.handler.onFault(fault, isOtherEra);
  }

  /** The fault for an error without the request's id, with which some servers answer. */
  faultOfError(error: Buffer): UpstreamFault | undefined {
    const { code, versions } = readBackendError(error);
    if (code === modernCodes.versionUnsupported) {
      this.#isVersionListed = versions.includes(MODERN_PROTOCOL_VERSION);
      return versionsFault(versions);
    }
    return MODERN_CODES.has(code) ? upstreamFault('discover-refused') : undefined;
  }

  #onResult(body: Buffer): void {
    const result = readDiscoverResult(body);
    if (result === undefined) this.handler.onFault(upstreamFault('answer-invalid'), true);
    else if (result.supportedVersions.includes(MODERN_PROTOCOL_VERSION)) {
      const { named, instructions } = result;
      // In this era, tasks are an extension, which differs from the tasks that clients with sessions know.
      const capabilities = result.capabilities & ~TASK_CAPABILITIES;
      const protocolVersion = MODERN_PROTOCOL_VERSION;
      this.handler.onOpen({
        record: { era: 'modern', sessionId: '', protocolVersion, capabilities, named, instructions },
        headers: this.#headers,
        resultJson: body,
      });
    } else this.#onVersions(result.supportedVersions);
  }

  #onError(error: Buffer): void {
    const { code, versions } = readBackendError(error);
    if (code === modernCodes.versionUnsupported) this.#onVersions(versions);
    // Errors about headers or capabilities come from servers of this era. Any other may come from a server that does not know the method.
    else this.handler.onFault(upstreamFault('discover-refused'), !MODERN_CODES.has(code));
  }

  /** Called with the versions that the backend says it speaks: perhaps legacy ones, or the modern one after all (N05). */
  #onVersions(versions: readonly string[]): void {
    this.#isVersionListed = versions.includes(MODERN_PROTOCOL_VERSION);
    if (this.#tryAgain()) return;
    this.handler.onFault(
      versionsFault(versions),
      versions.some((version) => LEGACY_VERSIONS.has(version)),
    );
  }

  /** Sends the request again, once: while servers are being replaced, answers may be inconsistent. */
  #tryAgain(): boolean {
    if (!this.#isVersionListed || this.#isSecondTry) return false;
    this.#isSecondTry = true;
    this.#request = this.#discover();
    return true;
  }
}
