// The closed list of ways in which a backend can fail, and their words for callers. No URL, host or port is ever in
// them (decisions 2.6).

/** A failure of one exchange with a backend. */
export interface UpstreamFault {
  readonly kind: UpstreamFaultKind;
  /** True when no byte of the request was written to a connection: it can safely be sent again. */
  readonly isUnsent: boolean;
}

export type UpstreamFaultKind = keyof typeof FAULT_REASONS;

/** Words for callers and for `_meta["switchyard/unavailable"]`. */
export const FAULT_REASONS = {
  'connection-refused': 'connection refused',
  'connect-timeout': 'connecting took too long',
  'name-not-resolved': 'host name not resolved',
  'connect-failed': 'connection failed',
  'tls-failed': 'TLS handshake failed',
  'connection-lost': 'connection lost',
  'answer-timeout': 'no answer in time',
  'answer-invalid': 'invalid answer',
  'answer-too-large': 'answer too large',
  'answer-incomplete': 'stream ended without an answer',
  'http-status': 'refused with an HTTP error status',
  'session-lost': 'session lost',
  'initialize-refused': 'initialize refused',
  'version-unsupported': 'protocol version not supported',
  'plain-text-refused': 'plain-text HTTP needs --upstream-connection-mode plain-text-or-tls',
  'transport-unsupported': 'transport not supported: only STREAMABLEHTTP is',
  'backend-busy': 'too many requests in flight to it',
  'session-ended': 'session ended',
} as const;

/** Frozen faults without a place of their own to be made in; `isUnsent` says whether the request left. */
export function upstreamFault(kind: UpstreamFaultKind, isUnsent = false): UpstreamFault {
  return { kind, isUnsent };
}
