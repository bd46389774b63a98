// The ways in which a probe can fail, with messages for people. The messages contain no URL, host or port, and of the
// server's own text only a redirect's path and MCP versions.
import type { UpstreamFault } from '../../http-client/index.js';

/** The prober was closed before the probe was over. */
export class ProberClosedError extends Error {
  override readonly name = 'ProberClosedError';

  constructor() {
    super('the gateway is stopping');
  }
}

const NOT_MCP = 'its responses are not MCP in a supported version';
const CONNECTION_CUT = 'it closed the connection before its response was complete';

const REASONS = {
  'address-refused': 'its address is refused: link-local and cloud metadata addresses are never connected to',
  'address-not-allowed': 'its address is not in --upstream-allowed-networks',
  'plain-text-refused': 'its URL is not https: plain http needs --upstream-connection-mode plain-text-or-tls',
  'name-not-resolved': 'its host name cannot be resolved',
  'connection-refused': 'it refuses connections',
  'connect-failed': 'it cannot be connected to',
  'proxy-failed': 'there is no connection to it through --upstream-proxy',
  'connect-timeout': 'it did not respond in time',
  'connection-lost': CONNECTION_CUT,
  'stream-lost': CONNECTION_CUT,
  'tls-failed': 'TLS failed',
  'answer-timeout': 'it did not respond in time',
  'answer-too-large': 'its responses are too large',
  'answer-encoded': 'its response is compressed, although that was not requested: content-encoding',
  'answer-incomplete': CONNECTION_CUT,
  'stream-not-resumed': `${CONNECTION_CUT}, and refused to resume it with HTTP status`,
  'answer-invalid': NOT_MCP,
  'discover-refused': NOT_MCP,
  'era-refused': NOT_MCP,
  'session-lost': 'it ended the session',
  'endpoint-missing': NOT_MCP,
  'endpoint-elsewhere': 'its endpoint event names another origin, which is refused',
  redirected: 'it redirects, and redirects are not followed: register the URL that it redirects to',
  'version-later': 'it speaks only later versions of MCP',
  'version-unsupported': 'it speaks no supported version of MCP',
  'initialize-unknown': 'it does not support initialize; it may only speak later versions of MCP',
  'initialize-refused': 'it responded with JSON-RPC error',
  'http-status': 'it responded with HTTP status',
  'rpc-error': 'it responded with JSON-RPC error',
} as const;

/** By kind and detail: what to do about the fault. */
const ADVICE: Readonly<Record<string, string>> = {
  'http-status 401': ': credentials (`auth`) are missing or wrong',
  'tls-failed ERR_SSL_WRONG_VERSION_NUMBER': ': that port does not speak TLS',
};

type ProbeFaultKind = keyof typeof REASONS;

export class ProbeFault extends Error {
  override readonly name = 'ProbeFault';
  readonly kind: ProbeFaultKind;
  /** Whether the server may have refused `initialize` for a member that it does not know. */
  readonly isUnreadRequest: boolean;

  /** @param detail a number, a Node.js error code, a redirect's path, or versions. */
  constructor(kind: ProbeFaultKind, detail?: string, options?: ErrorOptions) {
    super(
      detail === undefined ? REASONS[kind] : `${REASONS[kind]} ${detail}${ADVICE[`${kind} ${detail}`] ?? ''}`,
      options,
    );
    this.kind = kind;
    this.isUnreadRequest =
      kind === 'initialize-refused' || (kind === 'http-status' && /^(?:400|422|500)$/.test(detail ?? ''));
  }
}

export function probeFaultOf({ kind, detail, logDetail = detail }: UpstreamFault): ProbeFault {
  const shown = kind === 'redirected' ? `(${logDetail})` : logDetail;
  return new ProbeFault(Object.hasOwn(REASONS, kind) ? (kind as ProbeFaultKind) : 'connect-failed', shown);
}
