// How tokens are verified, and minted.
import * as files from '../files.js';
import type { OptionTable } from '../option.js';
import { parseIssuerKeySources } from '../issuer-key-sources.js';
import { parseClaimPath, parseRoleNames } from '../standing-claims.js';
import * as values from '../values.js';

export const tokenVerificationOptions = {
  'token-verification-public-key': {
    placeholder: '<path>',
    meaning: 'PEM file (SPKI or PKCS#1) of the RSA, EC or Ed25519 keys that verify tokens, one or several',
    fallback: undefined,
    parse: files.readTokenPublicKey,
  },
  'token-verification-secret-file': {
    placeholder: '<path>',
    meaning: 'file that holds the HMAC secret for HS256, HS384 and HS512 tokens, 32 bytes or more',
    fallback: undefined,
    parse: files.readSecret,
  },
  'token-jwks-file': {
    placeholder: '<path>',
    meaning: 'JWK set (RFC 7517) of keys and secrets that verify tokens, each by its kid, use and alg',
    fallback: undefined,
    parse: files.readTokenJwks,
  },
} as const satisfies OptionTable;

export const issuerKeyOptions = {
  'token-jwks-url': {
    placeholder: '<list>',
    meaning:
      'comma-separated issuer=URL of the JWK sets of issuers with keys of their own; an issuer alone is asked where',
    fallback: undefined,
    parse: parseIssuerKeySources,
  },
  'token-jwks-grace': {
    placeholder: '<duration>',
    meaning: 'how long the keys of an issuer are used after they could last be fetched from it',
    fallback: '24h',
    parse: values.duration({ minMs: 0 }),
  },
} as const satisfies OptionTable;

/** Of the control plane. */
export const standingOptions = {
  'token-roles-claim': {
    placeholder: '<claim>',
    meaning: 'claim that names the role of a token: reader, editor or admin',
    fallback: undefined,
    fallbackText: 'every token is an admin’s',
    parse: parseClaimPath,
  },
  'token-role-names': {
    placeholder: '<list>',
    meaning: 'comma-separated role=value: the values of that claim that stand for a role, in place of its name',
    fallback: undefined,
    fallbackText: 'reader, editor and admin',
    parse: parseRoleNames,
  },
  'token-teams-claim': {
    placeholder: '<claim>',
    meaning: 'claim that names the teams of a token, which own what their members make',
    fallback: undefined,
    fallbackText: 'nobody has a team',
    parse: parseClaimPath,
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
    placeholder: '<list>',
    meaning: 'comma-separated issuers (iss) of tokens, one of which is demanded; the first one is minted',
    fallback: 'mcpgateway',
    parse: values.parseTexts,
  },
  'token-audience': {
    placeholder: '<text>',
    meaning: 'audience (aud) of tokens, demanded and minted',
    fallback: 'mcpgateway-api',
    parse: values.parseText,
  },
} as const satisfies OptionTable;
