// Token options of the tests in this folder: everything absent but what a test names.
import type { TokenOptions } from '../../src/config/dataplane-options.js';

export function tokenOptions(given: Partial<TokenOptions> = {}): TokenOptions {
  return {
    publicKey: undefined,
    secret: undefined,
    jwks: undefined,
    issuerKeys: [],
    issuerKeyGraceMs: 60_000,
    isPlainTextAllowed: true,
    keyPaths: { publicKey: undefined, secret: undefined, jwks: undefined },
    privateKey: undefined,
    issuers: ['mcpgateway'],
    audience: 'mcpgateway-api',
    ...given,
  };
}
