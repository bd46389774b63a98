// Texts of the gateway's own that go through hands that must not read or change them: records of the store, and what a browser
// carries. Sealed with AES-256-GCM under one of the operator's keys, each with a nonce of its own and with what it is for: sealed
// for one thing, it opens as no other. Cold.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { SecretKey, SecretKeys } from './secret-keys.js';

export type OpenedText =
  | { readonly kind: 'opened'; readonly text: string; readonly keyId: string }
  | { readonly kind: 'failed'; readonly reason: string };

const FORM = 'switchyard sealed 1';
const CIPHER = 'aes-256-gcm';
const KEY_ID_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = KEY_ID_BYTES + NONCE_BYTES + TAG_BYTES;

/** @param use what it is for: a record's key, or words of ours. */
export function sealText({ id, bytes }: SecretKey, use: string, text: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, bytes, nonce);
  cipher.setAAD(associatedData(use, id));
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([Buffer.from(id, 'latin1'), nonce, cipher.getAuthTag(), sealed]);
}

/** The reason why it cannot be opened tells nothing of it. */
export function openText(keys: SecretKeys, use: string, bytes: Buffer): OpenedText {
  if (bytes.length < HEAD_BYTES) return { kind: 'failed', reason: 'it is nothing that was sealed' };
  const keyId = bytes.toString('latin1', 0, KEY_ID_BYTES);
  const key = keys.find(keyId);
  // What stands there may be anything.
  if (key === undefined)
    return { kind: 'failed', reason: 'it is sealed under a key that --secrets-key-file does not have, or not at all' };
  try {
    const nonce = bytes.subarray(KEY_ID_BYTES, KEY_ID_BYTES + NONCE_BYTES);
    const decipher = createDecipheriv(CIPHER, key.bytes, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(associatedData(use, keyId));
    decipher.setAuthTag(bytes.subarray(KEY_ID_BYTES + NONCE_BYTES, HEAD_BYTES));
    const text = Buffer.concat([decipher.update(bytes.subarray(HEAD_BYTES)), decipher.final()]).toString('utf8');
    return { kind: 'opened', text, keyId };
  } catch {
    return { kind: 'failed', reason: 'it was changed after it was sealed, or sealed for something else' };
  }
}

function associatedData(use: string, keyId: string): Buffer {
  return Buffer.from(JSON.stringify([FORM, use, keyId]));
}
