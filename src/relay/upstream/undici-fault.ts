// What went wrong, in undici's and Node's words → the kind of fault it is. Cold.
import { errors } from 'undici';
import type { UpstreamFaultKind } from './upstream-fault.js';

/** An error whose kind was known where it was noticed. */
export class FaultError extends Error {
  readonly kind: UpstreamFaultKind;

  constructor(kind: UpstreamFaultKind, options?: ErrorOptions) {
    super(kind, options);
    this.kind = kind;
  }
}

/** The kind of an error that ended a request. */
export function faultKindOf(error: Error): UpstreamFaultKind {
  if (error instanceof FaultError) return error.kind;
  if (error instanceof errors.HTTPParserError || error instanceof errors.HeadersOverflowError) return 'answer-invalid';
  // Says undici of a 100 or a 101 that nobody asked for.
  if (error.message === 'bad response' || error.message === 'bad upgrade') return 'answer-invalid';
  return 'connection-lost';
}

/** The kind of an error that ended the attempt to connect. */
export function connectFaultKindOf(error: unknown, isTls: boolean): UpstreamFaultKind {
  if (error instanceof AggregateError) {
    // A name with several addresses fails once for each. One that was reached says more than one that cannot be.
    const kinds = error.errors.map((each: unknown) => connectFaultKindOf(each, isTls));
    return kinds.find((kind) => kind !== 'connect-failed') ?? 'connect-failed';
  }
  const code = codeOf(error);
  if (code === 'ECONNREFUSED') return 'connection-refused';
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') return 'connect-timeout';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'name-not-resolved';
  // With TLS, what was not said by the system call that connects was said after it: by the handshake.
  if (isTls && !(error instanceof Error && 'syscall' in error && error.syscall === 'connect')) return 'tls-failed';
  return 'connect-failed';
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
