// A secret as stored, sealed with one of the operator's keys, together with its name and its allowed origins: so write access to the store
// is not enough to rename a secret or to have it sent elsewhere. Cold path.
import { joinedParts, tryParseJson, seal, sealParts, unseal } from '../../shared/index.js';
import type { SecretKey, SecretKeys } from './secret-keys.js';

/** Origins that a secret may be sent to, such as `https://api.example.com`. */
export type SecretOrigins = readonly string[] | 'any';

export interface Secret {
  readonly value: string;
  readonly origins: SecretOrigins;
}

/** The stored record. Only `sealed` cannot be read without a key. */
interface SealedSecret {
  readonly keyId: string;
  readonly origins: SecretOrigins;
  readonly updatedAt: string;
  readonly nonce: string;
  readonly tag: string;
  readonly sealed: string;
}

type Unsealed =
  { readonly kind: 'found'; readonly secret: Secret } | { readonly kind: 'failed'; readonly reason: string };

/** The name of the record's format, which is sealed with it. */
const FORMAT = 'switchyard secret 1';

export function sealSecret({ id, bytes }: SecretKey, name: string, secret: Secret, updatedAt: string): Buffer {
  const { value, origins } = secret;
  const data = associatedData(name, { keyId: id, origins, updatedAt });
  const { nonce, tag, sealed } = sealParts(seal(bytes, data, Buffer.from(value, 'latin1')));
  const record: SealedSecret = {
    ...{ keyId: id, origins, updatedAt },
    nonce: nonce.toString('base64'),
    tag: tag.toString('base64'),
    sealed: sealed.toString('base64'),
  };
  return Buffer.from(JSON.stringify(record));
}

/** Opens a stored secret. The reason for a failure contains neither the secret nor its name. */
export function unsealSecret(keys: SecretKeys, name: string, bytes: Buffer): Unsealed {
  const record = readSealed(bytes);
  if (record === undefined) return failed('its record in the store is not an encrypted secret');
  const key = keys.find(record.keyId);
  if (key === undefined)
    return failed(`it is encrypted with the key ${record.keyId}, which is not in --secrets-key-file`);
  const sealed = joinedParts({
    nonce: Buffer.from(record.nonce, 'base64'),
    tag: Buffer.from(record.tag, 'base64'),
    sealed: Buffer.from(record.sealed, 'base64'),
  });
  const opened = sealed && unseal(key.bytes, associatedData(name, record), sealed);
  if (opened === undefined) return failed('its record in the store was changed after it was encrypted');
  return { kind: 'found', secret: { value: opened.toString('latin1'), origins: record.origins } };
}

/** The record in the bytes; `undefined` for anything else. Nothing in it can be trusted before it is unsealed. */
export function readSealed(bytes: Buffer): SealedSecret | undefined {
  const value = tryParseJson(bytes);
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
  return Buffer.from(JSON.stringify([FORMAT, name, keyId, origins, updatedAt]));
}

function failed(reason: string): Unsealed {
  return { kind: 'failed', reason };
}
