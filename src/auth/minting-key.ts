// The private key that mints tokens, and its algorithm. Cold path.
import { createPrivateKey, type KeyObject } from 'node:crypto';
import { ALGORITHMS, keyKind } from '../config/key-kind.js';

export interface MintingKey {
  readonly algorithm: string;
  readonly key: KeyObject;
}

export function mintingKey(pem: string): MintingKey {
  const key = createPrivateKey(pem);
  const kind = keyKind(key);
  if (kind === undefined) throw new Error('no JWS algorithm fits the key; the options let it pass unchecked');
  return { algorithm: ALGORITHMS[kind][0], key };
}
