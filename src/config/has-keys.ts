// Whether any token can be verified at all.
import type { TokenOptions } from './dataplane-options.js';

export function hasKeys({ publicKey, secret, jwks }: TokenOptions): boolean {
  return publicKey !== undefined || secret !== undefined || jwks !== undefined;
}
