// Token options for the tests in this folder: everything is absent except what a test sets.
import type { TokenOptions } from '../../src/config/dataplane-options.js';

export function tokenOptions(given: Partial<TokenOptions> = {}): TokenOptions {
  return {
    publicKey: undefined,
    secret: undefined,
    jwks: undefined,
    issuerKeys: [],
    issuerKeyGraceMs: 60_000,
    leewayMs: 30_000,
    isPlainTextAllowed: true,
    keyPaths: { publicKey: undefined, secret: undefined, jwks: undefined },
    privateKey: undefined,
    issuers: ['mcpgateway'],
    audience: 'mcpgateway-api',
    ...given,
  };
}
