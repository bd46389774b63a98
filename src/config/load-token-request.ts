// The options of the `token` command: what to mint, and with which key.
import { deepFreeze } from './values.js';
import type { CommandWords } from './command.js';
import type { TokenOptions } from './dataplane-options.js';
import { OptionReader } from './option-reader.js';
import { tokenOptionTable } from './option-table.js';

export interface TokenRequest {
  readonly token: TokenOptions;
  readonly subject: string;
  readonly expiresInMs: number;
}

/** @throws {OptionFaults} with every fault. */
export function loadTokenRequest(words: CommandWords, environment: NodeJS.ProcessEnv = process.env): TokenRequest {
  const values = new OptionReader(tokenOptionTable, words, environment).finish();
  return deepFreeze({
    token: {
      publicKey: undefined,
      secret: undefined,
      jwks: undefined,
      issuerKeys: [],
      issuerKeyGraceMs: 0,
      leewayMs: 0,
      isPlainTextAllowed: false,
      keyPaths: { publicKey: undefined, secret: undefined, jwks: undefined },
      privateKey: values['token-verification-private-key'],
      issuers: values['token-issuer'],
      audience: values['token-audience'],
    },
    subject: values.subject,
    expiresInMs: values['expires-in'],
  });
}
