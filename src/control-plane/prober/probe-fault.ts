// The closed list of ways in which a probe can fail, in words for people. No URL, host or port is ever in them, and
// nothing that the server wrote: it could be anything.

const REASONS = {
  'address-refused': 'its address is refused: link-local and cloud metadata addresses are never connected to',
  'plain-text-refused': 'its URL is not https: plain http needs --upstream-connection-mode plain-text-or-tls',
  'name-not-resolved': 'its host name is not resolved',
  'connection-refused': 'it refuses connections',
  'connection-failed': 'it cannot be connected to',
  'connection-lost': 'it closed the connection before its answer was complete',
  'tls-failed': 'TLS failed',
  'out-of-time': 'it did not answer everything in time',
  'answer-too-large': 'its answers are too large',
  'answer-encoded': 'its answer is compressed, though that was not asked for',
  'answer-invalid': 'what it answers is not MCP in a version that is supported',
  redirected: 'it redirects, and redirects are not followed: register the URL that it redirects to',
  'http-status': 'it answers with HTTP status',
  'rpc-error': 'it answers with JSON-RPC error',
} as const;

export type ProbeFaultKind = keyof typeof REASONS;

export class ProbeFault extends Error {
  override readonly name = 'ProbeFault';
  readonly kind: ProbeFaultKind;

  /** @param detail a number, or the code of an error of Node's. */
  constructor(kind: ProbeFaultKind, detail?: number | string, options?: ErrorOptions) {
    super(detail === undefined ? REASONS[kind] : `${REASONS[kind]} ${detail}`, options);
    this.kind = kind;
  }
}

const TLS_ERROR = /^(?:ERR_TLS|ERR_SSL|EPROTO|UNABLE_TO)|CERT|ISSUER|HOSTNAME_MISMATCH/;

/** From an error of Node's HTTP. */
export function probeFaultOf(error: unknown): ProbeFault {
  if (error instanceof ProbeFault) return error;
  // A name with several addresses fails once for each; they seldom differ, and the first is the preferred one.
  const cause: unknown = error instanceof AggregateError ? error.errors[0] : error;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return new ProbeFault(kindOf(code), TLS_ERROR.test(code) ? code : undefined, { cause: error });
}

function kindOf(code: string): ProbeFaultKind {
  if (code === 'ADDRESS_REFUSED') return 'address-refused';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'name-not-resolved';
  if (code === 'ECONNREFUSED') return 'connection-refused';
  if (code === 'ECONNRESET' || code === 'EPIPE') return 'connection-lost';
  if (code.startsWith('HPE_')) return 'answer-invalid';
  return TLS_ERROR.test(code) ? 'tls-failed' : 'connection-failed';
}
