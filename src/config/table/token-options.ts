// How tokens are verified, and minted.
import * as files from '../files.js';
import type { OptionTable } from '../option.js';
import * as values from '../values.js';

export const tokenVerificationOptions = {
  'token-verification-public-key': {
    placeholder: '<path>',
    meaning: 'PEM file (SPKI or PKCS#1) of the RSA, EC or Ed25519 key that verifies tokens',
    fallback: undefined,
    parse: files.readTokenPublicKey,
  },
  'token-verification-secret-file': {
    placeholder: '<path>',
    meaning: 'file that holds the HMAC secret for HS256, HS384 and HS512 tokens, 32 bytes or more',
    fallback: undefined,
    parse: files.readSecret,
  },
} as const satisfies OptionTable;

export const tokenMintingOptions = {
  'token-verification-private-key': {
    placeholder: '<path>',
    meaning: 'PEM file (PKCS#8 or PKCS#1) of the key that mints tokens: bootstrap builds and the token command',
    fallback: undefined,
    parse: files.readTokenPrivateKey,
  },
  'token-issuer': {
    placeholder: '<text>',
    meaning: 'issuer (iss) of tokens, demanded and minted',
    fallback: 'mcpgateway',
    parse: values.parseText,
  },
  'token-audience': {
    placeholder: '<text>',
    meaning: 'audience (aud) of tokens, demanded and minted',
    fallback: 'mcpgateway-api',
    parse: values.parseText,
  },
} as const satisfies OptionTable;
