// Which key a token of each JWS algorithm is verified with, and which algorithm a key mints with. An algorithm is in the
// table only with the one key that it belongs to, so a token cannot choose how a key is used (RFC 8725 section 3.1).
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import type { TokenOptions } from '../config/dataplane-options.js';
import { keyKind, type KeyKind } from '../config/key-kind.js';

/** The first of each kind is what we mint with. */
const ALGORITHMS: Readonly<Record<KeyKind, readonly [string, ...string[]]>> = {
  RSA: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  'P-256': ['ES256'],
  'P-384': ['ES384'],
  'P-521': ['ES512'],
  Ed25519: ['EdDSA', 'Ed25519'],
};

/** RFC 7518 section 3.2: an HMAC secret is at least as long as the hash. */
const HMAC_SECRET_BYTES_MIN = { HS256: 32, HS384: 48, HS512: 64 };

/** Algorithm → key or secret. Empty when nothing is configured. */
export function verificationKeys(options: TokenOptions): ReadonlyMap<string, KeyObject | Uint8Array> {
  const keys = new Map<string, KeyObject | Uint8Array>();
  if (options.publicKey !== undefined) {
    const key = createPublicKey(options.publicKey);
    for (const algorithm of ALGORITHMS[requireKind(key)]) keys.set(algorithm, key);
  }
  if (options.secret !== undefined) {
    for (const [algorithm, bytesMin] of Object.entries(HMAC_SECRET_BYTES_MIN)) {
      if (options.secret.length >= bytesMin) keys.set(algorithm, options.secret);
    }
  }
  return keys;
}

export interface MintingKey {
  readonly algorithm: string;
  readonly key: KeyObject;
}

export function mintingKey(pem: string): MintingKey {
  const key = createPrivateKey(pem);
  return { algorithm: ALGORITHMS[requireKind(key)][0], key };
}

function requireKind(key: KeyObject): KeyKind {
  const kind = keyKind(key);
  if (kind === undefined) throw new Error('no JWS algorithm fits the key; the options let it pass unchecked');
  return kind;
}
