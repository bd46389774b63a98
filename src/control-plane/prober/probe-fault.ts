// The closed list of ways in which a probe can fail, with messages for people. They never contain a URL, host or port,
// and of the server's own text, which could be anything, only a redirect's path and MCP versions.
import type { UpstreamFault } from '../../http-client/index.js';
import { readVersionRefusal } from '../../mcp/index.js';

// Separate from the prober, which imports the SDK: the main thread uses this error but never loads the SDK.

/** The prober was closed before the probe was over: nothing is known of the server. */
export class ProberClosedError extends Error {
  override readonly name = 'ProberClosedError';

  constructor() {
    super('the gateway is stopping');
  }
}

const REASONS = {
  'address-refused': 'its address is refused: link-local and cloud metadata addresses are never connected to',
  'address-not-allowed': 'its address is not in --upstream-allowed-networks',
  'plain-text-refused': 'its URL is not https: plain http needs --upstream-connection-mode plain-text-or-tls',
  'name-not-resolved': 'its host name cannot be resolved',
  'connection-refused': 'it refuses connections',
  'connection-failed': 'it cannot be connected to',
  'connection-lost': 'it closed the connection before its response was complete',
  'tls-failed': 'TLS failed',
  'out-of-time': 'it did not respond in time',
  'answer-too-large': 'its responses are too large',
  'answer-encoded': 'its response is compressed, although that was not requested: content-encoding',
  'answer-invalid': 'its responses are not MCP in a supported version',
  'endpoint-elsewhere': 'its endpoint event names another origin, which is refused',
  redirected: 'it redirects, and redirects are not followed: register the URL that it redirects to',
  'version-later': 'it speaks only later versions of MCP',
  'version-unsupported': 'it speaks no supported version of MCP',
  'initialize-unknown': 'it does not support initialize; it may only speak later versions of MCP',
  'http-status': 'it responded with HTTP status',
  'rpc-error': 'it responded with JSON-RPC error',
} as const;

export type ProbeFaultKind = keyof typeof REASONS;

export class ProbeFault extends Error {
  override readonly name = 'ProbeFault';
  readonly kind: ProbeFaultKind;

  /** @param detail a number, a Node error code, a redirect's path, or versions. */
  constructor(kind: ProbeFaultKind, detail?: number | string, options?: ErrorOptions) {
    super(detail === undefined ? REASONS[kind] : `${REASONS[kind]} ${detail}`, options);
    this.kind = kind;
  }
}

/** @param error in the response to `initialize`: its code and data. @returns `undefined` when it is not about versions. */
export function versionFaultOf(error: unknown): ProbeFault | undefined {
  const refusal = readVersionRefusal(error);
  return refusal && new ProbeFault(refusal.kind, refusal.detail);
}

/** From a fault of the HTTP client. */
export function probeFaultOf({ kind, detail, logDetail = detail }: UpstreamFault): ProbeFault {
  const isLate = kind === 'connect-timeout' || kind === 'answer-timeout';
  return new ProbeFault(isLate ? 'out-of-time' : isReason(kind) ? kind : 'connection-failed', logDetail);
}

function isReason(kind: string): kind is ProbeFaultKind {
  return Object.hasOwn(REASONS, kind);
}
