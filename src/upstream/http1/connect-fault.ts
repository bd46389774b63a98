// Maps Node's errors for a failed connection to kinds of faults. Cold path.
import type { UpstreamFaultKind } from '../http/upstream-fault.js';

export function connectFaultKindOf(error: unknown, isTls: boolean): UpstreamFaultKind {
  const code = codeOf(error);
  if (code === 'ECONNREFUSED') return 'connection-refused';
  if (code === 'ETIMEDOUT') return 'connect-timeout';
  // With TLS, an error that does not come from the `connect` system call comes from the handshake after it.
  if (isTls && !(error instanceof Error && 'syscall' in error && error.syscall === 'connect')) return 'tls-failed';
  return 'connect-failed';
}

/** Chooses the fault when all addresses of a host have failed: one that was reached says more than one that could not be. */
export function tellingKindOf(kinds: readonly UpstreamFaultKind[]): UpstreamFaultKind {
  return kinds.find((kind) => kind !== 'connect-failed') ?? 'connect-failed';
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
