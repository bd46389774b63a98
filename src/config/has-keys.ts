// Whether any keys are configured that verify tokens.
import type { TokenOptions } from './dataplane-options.js';

export function hasKeys({ publicKey, secret, jwks, issuerKeys }: TokenOptions): boolean {
  return publicKey !== undefined || secret !== undefined || jwks !== undefined || issuerKeys.length > 0;
}
