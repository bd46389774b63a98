// Sets, lists, deletes and reseals the secrets in the store for operators; does not show them. Cold path.
import { type RecordKey, type RecordStore, walkRecords, retrySwap } from '../../store/index.js';
import { openText, sealText, type SecretKey, type SecretKeys } from './secret-keys.js';
import { CLIENT_PREFIX, GRANT_PREFIX } from './user-grants.js';
import { readSealed, sealSecret, unsealSecret, type Secret, type SecretOrigins } from './sealed-secret.js';

export const SECRET_PREFIX = 'secrets/';

interface ListedSecret {
  readonly name: string;
  readonly origins: SecretOrigins;
  readonly updatedAt: string;
  readonly keyId: string;
  /** Whether there is a key that opens the secret, and it is unchanged since it was sealed. */
  readonly isUsable: boolean;
}

export class SecretRecords {
  readonly #records: RecordStore;
  readonly #keys: SecretKeys;
  readonly #now: () => Date;

  constructor(records: RecordStore, keys: SecretKeys, now: () => Date = () => new Date()) {
    this.#records = records;
    this.#keys = keys;
    this.#now = now;
  }

  async set(name: string, secret: Secret, key: SecretKey): Promise<void> {
    const updatedAt = this.#now().toISOString();
    await retrySwap(async () => {
      const expected = await this.#records.read(recordKey(name));
      const value = sealSecret(key, name, secret, updatedAt);
      return (await this.#records.swap([{ ...recordKey(name), expected, value }])) || undefined;
    });
  }

  /** Deletes the secret. @returns false if there was none. */
  async delete(name: string): Promise<boolean> {
    return retrySwap(async () => {
      const expected = await this.#records.read(recordKey(name));
      if (expected === undefined) return false;
      return (await this.#records.swap([{ ...recordKey(name), expected, value: undefined }])) || undefined;
    });
  }

  async describe(name: string): Promise<Pick<ListedSecret, 'origins' | 'updatedAt' | 'keyId'> | undefined> {
    const sealed = await this.#records.read(recordKey(name));
    if (sealed === undefined) return undefined;
    const { origins = [], updatedAt = '', keyId = '' } = readSealed(sealed) ?? {};
    return { origins, updatedAt, keyId };
  }

  async list(): Promise<ListedSecret[]> {
    const secrets: ListedSecret[] = [];
    for await (const [name, bytes] of this.#all()) {
      const { origins = [], updatedAt = '', keyId = '' } = readSealed(bytes) ?? {};
      const isUsable = unsealSecret(this.#keys, name, bytes).kind === 'found';
      secrets.push({ name, origins, updatedAt, keyId, isUsable });
    }
    return secrets;
  }

  /** Reseals every secret that is sealed with another key. A secret that is changed meanwhile counts as failed. */
  async rotate(key: SecretKey) {
    const resealed: string[] = [];
    const failed: [name: string, reason: string][] = [];
    for await (const [name, expected] of this.#all()) {
      const record = readSealed(expected);
      const unsealed = unsealSecret(this.#keys, name, expected);
      if (unsealed.kind === 'failed') {
        failed.push([name, unsealed.reason]);
      } else if (record !== undefined && record.keyId !== key.id) {
        const value = sealSecret(key, name, unsealed.secret, record.updatedAt);
        if (await this.#records.swap([{ ...recordKey(name), expected, value }])) resealed.push(name);
        else failed.push([name, 'it has changed in the meantime: run the command again']);
      }
    }
    return { resealed, failed };
  }

  async *#all(): AsyncGenerator<[name: string, bytes: Buffer]> {
    for await (const found of walkRecords(this.#records, SECRET_PREFIX))
      for (const { key, value } of found) yield [key.slice(SECRET_PREFIX.length), value];
  }
}

function recordKey(name: string): RecordKey {
  return { space: 'records', key: SECRET_PREFIX + name };
}

const RESEAL_TRIES_MAX = 3;

/**
 * Reseals users' grants, and the clients that the gateway has registered, so that the old key can be removed. Consents in progress are left
 * out: they expire soon. @returns numbers of records; `failed` counts those that no key opens or that kept changing.
 */
export async function resealGrants(records: RecordStore, keys: SecretKeys, key: SecretKey) {
  const counts = { resealed: 0, failed: 0 };
  for (const prefix of [GRANT_PREFIX, CLIENT_PREFIX]) {
    for await (const found of walkRecords(records, prefix)) {
      for (const { key: name } of found) {
        const outcome = await reseal(records, keys, key, name);
        if (outcome !== 'same') counts[outcome] += 1;
      }
    }
  }
  return counts;
}

async function reseal(
  records: RecordStore,
  keys: SecretKeys,
  key: SecretKey,
  name: string,
): Promise<'resealed' | 'failed' | 'same'> {
  const location: RecordKey = { space: 'records', key: name };
  for (let tries = 0; tries < RESEAL_TRIES_MAX; tries++) {
    const expected = await records.read(location);
    if (expected === undefined) return 'same';
    const opened = openText(keys, name, expected);
    if (opened.kind === 'failed') return 'failed';
    if (opened.keyId === key.id) return 'same';
    const value = sealText(key, name, opened.text);
    if (await records.swap([{ ...location, expected, value }])) return 'resealed';
  }
  return 'failed';
}
