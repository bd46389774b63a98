// What the control plane asks of a store: to read, and to change several keys at once if and only if nobody else has
// changed them since. It shares the store with the dataplane, which reads user configs through `Store`. Cold.

/**
 * One key of one of two name spaces: the gateway's own records, which no subject can reach, or the user configs by
 * subject.
 */
export interface RecordKey {
  readonly space: 'records' | 'user-configs';
  readonly key: string;
}

export interface RecordChange extends RecordKey {
  /** What must be there now, byte for byte; `undefined`: nothing. */
  readonly expected: Buffer | undefined;
  /** What is there afterwards; `undefined`: nothing. */
  readonly value: Buffer | undefined;
}

export interface StoredRecord {
  readonly key: string;
  readonly value: Buffer;
}

/** Its methods reject with a `RecordStoreFault`. */
export interface RecordStore {
  readonly kind: 'embedded' | 'redis';
  read(key: RecordKey): Promise<Buffer | undefined>;
  /** Records (not user configs) whose key begins with the prefix, as they were at one moment, in no order. */
  list(prefix: string): Promise<StoredRecord[]>;
  /**
   * All or nothing, atomically over processes and machines; durable when it resolves. False, and nothing is changed,
   * when any expectation does not hold. When it rejects, it may have been done.
   */
  swap(changes: readonly RecordChange[]): Promise<boolean>;
  /** Whether the store can be reached. Never rejects. */
  ping(): Promise<boolean>;
  close(): Promise<void>;
}

/** The store cannot be reached, or does not take the command. The message names no secret. */
export class RecordStoreFault extends Error {
  override readonly name = 'RecordStoreFault';
}
