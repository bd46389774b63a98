// The secrets in the store as requests need them: opened once, and again when the stored bytes change. Warm path: two
// map look-ups for backends that need a secret.
import { limits, RecentMap } from '../../shared/index.js';
import type { Store, StoreRead } from '../../store/index.js';
import { SecretKeys } from './secret-keys.js';
import { SECRET_PREFIX } from './secret-records.js';
import { unsealSecret, type Secret } from './sealed-secret.js';

/** Secrets that a process caches. The others are read again when needed. */
export const SECRETS_KNOWN_MAX = 1_024;

export type StoredSecretRead =
  | { readonly kind: 'found'; readonly secret: Secret }
  /** The reason is for the log; it names no secret. */
  | { readonly kind: 'failed'; readonly reason: string };

interface Opened {
  readonly value: Buffer;
  readonly read: StoredSecretRead;
}

const MISSING: StoredSecretRead = Object.freeze({ kind: 'failed', reason: 'is not in the store' });

export class StoredSecrets {
  readonly #store: Pick<Store, 'readRecord'>;
  readonly #keys: SecretKeys;
  readonly #opened = new RecentMap<Opened>(
    SECRETS_KNOWN_MAX,
    SECRETS_KNOWN_MAX * limits.secretBytesMax,
    ({ value }) => value.length,
  );

  /** @returns `undefined` without a key: nothing could be opened. */
  static of(store: Pick<Store, 'readRecord'>, keys: readonly string[]): StoredSecrets | undefined {
    return keys.length === 0 ? undefined : new StoredSecrets(store, new SecretKeys(keys));
  }

  constructor(store: Pick<Store, 'readRecord'>, keys: SecretKeys) {
    this.#store = store;
    this.#keys = keys;
  }

  /** Returns the same object while the secret is unchanged, and no promise when the store needs none. */
  read(name: string): StoredSecretRead | Promise<StoredSecretRead> {
    const read = this.#store.readRecord(SECRET_PREFIX + name);
    return read instanceof Promise ? read.then((late) => this.#open(name, late)) : this.#open(name, read);
  }

  #open(name: string, read: StoreRead): StoredSecretRead {
    if (read.kind === 'missing') return MISSING;
    if (read.kind === 'failed') return read;
    const { value } = read;
    const known = this.#opened.get(name);
    if (known !== undefined && (known.value === value || known.value.equals(value))) return known.read;
    const unsealed = unsealSecret(this.#keys, name, value);
    this.#opened.set(name, { value, read: unsealed });
    return unsealed;
  }
}
