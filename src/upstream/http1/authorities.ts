// The certificate authorities trusted for backends over TLS: those of Node.js and the operator's own. Cold path.
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';

let last: { readonly pem: string; readonly context: SecureContext } | undefined;

/**
 * Created once for all connections of a process, since parsing all authorities takes long.
 * @param pem the operator's authorities. @returns `undefined` when there are none, and the default of Node.js is right.
 */
export function trustOf(pem: string | undefined): SecureContext | undefined {
  if (pem === undefined) return undefined;
  if (last?.pem !== pem) last = { pem, context: createSecureContext({ ca: [...rootCertificates, pem] }) };
  return last.context;
}
