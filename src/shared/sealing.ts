// Seals bytes for a store or a client that must neither read nor change them: AES-256-GCM with a fresh nonce. Bytes sealed for one use
// cannot be unsealed for another. Cold path: a few times per session.
import { createCipheriv, createDecipheriv, randomFillSync } from 'node:crypto';

const USES_PER_FILL = 256;

/** Makes random bytes for many uses at once: the call costs far more than the bytes. */
export class RandomPool {
  readonly #pool: Buffer;
  readonly #bytesPerUse: number;
  #usedBytes: number;

  /** @param bytes how many `next` returns. */
  constructor(bytes: number) {
    this.#bytesPerUse = bytes;
    this.#pool = Buffer.alloc(bytes * USES_PER_FILL);
    this.#usedBytes = this.#pool.length;
  }

  /** Random bytes, which the caller may use until the next call, which may refill the pool. */
  next(): Buffer {
    if (this.#usedBytes === this.#pool.length) {
      randomFillSync(this.#pool);
      this.#usedBytes = 0;
    }
    const from = this.#usedBytes;
    this.#usedBytes += this.#bytesPerUse;
    return this.#pool.subarray(from, this.#usedBytes);
  }
}

export const SEAL_KEY_BYTES = 32;

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** How many bytes (nonce and tag) precede the sealed bytes, which are as many as the plain bytes. */
export const SEAL_BYTES = NONCE_BYTES + TAG_BYTES;

/** The parts of a seal, for callers that store them one by one. */
export interface SealParts {
  readonly nonce: Buffer;
  readonly tag: Buffer;
  readonly sealed: Buffer;
}

const nonces = new RandomPool(NONCE_BYTES);

/** Seals bytes. @param use what the bytes are for, needed to unseal them. @returns nonce, tag and sealed bytes. */
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

/** Unseals bytes. @returns `undefined` if they were sealed for another use or with another key, or were changed. */
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

/** The inverse of `sealParts`. @returns `undefined` if nonce or tag has a wrong length. */
export function joinedParts({ nonce, tag, sealed }: SealParts): Buffer | undefined {
  return nonce.length === NONCE_BYTES && tag.length === TAG_BYTES ? Buffer.concat([nonce, tag, sealed]) : undefined;
}
