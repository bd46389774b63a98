// Secrets that backends require. Files in the operator's directory of secrets are read when first needed, and again within a second after a
// change. Secrets in the store are unsealed again when their records change. Warm path: one map look-up per request.
import { join } from 'node:path';
import { type FileRead, WatchedFile, upstreamFault, type UpstreamFault } from '../http-client/index.js';
import { limits, RecentMap } from '../shared/index.js';
import { HOSTS_FILE_SUFFIX, isSecretValue } from '../config/index.js';
import type { HeadersAuth, SecretReference } from '../user-config/index.js';
import type { Store, StoreRead } from '../store/index.js';
import { SecretKeys } from './secrets/secret-keys.js';
import { SECRET_PREFIX } from './secrets/secret-records.js';
import { unsealSecret, type Secret } from './secrets/sealed-secret.js';

/** The file of a secret, or of the hosts that the secret may be sent to. */
type SecretFile = WatchedFile<FileRead>;

interface AuthHeaders {
  readonly secrets: readonly string[];
  /** The headers: name, value, …; the same array while the secrets are the same. */
  readonly headers: readonly string[];
}

/** A secret, or why it cannot be obtained. */
type SecretOrFault = string | UpstreamFault;

export class Secrets {
  readonly #directory: string | undefined;
  readonly #nowMs: () => number;
  readonly #storedSecrets: Pick<StoredSecrets, 'read'> | undefined;
  readonly #files = new RecentMap<SecretFile>(
    SECRETS_CACHED_MAX,
    SECRETS_CACHED_MAX * limits.secretBytesMax,
    () => limits.secretBytesMax,
  );
  readonly #headers = new WeakMap<HeadersAuth, AuthHeaders>();

  /** @param directory if `undefined`, references to files fail. @param stored if `undefined`, references to the store fail. */
  constructor(directory: string | undefined, nowMs: () => number, stored?: Pick<StoredSecrets, 'read'>) {
    this.#directory = directory;
    this.#nowMs = nowMs;
    this.#storedSecrets = stored;
  }

  /**
   * The headers with a backend's secrets, synchronously unless the store has to be queried.
   * @param origin of the backend. @returns the headers (name, value, …), or why a secret cannot be obtained.
   */
  headersOf(
    auth: HeadersAuth,
    origin: string,
  ): readonly string[] | UpstreamFault | Promise<readonly string[] | UpstreamFault> {
    const values: string[] = [];
    for (const reference of Object.values(auth.headers)) {
      const value = this.secretOf(reference, origin);
      if (value instanceof Promise) return this.#headersLater(auth, origin);
      if (typeof value !== 'string') return value;
      values.push(value);
    }
    return this.#headersWith(auth, values);
  }

  async #headersLater(auth: HeadersAuth, origin: string): Promise<readonly string[] | UpstreamFault> {
    const values: SecretOrFault[] = [];
    for (const reference of Object.values(auth.headers)) values.push(await this.secretOf(reference, origin));
    const fault = values.find((value) => typeof value !== 'string');
    return fault ?? this.#headersWith(auth, values.map(String));
  }

  #headersWith(auth: HeadersAuth, values: readonly string[]): readonly string[] {
    const known = this.#headers.get(auth);
    if (known?.secrets.every((value, index) => value === values[index]) === true) return known.headers;
    const headers = Object.keys(auth.headers).flatMap((name, index) => [name.toLowerCase(), values[index] ?? '']);
    this.#headers.set(auth, { secrets: values, headers });
    return headers;
  }

  /** The secret, or why there is none. @param origins to which the secret, or a token that is obtained with it, is sent. */
  secretOf(reference: SecretReference, ...origins: readonly string[]): SecretOrFault | Promise<SecretOrFault> {
    if ('file' in reference) return this.#secretOfFile(reference.file, origins);
    const { secret: name } = reference;
    if (this.#storedSecrets === undefined) return upstreamFault('secret-keys-missing', true);
    const read = this.#storedSecrets.read(name);
    return read instanceof Promise
      ? read.then((late) => secretOfStored(name, late, origins))
      : secretOfStored(name, read, origins);
  }

  #secretOfFile(file: string, origins: readonly string[]): SecretOrFault {
    if (this.#directory === undefined) return upstreamFault('secrets-off', true);
    const { text, fault } = this.#readFile(this.#directory, file);
    if (text === undefined) return { kind: 'secret-unreadable', isUnsent: true, logDetail: `(${file}: ${fault})` };
    for (const origin of origins) {
      if (!this.#isAllowedAt(this.#directory, file, origin)) return withheldFault(file);
    }
    return text;
  }

  #isAllowedAt(directory: string, file: string, origin: string): boolean {
    const { text = '', isAbsent } = this.#readFile(directory, file + HOSTS_FILE_SUFFIX);
    // A hosts file that cannot be read withholds its secret from every origin.
    return isAbsent || text.split(/\s+/).includes(origin.slice(origin.indexOf('//') + 2));
  }

  #readFile(directory: string, name: string): FileRead {
    const known = this.#files.get(name);
    if (known !== undefined) return known.content;
    const parse = name.endsWith(HOSTS_FILE_SUFFIX) ? (read: FileRead): FileRead => read : checkedSecret;
    const file = new WatchedFile(join(directory, name), limits.secretBytesMax, parse, this.#nowMs);
    this.#files.set(name, file);
    return file.content;
  }
}

function secretOfStored(name: string, read: StoredSecretRead, origins: readonly string[]): SecretOrFault {
  if (read.kind === 'failed')
    return { kind: 'secret-unreadable', isUnsent: true, logDetail: `(${name}: ${read.reason})` };
  const { secret } = read;
  if (secret.origins === 'any') return secret.value;
  for (const origin of origins) if (!secret.origins.includes(origin)) return withheldFault(name);
  return secret.value;
}

function withheldFault(name: string): UpstreamFault {
  return { kind: 'secret-withheld', isUnsent: true, logDetail: `(${name})` };
}

function checkedSecret(read: FileRead): FileRead {
  const text = read.text?.replace(/\r?\n$/, '');
  if (text === undefined || isSecretValue(text)) return { ...read, text };
  const fault = 'is not a valid header value: one line of ASCII, without spaces around it';
  return { ...read, text: undefined, fault };
}

/** The most secret files, and as many unsealed secrets, that a process caches. The least recently used are read again when needed. */
const SECRETS_CACHED_MAX = 1_024;

export type StoredSecretRead =
  | { readonly kind: 'found'; readonly secret: Secret }
  /** The secret cannot be obtained. The reason is for the log, and names no secret. */
  | { readonly kind: 'failed'; readonly reason: string };

const MISSING: StoredSecretRead = Object.freeze({ kind: 'failed', reason: 'is not in the store' });

/** The secrets in the store. Each is unsealed once, and again when its stored bytes change. Warm path: two map look-ups. */
export class StoredSecrets {
  readonly #store: Pick<Store, 'readRecord'>;
  readonly #keys: SecretKeys;
  readonly #opened = new RecentMap<{ readonly value: Buffer; readonly read: StoredSecretRead }>(
    SECRETS_CACHED_MAX,
    SECRETS_CACHED_MAX * limits.secretBytesMax,
    ({ value }) => value.length,
  );

  /** The secrets in the store; `undefined` without a key. */
  static of(store: Pick<Store, 'readRecord'>, keys: readonly string[]): StoredSecrets | undefined {
    return keys.length === 0 ? undefined : new StoredSecrets(store, new SecretKeys(keys));
  }

  constructor(store: Pick<Store, 'readRecord'>, keys: SecretKeys) {
    this.#store = store;
    this.#keys = keys;
  }

  /** Reads a secret. Returns the same object while it is unchanged; a promise only if the store has to be queried. */
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
