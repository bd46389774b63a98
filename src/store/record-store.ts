// What the control plane asks of a store: to read, to change several keys at once if and only if nobody else has changed
// them since, and to be told what was changed. It shares the store with the dataplane, which reads user configs through
// `Store`. Nothing that is asked here grows with what is stored, but with what is asked for. Cold.

/**
 * One key of one of three name spaces: the gateway's own records, which no subject can reach; the user configs by
 * subject; and what the gateway knows of each user config, by subject, too.
 */
export interface RecordKey {
  readonly space: 'records' | 'user-configs' | 'publications';
  readonly key: string;
}

export interface RecordChange extends RecordKey {
  /** What must be there now, byte for byte; `undefined`: nothing. */
  readonly expected: Buffer | undefined;
  /** What is there afterwards; `undefined`: nothing. */
  readonly value: Buffer | undefined;
  /** Of a record: whoever follows the changes is to hear of it. */
  readonly isTold?: boolean;
}

export interface StoredRecord {
  readonly key: string;
  readonly value: Buffer;
}

export interface RecordChanges {
  /** To be asked from the next time. */
  readonly position: string;
  /** Keys of records, some of them more than once; `unknown`: any record may have been changed, made or removed. */
  readonly keys: readonly string[] | 'unknown';
}

/** Its methods reject with a `RecordStoreFault`. */
export interface RecordStore {
  readonly kind: 'embedded' | 'redis';
  read(key: RecordKey): Promise<Buffer | undefined>;
  /** The records under these keys, in their order. */
  readMany(keys: readonly string[]): Promise<(Buffer | undefined)[]>;
  /**
   * Keys of records that begin with the prefix and come after the key given, in the order of their bytes.
   * @param prefix with its slash, as in `servers/`.
   * @param after `''`: from the first.
   */
  listKeys(prefix: string, after: string, countMax: number): Promise<string[]>;
  /**
   * All or nothing, atomically over processes and machines; durable when it resolves. False, and nothing is changed,
   * when any expectation does not hold. When it rejects, it may have been done. The changes are all of records, or all
   * of one subject: a cluster keeps nothing else in one place.
   */
  swap(changes: readonly RecordChange[]): Promise<boolean>;
  /** What was told since the position; `''` is nowhere. */
  readChanges(position: string): Promise<RecordChanges>;
  /** Whether the store can be reached. Never rejects. */
  ping(): Promise<boolean>;
  close(): Promise<void>;
}

/** The store cannot be reached, or does not take the command. The message names no secret. */
export class RecordStoreFault extends Error {
  override readonly name = 'RecordStoreFault';
}

/** A broken promise of the caller's: see {@link RecordStore.swap}. */
export function assertOnePlace(changes: readonly RecordChange[]): void {
  const places = new Set(changes.map(({ space, key }) => (space === 'records' ? 'records' : `of ${key}`)));
  if (places.size > 1) throw new Error('changes of one swap must be all of records, or all of one subject');
}
