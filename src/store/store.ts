// What the gateway needs from any key-value store. Keys are subjects (decisions 2.7), values are bytes.
import { limits } from '../shared/index.js';

/** How often a store was read, and where the answers came from: plain numbers, always counted. Hot path. */
export class StoreCounts {
  /** Answered from the cache, because the store would have reported a change. */
  remembered = 0;
  /** Read from the store, or answered by a read already in flight. */
  asked = 0;
  /** Answered with the last known value, because the store is lost. */
  stale = 0;
  /** No answer. */
  failed = 0;
  /** Cached values that may have changed; a flush of everything counts as one. */
  invalidations = 0;

  get reads(): Readonly<Record<string, number>> {
    const { remembered, asked, stale, failed } = this;
    return { remembered, asked, stale, failed };
  }
}

// Encodes a subject as its key in the store: exactly its UTF-8 bytes, without a prefix (decisions 2.7). Byte 0xFF never occurs in UTF-8, so
// no subject can reach the gateway's own keys, which begin with it.

/** The result of reading a subject that has no valid key. */
export const unencodable: StoreRead = Object.freeze({
  kind: 'failed',
  reason: 'the subject cannot be encoded as a store key',
});

/** `undefined` for a subject that has no key: it contains a lone surrogate, is empty, or is longer than a key may be. */
export function encodeStoreKey(subject: string): Buffer | undefined {
  if (!subject.isWellFormed()) return undefined;
  const key = Buffer.from(subject, 'utf8');
  return key.length > 0 && key.length <= limits.storeKeyBytesMax ? key : undefined;
}

/**
 * The result of a read. While the value has not changed, the same `Buffer` object is returned if the store can tell that cheaply (Redis);
 * callers compare by identity first, then by bytes.
 */
export type StoreRead =
  | { readonly kind: 'found'; readonly value: Buffer }
  | { readonly kind: 'missing' }
  /** Unknown: the store has been unreachable for longer than the grace, which affects all keys; or the key cannot be encoded. */
  | { readonly kind: 'failed'; readonly reason: string; readonly isForAll?: true };

/** When a value that may be out of date was read, and until when it is used; both in ISO 8601. */
export interface Kept {
  readonly readAt: string;
  readonly usedUntil: string;
}

/**
 * Called when what can be read changes.
 * @param obstacle why nothing can be read any more; `''` when it can.
 * @param staleness why what is read may be out of date, and until when that is served.
 */
export type StoreObstacleListener = (obstacle: string, staleness?: string) => void;

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
