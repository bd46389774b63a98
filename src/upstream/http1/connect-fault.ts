// Why a connection could not be made, in Node's words → the kind of fault it is. Cold.
import type { UpstreamFaultKind } from '../http/upstream-fault.js';

export function connectFaultKindOf(error: unknown, isTls: boolean): UpstreamFaultKind {
  const code = codeOf(error);
  if (code === 'ECONNREFUSED') return 'connection-refused';
  if (code === 'ETIMEDOUT') return 'connect-timeout';
  // With TLS, what was not said by the system call that connects was said after it: by the handshake.
  if (isTls && !(error instanceof Error && 'syscall' in error && error.syscall === 'connect')) return 'tls-failed';
  return 'connect-failed';
}

/** Of a host's addresses each of which has failed: one that was reached says more than one that cannot be. */
export function tellingKindOf(kinds: readonly UpstreamFaultKind[]): UpstreamFaultKind {
  return kinds.find((kind) => kind !== 'connect-failed') ?? 'connect-failed';
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
