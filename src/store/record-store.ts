// The key-value store: to read, to list, to change several keys at once if and only if nobody else has changed them since, and to learn
// what was changed. The control plane and the commands use it as it is; the dataplane's `Store` reads through it, with a cache. The cost of
// each call depends on what is asked for, never on how much is stored. Cold path.
import { OutsideFault, limits } from '../shared/index.js';
import { encodeStoreKey } from './store.js';

/** Entries of the log by which control planes learn what others changed. One that missed more reads all records again. */
export const RECORD_CHANGES_KEPT = 4_096;

/** Records read with one command: each may be large. */
export const RECORDS_PER_READ_MAX = 32;

/** Records listed in one step, so that other work gets its turn between two. */
export const RECORDS_AT_ONCE_MAX = 256;

// Iterates over all records with a prefix in batches, so that others get their turn at the store between two reads. Records made or removed
// meanwhile may or may not be included.

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
 * A key in one of three name spaces: the gateway's own records, which no subject can reach; the user configs, by subject; and what the
 * gateway knows about each user config (publications), also by subject.
 */
export interface RecordKey {
  readonly space: 'records' | 'user-configs' | 'publications';
  readonly key: string;
}

export interface RecordChange extends RecordKey {
  /** The value that must be stored now, byte for byte; `undefined`: none. */
  readonly expected: Buffer | undefined;
  /** The value stored afterwards; `undefined`: none. */
  readonly value: Buffer | undefined;
  /** Only for records: whether the change is entered in the log that `readChanges` reads. */
  readonly isTold?: boolean;
}

export interface StoredRecord {
  readonly key: string;
  readonly value: Buffer;
}

export interface RecordChanges {
  /** The position to pass to the next `readChanges`. */
  readonly position: string;
  /** Keys of changed records, possibly repeated; `unknown`: any record may have been changed, made or removed. */
  readonly keys: readonly string[] | 'unknown';
}

/** Its methods reject with a `RecordStoreFault`. */
export interface RecordStore {
  readonly kind: 'embedded' | 'redis';
  /** The location of the store, for a person. */
  readonly place: string;
  read(key: RecordKey): Promise<Buffer | undefined>;
  /** The records under these keys, in their order. */
  readMany(keys: readonly string[]): Promise<(Buffer | undefined)[]>;
  /**
   * Keys of records that begin with the prefix and come after the given key, in byte order.
   * @param prefix with its slash, as in `servers/`.
   * @param after `''` starts at the first.
   */
  listKeys(prefix: string, after: string, countMax: number): Promise<string[]>;
  /** The subjects of all user configs, in batches, in no order; a subject may appear twice when others write meanwhile. */
  subjects(): AsyncIterable<readonly string[]>;
  /**
   * All or nothing, atomic across processes and machines; durable when it resolves. Resolves to false, without a change, when any
   * expectation does not hold. When it rejects, the changes may have been made. The changes must all be of records, or all of one subject:
   * a Redis Cluster keeps only those in one slot.
   */
  swap(changes: readonly RecordChange[]): Promise<boolean>;
  /** Changes logged since the position; `''` stands for no known position. */
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

/** Appended to a prefix, sorts after every key with that prefix: this byte never occurs in UTF-8. */
export const AFTER_UTF8 = Buffer.from([0xff]);

/** Throws when the caller breaks the contract of {@link RecordStore.swap}. */
export function assertOneRedisSlot(changes: readonly RecordChange[]): void {
  const places = new Set(changes.map(({ space, key }) => (space === 'records' ? 'records' : `of ${key}`)));
  if (places.size > 1) throw new Error('changes of one swap must be all of records, or all of one subject');
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

/** Repeats an attempt (read, decide, swap) while it returns `undefined`, which says that another writer changed the records first. */
export async function retrySwap<Result>(attempt: () => Promise<Result | undefined>): Promise<Result> {
  for (let tries = 0; tries < RECORD_SWAP_TRIES_MAX; tries++) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new RecordStoreFault('other processes keep changing the same records: try again');
}
