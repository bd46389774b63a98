// What the gateway needs from any key-value store. Keys are subjects (decisions 2.7), values are bytes.

/**
 * The result of a read. While the value has not changed, the same `Buffer` object is returned if the store can tell that cheaply (Redis);
 * callers compare by identity first, then by bytes.
 */
export type StoreRead =
  | { readonly kind: 'found'; readonly value: Buffer }
  | { readonly kind: 'missing' }
  /** Unknown: the store has been unreachable for longer than the grace, which affects all keys; or the key cannot be encoded. */
  | { readonly kind: 'failed'; readonly reason: string; readonly isForAll?: true };

/** About a value that is served although changes of it go unnoticed now; both in ISO 8601. */
export interface Kept {
  readonly readAt: string;
  readonly usedUntil: string;
}

/**
 * Called when what can be read changes.
 * @param obstacle why nothing can be read any more; `''` when it can.
 * @param staleness why what is read may be out of date, and until when that is served.
 */
export type StoreObstacles = (obstacle: string, staleness?: string) => void;

export interface Store {
  readonly kind: 'embedded' | 'redis';
  /**
   * The value under a subject. Hot path: returns without a promise when it can (the embedded store always, Redis on a cache hit). Never
   * throws or rejects.
   */
  read(subject: string): StoreRead | Promise<StoreRead>;
  /** `undefined`: what `read` gives is no kept value. Without the method, it never is. */
  kept?(subject: string): Kept | undefined;
  /** The same for one of the gateway's own records, by its key. `forget` is not for these: a change drops the cached value. */
  readRecord(key: string): StoreRead | Promise<StoreRead>;
  /**
   * Changes such a record if its value is the expected one (`undefined`: none), and resolves to whether it was; durable when it resolves.
   * Rejects when the store fails, and then the change may have been made.
   */
  swapRecord(key: string, expected: Buffer | undefined, value: Buffer | undefined): Promise<boolean>;
  /** Writes a value; resolves when it is durable in the store. Rejects when the store cannot take it. */
  write(subject: string, value: Buffer): Promise<void>;
  /** Drops the cached value of a subject, so that the next `read` sees everything written before this call, by any process. */
  forget(subject: string): void;
  close(): Promise<void>;
}
