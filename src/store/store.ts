// What the gateway asks of a key-value store, whichever it is. Keys are subjects (decisions 2.7), values are bytes.

/**
 * The answer to a read. The same `Buffer` object comes back for as long as the value has not changed when the store
 * can tell that cheaply (Redis); callers compare by identity first and by bytes after.
 */
export type StoreRead =
  | { readonly kind: 'found'; readonly value: Buffer }
  | { readonly kind: 'missing' }
  /** The store cannot say: unreachable for longer than the bounded grace, then for all keys; or the key cannot be encoded. */
  | { readonly kind: 'failed'; readonly reason: string; readonly isForAll?: true };

export interface Store {
  readonly kind: 'embedded' | 'redis';
  /**
   * The value under a subject. Hot: answers without a promise when it can (always for the embedded store, on a cache
   * hit for Redis). Never throws or rejects.
   */
  read(subject: string): StoreRead | Promise<StoreRead>;
  /** The same of a record of the gateway's own, by its key; nothing is forgotten of these but what has changed. */
  readRecord(key: string): StoreRead | Promise<StoreRead>;
  /**
   * Changes such a record if it is what was seen, `undefined` for none, and says whether it was; durable when it resolves. Rejects
   * when the store cannot do it, and then it may have been done.
   */
  swapRecord(key: string, expected: Buffer | undefined, value: Buffer | undefined): Promise<boolean>;
  /** Writes a value; resolved when it is durable in the store. Rejects when the store cannot take it. */
  write(subject: string, value: Buffer): Promise<void>;
  /**
   * Forgets what is cached of a subject, so that the next `read` sees what was written before this call, by whichever
   * process.
   */
  forget(subject: string): void;
  close(): Promise<void>;
}
