// `initialize`: opens an upstream session with every backend at once and answers when each has come to something. It
// succeeds whatever the backends do (decisions 2.3): who cannot be reached is named, and tried again when needed.
import { findMember } from '../protocol/json-member.js';
import type { ClientMessage } from '../protocol/json-rpc.js';
import { JsonScanner } from '../protocol/json-scanner.js';
import { limits } from '../shared/limits.js';
import { PROGRAM_VERSION } from '../shared/program-version.js';
import { DOWNSTREAM_PROTOCOL_VERSIONS, LATEST_PROTOCOL_VERSION } from '../shared/protocol-versions.js';
import type { CompiledVirtualHost } from '../store/compiled-config.js';
import type { Exchange } from './exchange.js';
import { passthroughHeadersFor } from './passthrough.js';
import type { Session } from './session.js';
import { unavailableMeta, type UnavailableBackend } from './unavailable.js';
import { faultReason } from './upstream/upstream-fault.js';

export interface InitializeParams {
  /** The version that the session will speak with the caller (S27). */
  readonly protocolVersion: string;
  /** The caller's `clientInfo`, as JSON, every byte as sent. */
  readonly clientInfo: Buffer;
}

const scanner = new JsonScanner();

/** @returns what is wrong with the params, in words, when they are not those of `initialize`. */
export function readInitializeParams(body: Buffer, message: ClientMessage): InitializeParams | string {
  if (message.paramsStart === -1) return 'params missing';
  const bytes = body.subarray(message.paramsStart, message.paramsEnd);
  const params = JSON.parse(bytes.toString()) as Record<string, unknown>;
  const { protocolVersion, capabilities, clientInfo } = params;
  if (typeof protocolVersion !== 'string') return 'protocolVersion must be a string';
  if (!isObject(capabilities)) return 'capabilities must be an object';
  if (!isObject(clientInfo)) return 'clientInfo must be an object';
  if (typeof clientInfo['name'] !== 'string') return 'clientInfo.name must be a string';
  if (typeof clientInfo['version'] !== 'string') return 'clientInfo.version must be a string';
  scanner.scan(bytes, 1);
  const node = findMember(scanner, bytes, 0, 'clientInfo');
  if (node < 0) return 'clientInfo must be given once';
  if (scanner.end(node) - scanner.start(node) > limits.clientInfoBytesMax) {
    return `clientInfo must not be longer than ${limits.clientInfoBytesMax} bytes`;
  }
  return {
    protocolVersion: DOWNSTREAM_PROTOCOL_VERSIONS.has(protocolVersion) ? protocolVersion : LATEST_PROTOCOL_VERSION,
    // A copy: the session keeps it long after the request's body is gone.
    clientInfo: Buffer.from(bytes.subarray(scanner.start(node), scanner.end(node))),
  };
}

/** Opens every backend's upstream session; `done` gets the result for the caller, as JSON. */
export function openUpstreams(
  session: Session,
  virtualHost: CompiledVirtualHost,
  exchange: Exchange,
  protocolVersion: string,
  done: (result: string) => void,
): void {
  const unavailable: UnavailableBackend[] = [];
  let pendingCount = virtualHost.backends.size;
  const settle = (): void => {
    if (pendingCount === 0) done(initializeResult(session, virtualHost, protocolVersion, unavailable));
  };
  settle();
  for (const backend of virtualHost.backends.values()) {
    session.upstream(backend).whenOpen(passthroughHeadersFor(backend, exchange.request), (fault) => {
      if (fault !== undefined) unavailable.push({ backend: backend.name, reason: faultReason(fault) });
      pendingCount -= 1;
      settle();
    });
  }
}

function initializeResult(
  session: Session,
  virtualHost: CompiledVirtualHost,
  protocolVersion: string,
  unavailable: readonly UnavailableBackend[],
): string {
  // An unavailable backend may turn out to have tools, and a caller that was told there are none would never ask.
  let hasTools = unavailable.length > 0;
  const instructions: string[] = [];
  for (const backend of virtualHost.backends.values()) {
    const { record } = session.upstream(backend);
    if (record === undefined) continue;
    hasTools ||= record.hasTools;
    if (record.instructions !== undefined) instructions.push(`# ${backend.name}\n\n${record.instructions}`);
  }
  return JSON.stringify({
    protocolVersion,
    // The union of what the backends declare, cut to what is relayed (decisions 2.4).
    capabilities: hasTools ? { tools: {} } : {},
    serverInfo: { name: 'switchyard', version: PROGRAM_VERSION },
    ...(instructions.length > 0 && { instructions: instructions.join('\n\n') }),
    ...unavailableMeta(unavailable),
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
