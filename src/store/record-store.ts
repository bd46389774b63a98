// The key-value store: changes several keys at once if no other process has changed them since they were read, and reports changed keys.
// The control plane and the commands use it directly, the dataplane through a `Store`, with a cache. The cost of a call never depends on
// how much is stored. Cold path.
import { OutsideFault, limits } from '../shared/index.js';
import { encodeStoreKey } from './store.js';

/** How many changes the log of changes keeps. A control plane that has missed more reads all records again. */
export const RECORD_CHANGES_KEPT = 4_096;

/** The most records that are read at once: each may be large. */
export const RECORDS_PER_READ_MAX = 32;

/** The most keys that are listed at once. Other work can be done before the next keys are listed. */
export const RECORDS_AT_ONCE_MAX = 256;

/** Yields all records with a prefix, in batches. A record that is made or removed meanwhile may be left out or included. */
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
 * A key, and its name space. `records` has the gateway's own records, which no subject can reach. The others have a key for each subject:
 * `user-configs` its user config, `publications` what the control plane has published into that config.
 */
export interface RecordKey {
  readonly space: 'records' | 'user-configs' | 'publications';
  readonly key: string;
}

export interface RecordChange extends RecordKey {
  /** The value that must be stored before the change, byte for byte; `undefined` for none. */
  readonly expected: Buffer | undefined;
  /** The value to store; `undefined` removes the key. */
  readonly value: Buffer | undefined;
  /** Whether `readChanges` reports the change; only for records. */
  readonly isLogged?: boolean;
}

export interface StoredRecord {
  readonly key: string;
  readonly value: Buffer;
}

export interface RecordChanges {
  /** The position to give to the next `readChanges`. */
  readonly position: string;
  /** The keys of the changed records, some perhaps twice; `unknown` if any record may have been changed. */
  readonly keys: readonly string[] | 'unknown';
}

/** A store of values by key, shared by all processes. Its methods reject with a `RecordStoreFault`. */
export interface RecordStore {
  readonly kind: 'embedded' | 'redis';
  /** Where the store is, for messages: `the embedded store in /data`. */
  readonly location: string;
  read(key: RecordKey): Promise<Buffer | undefined>;
  readMany(keys: readonly string[]): Promise<(Buffer | undefined)[]>;
  /**
   * Lists keys of records that begin with the prefix, such as `servers/`, and come after the given key, in byte order.
   * @param after `''` to start at the first.
   */
  listKeys(prefix: string, after: string, countMax: number): Promise<string[]>;
  /** The subjects of all user configs, in batches and in no order; some may appear twice. */
  subjects(): AsyncIterable<readonly string[]>;
  /**
   * Makes all changes or none, atomically across machines; durable when it resolves. Resolves to false, without a change, when a stored
   * value is not the expected one. When it rejects, the changes may have been made. All keys must be in the space `records`, or be of one
   * subject, since a Redis Cluster can change only such keys together.
   */
  swap(changes: readonly RecordChange[]): Promise<boolean>;
  /** Reads what was changed since a position. @param position from the previous answer; `''` the first time. */
  readChanges(position: string): Promise<RecordChanges>;
  /** Whether the store responds. Never rejects. */
  ping(): Promise<boolean>;
  close(): Promise<void>;
}

/** A failure of the store. The message is for an operator and contains no secret. */
export class RecordStoreFault extends OutsideFault {
  override readonly name = 'RecordStoreFault';
  /** Whether the store has answered that its user lacks a right. */
  readonly isForbidden: boolean;

  constructor(message: string, { isForbidden = false, ...options }: ErrorOptions & { isForbidden?: boolean } = {}) {
    super(message, options);
    this.isForbidden = isForbidden;
  }
}

/** A byte above all bytes of UTF-8: a prefix and this byte sort after every key with the prefix. */
export const AFTER_UTF8 = Buffer.from([0xff]);

/** Throws unless all changes are of records, or all of one subject, as `swap` requires. */
export function assertOneRedisSlot(changes: readonly RecordChange[]): void {
  const slots = new Set(changes.map(({ space, key }) => (space === 'records' ? 'records' : `of ${key}`)));
  if (slots.size > 1) throw new Error('changes of one swap must be all of records, or all of one subject');
}

/** The key in bytes. Throws a `RecordStoreFault` for a text that cannot be a store key. */
export function encodeRecordKey({ key }: RecordKey): Buffer {
  const bytes = encodeStoreKey(key);
  if (bytes === undefined)
    throw new RecordStoreFault(
      `the key cannot be encoded as a store key: it must have 1 to ${limits.storeKeyBytesMax} bytes of UTF-8`,
    );
  return bytes;
}

/** How often a swap is tried. Each attempt that fails means that another writer has succeeded. */
export const RECORD_SWAP_TRIES_MAX = 64;

/** Repeats `attempt` (read, decide, swap) while it resolves with `undefined`, as another writer was faster. Throws a `RecordStoreFault`. */
export async function retrySwap<Result>(attempt: () => Promise<Result | undefined>): Promise<Result> {
  for (let tries = 0; tries < RECORD_SWAP_TRIES_MAX; tries++) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new RecordStoreFault('other processes keep changing the same records: try again');
}
