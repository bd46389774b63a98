// Why a connection could not be made, in Node's words → the kind of fault it is. Cold.
import type { UpstreamFaultKind } from './upstream-fault.js';

export function connectFaultKindOf(error: Error, isTls: boolean): UpstreamFaultKind {
  // A name with several addresses fails once for each; they seldom differ, and the first is the preferred one.
  const cause: unknown = error instanceof AggregateError ? error.errors[0] : error;
  const code = codeOf(cause);
  if (code === 'ECONNREFUSED') return 'connection-refused';
  if (code === 'ETIMEDOUT') return 'connect-timeout';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'name-not-resolved';
  // With TLS, what was not said by the system call that connects was said after it: by the handshake.
  if (isTls && !(cause instanceof Error && 'syscall' in cause && cause.syscall === 'connect')) return 'tls-failed';
  return 'connect-failed';
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
