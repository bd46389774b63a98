// Texts of the gateway's own that go through hands that must not read or change them: records of the store, and what a browser
// carries. Sealed under one of the operator's keys, whose id goes before, and with what it is for: sealed for one thing, it opens as
// no other. Cold.
import { seal, SEAL_BYTES, unseal } from '../shared/sealing.js';
import type { SecretKey, SecretKeys } from './secret-keys.js';

export type OpenedText =
  | { readonly kind: 'opened'; readonly text: string; readonly keyId: string }
  | { readonly kind: 'failed'; readonly reason: string };

const FORM = 'switchyard sealed 1';
const KEY_ID_BYTES = 16;

/** @param use what it is for: a record's key, or words of ours. */
export function sealText({ id, bytes }: SecretKey, use: string, text: string): Buffer {
  return Buffer.concat([Buffer.from(id, 'latin1'), seal(bytes, associatedData(use, id), Buffer.from(text))]);
}

/** The reason why it cannot be opened tells nothing of it. */
export function openText(keys: SecretKeys, use: string, bytes: Buffer): OpenedText {
  if (bytes.length < KEY_ID_BYTES + SEAL_BYTES) return { kind: 'failed', reason: 'it is nothing that was sealed' };
  const keyId = bytes.toString('latin1', 0, KEY_ID_BYTES);
  const key = keys.find(keyId);
  // What stands there may be anything.
  if (key === undefined)
    return { kind: 'failed', reason: 'it is sealed under a key that --secrets-key-file does not have, or not at all' };
  const opened = unseal(key.bytes, associatedData(use, keyId), bytes.subarray(KEY_ID_BYTES));
  return opened === undefined
    ? { kind: 'failed', reason: 'it was changed after it was sealed, or sealed for something else' }
    : { kind: 'opened', text: opened.toString('utf8'), keyId };
}

function associatedData(use: string, keyId: string): Buffer {
  return Buffer.from(JSON.stringify([FORM, use, keyId]));
}
