// The operator's keys, and texts sealed with them, for records in the store, and for tickets and cookies in browsers. The first key seals,
// and every key opens: an operator puts a new key first, and removes the old one once everything is resealed. Cold path.
import { createHash } from 'node:crypto';
import { seal, SEAL_BYTES, unseal } from '../../shared/index.js';

type OpenedText =
  | { readonly kind: 'opened'; readonly text: string; readonly keyId: string }
  | { readonly kind: 'failed'; readonly reason: string };

const FORMAT = 'switchyard sealed 1';
const KEY_ID_BYTES = 16;

/** Seals a text. @param use what the text is for; it can be opened only for the same use. */
export function sealText({ id, bytes }: SecretKey, use: string, text: string): Buffer {
  return Buffer.concat([Buffer.from(id, 'latin1'), seal(bytes, associatedData(use, id), Buffer.from(text))]);
}

/** Opens a text. The reason of a failure reveals nothing of the text. */
export function openText(keys: SecretKeys, use: string, bytes: Buffer): OpenedText {
  if (bytes.length < KEY_ID_BYTES + SEAL_BYTES) return { kind: 'failed', reason: 'it is nothing that was sealed' };
  const keyId = bytes.toString('latin1', 0, KEY_ID_BYTES);
  const key = keys.find(keyId);
  // The reason does not repeat the key's id, which may be any text if the bytes were never sealed.
  if (key === undefined)
    return {
      kind: 'failed',
      reason: 'it is not encrypted, or it is encrypted with a key that is not in --secrets-key-file',
    };
  const opened = unseal(key.bytes, associatedData(use, keyId), bytes.subarray(KEY_ID_BYTES));
  return opened === undefined
    ? { kind: 'failed', reason: 'it was changed after it was sealed, or sealed for something else' }
    : { kind: 'opened', text: opened.toString('utf8'), keyId };
}

/** A value as text for a URL or cookie. Throws if there is no key. */
export function sealValue({ requiredSealingKey }: SecretKeys, use: string, value: unknown): string {
  return sealText(requiredSealingKey, use, JSON.stringify(value)).toString('base64url');
}

/** Opens a value, which is not validated, because only the gateway can have sealed it. @returns `undefined` for any other text. */
export function openValue<Value>(keys: SecretKeys, use: string, text: string): Value | undefined {
  const opened = openText(keys, use, Buffer.from(text, 'base64url'));
  return opened.kind === 'opened' ? (JSON.parse(opened.text) as Value) : undefined;
}

function associatedData(use: string, keyId: string): Buffer {
  return Buffer.from(JSON.stringify([FORMAT, use, keyId]));
}

export interface SecretKey {
  /** The key's id, which is stored beside each text that the key has sealed, and reveals nothing of the key. */
  readonly id: string;
  readonly bytes: Buffer;
}

const ID_CHARS = 16;

export class SecretKeys {
  readonly #byId: ReadonlyMap<string, SecretKey>;
  /** The key that seals; `undefined` if there is none. */
  readonly sealingKey: SecretKey | undefined;

  /** @param keys 32 bytes each, in base64. */
  constructor(keys: readonly string[]) {
    const all = keys.map((text) => {
      const bytes = Buffer.from(text, 'base64');
      return { id: idOf(bytes), bytes };
    });
    this.sealingKey = all[0];
    this.#byId = new Map(all.map((key) => [key.id, key]));
  }

  /** The first key. Throws if there is none. */
  get requiredSealingKey(): SecretKey {
    if (this.sealingKey === undefined) throw new Error('there is no key to seal with');
    return this.sealingKey;
  }

  find(id: string): SecretKey | undefined {
    return this.#byId.get(id);
  }
}

function idOf(bytes: Buffer): string {
  return createHash('sha256').update('switchyard secret key id').update(bytes).digest('hex').slice(0, ID_CHARS);
}
