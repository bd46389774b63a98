// Users' grants: their access and refresh tokens for backends, sealed in the store by subject and backend. A grant is opened once,
// and again when the stored bytes change. Warm path: two map look-ups for backends that need a grant.
import { createHash } from 'node:crypto';
import { RecentMap, MIB } from '../../shared/index.js';
import type { Store, StoreRead } from '../../store/index.js';
import { type SecretKey, type SecretKeys, openText, sealText } from './secret-keys.js';

/** Users' grants that a process caches. Beyond that, the others are read and unsealed again when needed. */
export const GRANTS_KNOWN_MAX = 8_192;

/** Bytes of the users' grants that a process caches. Beyond that, the others are read and unsealed again when needed. */
const GRANTS_KNOWN_BYTES_MAX = 32 * MIB;

/** Prefix of the keys of all grants in the store. */
export const GRANT_PREFIX = 'grants/';
/** Prefix of the keys of all clients that the gateway has registered itself. */
export const CLIENT_PREFIX = 'clients/';

/** How the client authenticates to the token endpoint; `none`: it has no secret. */
export type ClientAuthentication = 'basic' | 'post' | 'none';

/** The gateway as a client of an authorization server. */
export interface GrantClient {
  readonly id: string;
  /** The client's secret, if the gateway registered the client itself; any other client's secret is where the backend's `auth` says. */
  readonly secret?: string | undefined;
  /** Where that other secret is, for a revocation, which has no `auth` of a backend. */
  readonly reference?: { readonly file: string } | { readonly secret: string } | undefined;
  readonly authentication: ClientAuthentication;
}

/** One process's right to renew the grant. */
interface GrantLease {
  /** The process's own id. */
  readonly by: string;
  readonly untilMs: number;
}

/** Times are wall clock, ms: several machines share them. */
export interface UserGrant {
  readonly subject: string;
  /** The backend's name when it was granted, for people. */
  readonly backendName: string;
  /** Origin and path. */
  readonly backendUrl: string;
  readonly issuer: string;
  readonly tokenEndpoint: string;
  /** `undefined` if the authorization server names no such endpoint. */
  readonly revocationEndpoint?: string | undefined;
  readonly client: GrantClient;
  /** `''` if none was asked for. */
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
  /** The grant as stored, for the swap that changes it. */
  readonly bytes: Buffer;
}

export type GrantRead =
  FoundGrant | { readonly kind: 'missing' } | { readonly kind: 'failed'; readonly reason: string };

/** What identifies a grant: its subject, its backend, and what the backend's `auth` asks for. Contains no secret. */
export interface GrantIdentity {
  readonly subject: string;
  readonly origin: string;
  readonly path: string;
  /** Members of the backend's `auth`. */
  readonly asked: readonly (string | false | undefined)[];
}

export function grantKeyOf({ subject, origin, path, asked }: GrantIdentity): string {
  return `${grantsOf(subject)}${keyHashOf(['backend', origin, path, ...asked.map((member) => member ?? null)])}`;
}

/** Prefix of the keys of all grants of a subject. */
export function grantsOf(subject: string): string {
  return `${GRANT_PREFIX}${keyHashOf(['subject', subject])}/`;
}

/** A hash for use in a record's key. */
export function keyHashOf(parts: readonly (string | false | null)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
}

const MISSING: GrantRead = Object.freeze({ kind: 'missing' });

export class UserGrants {
  readonly #store: Pick<Store, 'readRecord' | 'swapRecord'>;
  readonly #keys: SecretKeys;
  readonly #key: SecretKey;
  readonly #opened = new RecentMap<GrantRead & { readonly bytes: Buffer }>(
    GRANTS_KNOWN_MAX,
    GRANTS_KNOWN_BYTES_MAX,
    // Besides the bytes, there is the opened text, with up to two bytes per character.
    ({ bytes }) => 3 * bytes.length,
  );

  /** @returns `undefined` without a key: nothing could be sealed. */
  static of(store: Pick<Store, 'readRecord' | 'swapRecord'>, keys: SecretKeys): UserGrants | undefined {
    return keys.first === undefined ? undefined : new UserGrants(store, keys, keys.first);
  }

  private constructor(store: Pick<Store, 'readRecord' | 'swapRecord'>, keys: SecretKeys, key: SecretKey) {
    this.#store = store;
    this.#keys = keys;
    this.#key = key;
  }

  /** Returns the same object while the record is unchanged; a promise only if the store has to be queried. */
  read(key: string): GrantRead | Promise<GrantRead> {
    const read = this.#store.readRecord(key);
    return read instanceof Promise ? read.then((late) => this.#open(key, late)) : this.#open(key, read);
  }

  /**
   * Stores a grant in place of what was read, which may be nothing. Rejects if the store fails.
   * @returns what is stored now; `undefined` if the record has changed meanwhile: then nothing is done.
   */
  async replace(key: string, seen: Buffer | undefined, grant: UserGrant): Promise<FoundGrant | undefined> {
    const bytes = sealText(this.#key, key, JSON.stringify(grant));
    if (!(await this.#store.swapRecord(key, seen, bytes))) return undefined;
    const found: FoundGrant = { kind: 'found', grant, bytes };
    this.#opened.set(key, found);
    return found;
  }

  /** @returns false if the record has changed meanwhile: then nothing is done. */
  async remove(key: string, seen: Buffer): Promise<boolean> {
    return this.#store.swapRecord(key, seen, undefined);
  }

  /** @param bytes as stored. */
  open(key: string, bytes: Buffer): GrantRead & { readonly bytes: Buffer } {
    const known = this.#opened.get(key);
    if (known !== undefined && (known.bytes === bytes || known.bytes.equals(bytes))) return known;
    const opened = openText(this.#keys, key, bytes);
    // Not validated: only the gateway can have sealed it.
    const read: GrantRead & { readonly bytes: Buffer } =
      opened.kind === 'failed'
        ? { ...opened, bytes }
        : { kind: 'found', grant: JSON.parse(opened.text) as UserGrant, bytes };
    this.#opened.set(key, read);
    return read;
  }

  #open(key: string, read: StoreRead): GrantRead {
    if (read.kind === 'missing') return MISSING;
    return read.kind === 'failed' ? read : this.open(key, read.value);
  }
}
