// The types of keys that sign tokens, and the algorithms of each. All others are refused at start-up, so that a key which no token can
// match is never taken for a working one.
import type { KeyObject } from 'node:crypto';

export type KeyKind = 'RSA' | 'P-256' | 'P-384' | 'P-521' | 'Ed25519';

/** JOSE allows no shorter RSA key. */
const RSA_BITS_MIN = 2048;

const CURVES: Readonly<Record<string, KeyKind>> = { prime256v1: 'P-256', secp384r1: 'P-384', secp521r1: 'P-521' };

/** Tokens are minted with the first algorithm of each type. */
export const ALGORITHMS: Readonly<Record<KeyKind, readonly [string, ...string[]]>> = {
  RSA: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  'P-256': ['ES256'],
  'P-384': ['ES384'],
  'P-521': ['ES512'],
  Ed25519: ['EdDSA', 'Ed25519'],
};

/** RFC 7518 section 3.2: an HMAC secret is at least as long as the hash. */
const HMAC_SECRET_BYTES_MIN = { HS256: 32, HS384: 48, HS512: 64 };

export function hmacAlgorithms(secret: Uint8Array): readonly string[] {
  return Object.entries(HMAC_SECRET_BYTES_MIN)
    .filter(([, bytesMin]) => secret.length >= bytesMin)
    .map(([algorithm]) => algorithm);
}

/** @returns `undefined` when no JWS algorithm fits the key. */
export function keyKind(key: KeyObject): KeyKind | undefined {
  const { modulusLength = 0, namedCurve = '' } = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case 'rsa':
      return modulusLength >= RSA_BITS_MIN ? 'RSA' : undefined;
    case 'ec':
      return CURVES[namedCurve];
    case 'ed25519':
      return 'Ed25519';
    default:
      return undefined;
  }
}
