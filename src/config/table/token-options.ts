// How tokens are verified and minted.
import * as files from '../files.js';
import type { OptionTable } from '../option.js';
import { parseIssuerKeySources } from '../issuer-key-sources.js';
import { parseClaimPath, parseRoleNames } from '../standing-claims.js';
import * as values from '../values.js';

export const tokenVerificationOptions = {
  'token-verification-public-key': {
    placeholder: '<path>',
    meaning: 'PEM file (SPKI or PKCS#1) of one or more RSA, EC or Ed25519 keys that verify tokens',
    fallback: undefined,
    parse: files.readTokenPublicKey,
  },
  'token-verification-secret-file': {
    placeholder: '<path>',
    meaning: 'file with the HMAC secret for HS256, HS384 and HS512 tokens, at least 32 bytes',
    fallback: undefined,
    parse: files.readTokenSecret,
  },
  'token-jwks-file': {
    placeholder: '<path>',
    meaning: 'JWK set (RFC 7517) of keys and secrets that verify tokens, selected by kid, use and alg',
    fallback: undefined,
    parse: files.readTokenJwks,
  },
} as const satisfies OptionTable;

export const issuerKeyOptions = {
  'token-leeway': {
    placeholder: '<duration>',
    meaning: "how far an issuer's clock may be ahead: a token is accepted this long before its nbf",
    fallback: '30s',
    parse: values.duration({ minMs: 0 }),
  },
  'token-jwks-url': {
    placeholder: '<list>',
    meaning:
      'comma-separated issuer=URL pairs: the JWK set of each issuer with its own keys; an issuer without a URL is discovered',
    fallback: undefined,
    parse: parseIssuerKeySources,
  },
  'token-jwks-grace': {
    placeholder: '<duration>',
    meaning: "how long an issuer's keys stay in use after they were last fetched",
    fallback: '24h',
    parse: values.duration({ minMs: 0 }),
  },
} as const satisfies OptionTable;

/** Control plane only. */
export const standingOptions = {
  'token-roles-claim': {
    placeholder: '<claim>',
    meaning: 'claim with the role of a token: reader, editor or admin',
    fallback: undefined,
    fallbackText: 'every token has the role admin',
    parse: parseClaimPath,
  },
  'token-role-names': {
    placeholder: '<list>',
    meaning:
      'comma-separated role=value pairs: the values of --token-roles-claim that stand for each role, instead of its name',
    fallback: undefined,
    fallbackText: 'reader, editor and admin',
    parse: parseRoleNames,
  },
  'token-teams-claim': {
    placeholder: '<claim>',
    meaning: 'claim with the teams of a token, which own what their members create',
    fallback: undefined,
    fallbackText: 'nobody has a team',
    parse: parseClaimPath,
  },
} as const satisfies OptionTable;

export const tokenMintingOptions = {
  'token-verification-private-key': {
    placeholder: '<path>',
    meaning: 'PEM file (PKCS#8 or PKCS#1) of the key that signs tokens, for bootstrap builds and the token command',
    fallback: undefined,
    parse: files.readTokenPrivateKey,
  },
  'token-issuer': {
    placeholder: '<list>',
    meaning: 'comma-separated issuers (iss), one of which tokens must have; tokens are minted with the first',
    fallback: 'mcpgateway',
    parse: values.parseTexts,
  },
  'token-audience': {
    placeholder: '<text>',
    meaning: 'audience (aud) that tokens must have, and are minted with',
    fallback: 'mcpgateway-api',
    parse: values.parseText,
  },
} as const satisfies OptionTable;
