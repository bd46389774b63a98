// Users' grants for backends, sealed in the store by subject and backend. A grant is opened once, and again when the stored
// bytes change. Warm path: two map look-ups.
import { createHash } from 'node:crypto';
import { RecentMap, MIB } from '../../shared/index.js';
import type { Store, StoreRead } from '../../store/index.js';
import { type SecretKey, type SecretKeys, openText, sealText } from './secret-keys.js';

/** The most grants that a process caches. The least recently used are unsealed again when needed. */
export const GRANTS_CACHED_MAX = 8_192;

const GRANTS_CACHED_BYTES_MAX = 32 * MIB;

export const GRANT_PREFIX = 'grants/';
/** The prefix of the keys of clients that the gateway has registered itself. */
export const CLIENT_PREFIX = 'clients/';

/** How a client authenticates itself. `none`: the client has no secret. */
export type ClientAuthentication = 'basic' | 'post' | 'none';

export interface GrantClient {
  readonly id: string;
  /** The client's secret, if the gateway has registered the client itself. */
  readonly secret?: string | undefined;
  /** Where the secret is, if the gateway has not registered the client; needed to revoke tokens. */
  readonly reference?: { readonly file: string } | { readonly secret: string } | undefined;
  readonly authentication: ClientAuthentication;
}

interface GrantLease {
  /** The process that holds the lease. */
  readonly by: string;
  readonly untilMs: number;
}

/** A user's grant. Times are wall clock, ms, because several machines share them. */
export interface UserGrant {
  readonly subject: string;
  /** The backend's name when the grant was made, for people. */
  readonly backendName: string;
  readonly backendUrl: string;
  readonly issuer: string;
  readonly tokenEndpoint: string;
  readonly revocationEndpoint?: string | undefined;
  readonly client: GrantClient;
  /** The resource that was requested; `''` for none. */
  readonly resource: string;
  readonly scope: string;
  readonly accessToken: string;
  readonly refreshToken?: string | undefined;
  readonly issuedAtMs: number;
  readonly expiresAtMs: number;
  readonly grantedAtMs: number;
  readonly lease?: GrantLease | undefined;
}

export interface FoundGrant {
  readonly kind: 'found';
  readonly grant: UserGrant;
  /** The record's bytes: what a swap expects to find. */
  readonly bytes: Buffer;
}

export type GrantRead =
  FoundGrant | { readonly kind: 'missing' } | { readonly kind: 'failed'; readonly reason: string };

/** What distinguishes a grant from others. It contains no secret. */
export interface GrantIdentity {
  readonly subject: string;
  readonly origin: string;
  readonly path: string;
  /** The members of the backend's `auth` on which the grant depends. */
  readonly authMembers: readonly (string | false | undefined)[];
}

export function grantKeyOf({ subject, origin, path, authMembers }: GrantIdentity): string {
  return `${grantKeyPrefixOf(subject)}${keyHashOf(['backend', origin, path, ...authMembers.map((member) => member ?? null)])}`;
}

export function grantKeyPrefixOf(subject: string): string {
  return `${GRANT_PREFIX}${keyHashOf(['subject', subject])}/`;
}

/** A hash of the parts, for use in a record's key. */
export function keyHashOf(parts: readonly (string | false | null)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
}

const MISSING: GrantRead = Object.freeze({ kind: 'missing' });

export class UserGrants {
  readonly #store: Pick<Store, 'readRecord' | 'swapRecord'>;
  readonly #keys: SecretKeys;
  readonly #key: SecretKey;
  readonly #openedGrants = new RecentMap<GrantRead & { readonly bytes: Buffer }>(
    GRANTS_CACHED_MAX,
    GRANTS_CACHED_BYTES_MAX,
    // The opened text may need two bytes per character.
    ({ bytes }) => 3 * bytes.length,
  );

  /** The grants in the store; `undefined` without a key. */
  static of(store: Pick<Store, 'readRecord' | 'swapRecord'>, keys: SecretKeys): UserGrants | undefined {
    return keys.sealingKey === undefined ? undefined : new UserGrants(store, keys, keys.sealingKey);
  }

  private constructor(store: Pick<Store, 'readRecord' | 'swapRecord'>, keys: SecretKeys, key: SecretKey) {
    this.#store = store;
    this.#keys = keys;
    this.#key = key;
  }

  /** Reads a grant. Returns the same object while the record is unchanged; a promise only if the store has to be queried. */
  read(key: string): GrantRead | Promise<GrantRead> {
    const read = this.#store.readRecord(key);
    return read instanceof Promise ? read.then((late) => this.#open(key, late)) : this.#open(key, read);
  }

  /** Replaces a grant. @returns what is stored; `undefined` if its record is not `expected` any more. Rejects if the store fails. */
  async replace(key: string, expected: Buffer | undefined, grant: UserGrant): Promise<FoundGrant | undefined> {
    const bytes = sealText(this.#key, key, JSON.stringify(grant));
    if (!(await this.#store.swapRecord(key, expected, bytes))) return undefined;
    const found: FoundGrant = { kind: 'found', grant, bytes };
    this.#openedGrants.set(key, found);
    return found;
  }

  /** Removes a grant whose record is still `expected`. @returns false if the record has changed. */
  async remove(key: string, expected: Buffer): Promise<boolean> {
    return this.#store.swapRecord(key, expected, undefined);
  }

  open(key: string, bytes: Buffer): GrantRead & { readonly bytes: Buffer } {
    const known = this.#openedGrants.get(key);
    if (known !== undefined && (known.bytes === bytes || known.bytes.equals(bytes))) return known;
    const opened = openText(this.#keys, key, bytes);
    // The opened grant is not validated, because only the gateway can have sealed it.
    const read: GrantRead & { readonly bytes: Buffer } =
      opened.kind === 'failed'
        ? { ...opened, bytes }
        : { kind: 'found', grant: JSON.parse(opened.text) as UserGrant, bytes };
    this.#openedGrants.set(key, read);
    return read;
  }

  #open(key: string, read: StoreRead): GrantRead {
    if (read.kind === 'missing') return MISSING;
    return read.kind === 'failed' ? read : this.open(key, read.value);
  }
}
