// Who vouches for backends that are reached with TLS: the authorities that Node.js knows, and the operator's own. Cold.
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';

let last: { readonly pem: string; readonly context: SecureContext } | undefined;

/**
 * Made once for everything that a process connects to: reading all authorities takes long.
 * @param pem the operator's. @returns `undefined` where there are none, and what Node.js does by itself is right.
 */
export function trustOf(pem: string | undefined): SecureContext | undefined {
  if (pem === undefined) return undefined;
  if (last?.pem !== pem) last = { pem, context: createSecureContext({ ca: [...rootCertificates, pem] }) };
  return last.context;
}
