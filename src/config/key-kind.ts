// The kinds of keys that tokens are signed with. Everything else is refused at start-up, so that a key which no token
// can match is never taken for a working one.
import type { KeyObject } from 'node:crypto';

export type KeyKind = 'RSA' | 'P-256' | 'P-384' | 'P-521' | 'Ed25519';

/** JOSE takes no shorter RSA key. */
const RSA_BITS_MIN = 2048;

const CURVES: Readonly<Record<string, KeyKind>> = { prime256v1: 'P-256', secp384r1: 'P-384', secp521r1: 'P-521' };

/** `undefined` when no JWS algorithm fits the key. */
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
