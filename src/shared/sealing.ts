// Bytes that go through hands which must neither read nor change them: sealed with AES-256-GCM, each time with a nonce of its own, and
// together with what they are for: for anything else they do not open. Whose key it is, and how that is written down, is for those who
// have it. Cold: a few times a session, or a person's doing.
import { createCipheriv, createDecipheriv } from 'node:crypto';
import { RandomPool } from './random-pool.js';

export const SEAL_KEY_BYTES = 32;

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** What is before the sealed bytes, which are as many as before. */
export const SEAL_BYTES = NONCE_BYTES + TAG_BYTES;

/** The same in parts, for whoever keeps them one by one. */
export interface SealParts {
  readonly nonce: Buffer;
  readonly tag: Buffer;
  readonly sealed: Buffer;
}

const nonces = new RandomPool(NONCE_BYTES);

/** @param use associated data: what the bytes are for. @returns nonce, tag and sealed bytes, one behind the other. */
export function seal(key: Uint8Array, use: Buffer, bytes: Buffer): Buffer {
  const nonce = nonces.next();
  const cipher = createCipheriv(CIPHER, key, nonce);
  cipher.setAAD(use);
  const sealed = Buffer.allocUnsafe(SEAL_BYTES + bytes.length);
  nonce.copy(sealed);
  cipher.update(bytes).copy(sealed, SEAL_BYTES);
  cipher.final();
  cipher.getAuthTag().copy(sealed, NONCE_BYTES);
  return sealed;
}

/** @returns `undefined` for what is for another use, under another key, or was tampered with. */
export function unseal(key: Uint8Array, use: Buffer, sealed: Buffer): Buffer | undefined {
  if (sealed.length < SEAL_BYTES) return undefined;
  const { nonce, tag, sealed: rest } = sealParts(sealed);
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(use);
  decipher.setAuthTag(tag);
  const bytes = decipher.update(rest);
  try {
    decipher.final();
  } catch {
    return undefined;
  }
  return bytes;
}

export function sealParts(sealed: Buffer): SealParts {
  return {
    nonce: sealed.subarray(0, NONCE_BYTES),
    tag: sealed.subarray(NONCE_BYTES, SEAL_BYTES),
    sealed: sealed.subarray(SEAL_BYTES),
  };
}

/** @returns `undefined` for parts that are none: put together, those of other lengths could be read as others. */
export function joinedParts({ nonce, tag, sealed }: SealParts): Buffer | undefined {
  return nonce.length === NONCE_BYTES && tag.length === TAG_BYTES ? Buffer.concat([nonce, tag, sealed]) : undefined;
}
