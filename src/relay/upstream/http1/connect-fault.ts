// Why a connection could not be made, in Node's words → the kind of fault it is. Cold.
import type { UpstreamFaultKind } from '../upstream-fault.js';

export function connectFaultKindOf(error: unknown, isTls: boolean): UpstreamFaultKind {
  if (error instanceof AggregateError) {
    // A name with several addresses fails once for each. One that was reached says more than one that cannot be.
    const kinds = error.errors.map((each: unknown) => connectFaultKindOf(each, isTls));
    return kinds.find((kind) => kind !== 'connect-failed') ?? 'connect-failed';
  }
  const code = codeOf(error);
  if (code === 'ADDRESS_REFUSED') return 'address-refused';
  if (code === 'ECONNREFUSED') return 'connection-refused';
  if (code === 'ETIMEDOUT') return 'connect-timeout';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'name-not-resolved';
  // With TLS, what was not said by the system call that connects was said after it: by the handshake.
  if (isTls && !(error instanceof Error && 'syscall' in error && error.syscall === 'connect')) return 'tls-failed';
  return 'connect-failed';
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
