// The key-value store: reads and lists keys, changes several keys at once if and only if nobody else has changed them since, and reports
// what was changed. The control plane and the commands use it directly; the dataplane's `Store` reads through it, with a cache. The cost of
// each call depends on what is read or changed, never on how much is stored. Cold path.
import { OutsideFault, limits } from '../shared/index.js';
import { encodeStoreKey } from './store.js';

/** Entries of the log from which control planes learn what others changed. One that has missed more reads all records again. */
export const RECORD_CHANGES_KEPT = 4_096;

/** Records read with one command; each may be large. */
export const RECORDS_PER_READ_MAX = 32;

/** Records listed in one step, so that other work gets its turn between steps. */
export const RECORDS_AT_ONCE_MAX = 256;

/** Yields all records with a prefix, in batches. Records that are made or removed meanwhile may or may not be among them. */
export async function* walkRecords(
  records: Pick<RecordStore, 'listKeys' | 'readMany'>,
  prefix: string,
): AsyncGenerator<StoredRecord[]> {
  for (let after = ''; ;) {
    const keys = await records.listKeys(prefix, after, RECORDS_AT_ONCE_MAX);
    const values = await records.readMany(keys);
    const found = keys.map((key, index) => ({ key, value: values[index] }));
    yield found.filter((record): record is StoredRecord => record.value !== undefined);
    if (keys.length < RECORDS_AT_ONCE_MAX) return;
    after = keys.at(-1)!;
  }
}

/**
 * A key in one of three name spaces: `records`, the gateway's own, which no subject can reach; `user-configs`, by subject; and
 * `publications`, by subject: what the gateway knows about each user config.
 */
export interface RecordKey {
  readonly space: 'records' | 'user-configs' | 'publications';
  readonly key: string;
}

export interface RecordChange extends RecordKey {
  /** The value that must be stored before, byte for byte; `undefined` for none. */
  readonly expected: Buffer | undefined;
  /** The value to store; `undefined` removes the key. */
  readonly value: Buffer | undefined;
  /** Only for records: whether the change is entered in the log that `readChanges` reads. */
  readonly isLogged?: boolean;
}

export interface StoredRecord {
  readonly key: string;
  readonly value: Buffer;
}

export interface RecordChanges {
  /** The position to pass to the next `readChanges`. */
  readonly position: string;
  /** Keys of changed records, possibly repeated; `unknown` where any record may have been changed, made or removed. */
  readonly keys: readonly string[] | 'unknown';
}

/** Its methods reject with a `RecordStoreFault`. */
export interface RecordStore {
  readonly kind: 'embedded' | 'redis';
  /** Where the store is, as text for messages: `the embedded store in /data`. */
  readonly place: string;
  read(key: RecordKey): Promise<Buffer | undefined>;
  /** The records under these keys, in their order. */
  readMany(keys: readonly string[]): Promise<(Buffer | undefined)[]>;
  /**
   * Keys of records that begin with the prefix and come after the given key, in byte order.
   * @param prefix with its slash, as in `servers/`.
   * @param after `''` to start at the first.
   */
  listKeys(prefix: string, after: string, countMax: number): Promise<string[]>;
  /** The subjects of all user configs, in batches and in no order; a subject may appear twice if others write meanwhile. */
  subjects(): AsyncIterable<readonly string[]>;
  /**
   * Makes all changes or none, atomically across processes and machines; durable when it resolves. Resolves to false, without a change,
   * when a stored value is not the expected one. When it rejects, the changes may have been made. The changes must all be of records, or
   * all of one subject, since a Redis Cluster keeps only those in one slot.
   */
  swap(changes: readonly RecordChange[]): Promise<boolean>;
  /** The changes logged since a position; `''` for no known position. */
  readChanges(position: string): Promise<RecordChanges>;
  /** Whether the store can be reached. Never rejects. */
  ping(): Promise<boolean>;
  close(): Promise<void>;
}

/** The store cannot be reached, or rejects the command. The message is for an operator and names no secret. */
export class RecordStoreFault extends OutsideFault {
  override readonly name = 'RecordStoreFault';
  /** Whether the store has answered that its user lacks a right. */
  readonly isForbidden: boolean;

  constructor(message: string, { isForbidden = false, ...options }: ErrorOptions & { isForbidden?: boolean } = {}) {
    super(message, options);
    this.isForbidden = isForbidden;
  }
}

/** A prefix with this byte sorts after every key with the prefix, since the byte never occurs in UTF-8. */
export const AFTER_UTF8 = Buffer.from([0xff]);

/** Throws when the caller breaks the contract of {@link RecordStore.swap}. */
export function assertOneRedisSlot(changes: readonly RecordChange[]): void {
  const slots = new Set(changes.map(({ space, key }) => (space === 'records' ? 'records' : `of ${key}`)));
  if (slots.size > 1) throw new Error('changes of one swap must be all of records, or all of one subject');
}

/** The key in its name space. Throws a `RecordStoreFault` for a subject or record key that cannot be a store key. */
export function encodeRecordKey({ key }: RecordKey): Buffer {
  const bytes = encodeStoreKey(key);
  if (bytes === undefined)
    throw new RecordStoreFault(
      `the key cannot be encoded as a store key: it must have 1 to ${limits.storeKeyBytesMax} bytes of UTF-8`,
    );
  return bytes;
}

/**
 * Attempts to change a record that other writers keep changing; each failed attempt is another writer's success. Beyond that, the change
 * fails.
 */
export const RECORD_SWAP_TRIES_MAX = 64;

/** Repeats an attempt (read, decide, swap) as long as it returns `undefined`: another writer has changed the records first. */
export async function retrySwap<Result>(attempt: () => Promise<Result | undefined>): Promise<Result> {
  for (let tries = 0; tries < RECORD_SWAP_TRIES_MAX; tries++) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new RecordStoreFault('other processes keep changing the same records: try again');
}
