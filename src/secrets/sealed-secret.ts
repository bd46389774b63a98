// A secret as the store has it: sealed with AES-256-GCM under one of the operator's keys. Its name and where it may be sent
// are sealed with it, so that whoever may write the store can neither put it under another name nor send it elsewhere. Cold.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { SecretKey, SecretKeys } from './secret-keys.js';

/** Where a secret may be sent: origins, as in `https://api.example.com`, or `any`. */
export type SecretOrigins = readonly string[] | 'any';

export interface Secret {
  readonly value: string;
  readonly origins: SecretOrigins;
}

/** What the store shows of it to whoever has no key. */
export interface SealedSecret {
  readonly keyId: string;
  readonly origins: SecretOrigins;
  readonly updatedAt: string;
  readonly nonce: string;
  readonly tag: string;
  readonly sealed: string;
}

export type Unsealed =
  { readonly kind: 'found'; readonly secret: Secret } | { readonly kind: 'failed'; readonly reason: string };

const FORM = 'switchyard secret 1';
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export function sealSecret({ id, bytes }: SecretKey, name: string, secret: Secret, updatedAt: string): Buffer {
  const { value, origins } = secret;
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, bytes, nonce);
  cipher.setAAD(associatedData(name, { keyId: id, origins, updatedAt }));
  const sealed = Buffer.concat([cipher.update(value, 'latin1'), cipher.final()]);
  const record: SealedSecret = {
    ...{ keyId: id, origins, updatedAt },
    nonce: nonce.toString('base64'),
    tag: cipher.getAuthTag().toString('base64'),
    sealed: sealed.toString('base64'),
  };
  return Buffer.from(JSON.stringify(record));
}

/** The reason why it cannot be opened names no secret. */
export function unsealSecret(keys: SecretKeys, name: string, bytes: Buffer): Unsealed {
  const record = readSealed(bytes);
  if (record === undefined) return failed('its record in the store is no sealed secret');
  const key = keys.find(record.keyId);
  if (key === undefined)
    return failed(`it is sealed under the key ${record.keyId}, which --secrets-key-file does not have`);
  try {
    const decipher = createDecipheriv(CIPHER, key.bytes, Buffer.from(record.nonce, 'base64'), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(associatedData(name, record));
    decipher.setAuthTag(Buffer.from(record.tag, 'base64'));
    const opened = Buffer.concat([decipher.update(Buffer.from(record.sealed, 'base64')), decipher.final()]);
    return { kind: 'found', secret: { value: opened.toString('latin1'), origins: record.origins } };
  } catch {
    return failed('its record in the store was changed after it was sealed');
  }
}

/** `undefined` for what is no record of a secret. Nothing of it is to be believed before it was unsealed. */
export function readSealed(bytes: Buffer): SealedSecret | undefined {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { keyId, origins, updatedAt, nonce, tag, sealed } = value as Partial<Record<keyof SealedSecret, unknown>>;
  if (!areOrigins(origins)) return undefined;
  const texts = [keyId, updatedAt, nonce, tag, sealed];
  if (!texts.every((text) => typeof text === 'string')) return undefined;
  return { keyId, origins, updatedAt, nonce, tag, sealed } as SealedSecret;
}

function areOrigins(value: unknown): value is SecretOrigins {
  return value === 'any' || (Array.isArray(value) && value.every((origin) => typeof origin === 'string'));
}

function associatedData(
  name: string,
  { keyId, origins, updatedAt }: Pick<SealedSecret, 'keyId' | 'origins' | 'updatedAt'>,
): Buffer {
  return Buffer.from(JSON.stringify([FORM, name, keyId, origins, updatedAt]));
}

function failed(reason: string): Unsealed {
  return { kind: 'failed', reason };
}
