// What the dataplane needs from any key-value store. Keys are subjects (specification 2.7), values are bytes.
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

/** The result of reading a subject that has no valid key. */
export const unencodable: StoreRead = Object.freeze({
  kind: 'failed',
  reason: 'the subject cannot be encoded as a store key',
});

/**
 * The key of a subject: exactly its UTF-8 bytes (specification 2.7). Byte 0xFF never occurs in UTF-8, so no subject can reach the gateway's own
 * keys, which begin with it. @returns `undefined` for a subject that is empty, is too long, or contains a lone surrogate.
 */
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
  /** The value is unknown. `isForAll` when that concerns all keys, because the store cannot be reached. */
  | { readonly kind: 'failed'; readonly reason: string; readonly isForAll?: true };

/** A value that may be out of date: when it was read, and until when it is used; both in ISO 8601. */
export interface Kept {
  readonly readAt: string;
  readonly usedUntil: string;
}

/**
 * Called when the store becomes readable or unreadable.
 * @param obstacle why nothing can be read; `''` when reads succeed.
 * @param staleness why what is read may be out of date, and until when it is served.
 */
export type StoreObstacleListener = (obstacle: string, staleness?: string) => void;

export interface Store {
  readonly kind: 'embedded' | 'redis';
  /**
   * The value under a subject. Hot path: returns without a promise when it can (the embedded store always, Redis on a cache hit). Never
   * throws or rejects.
   */
  read(subject: string): StoreRead | Promise<StoreRead>;
  /** @returns `undefined` when what `read` returns is up to date, as it always is where this method is absent. */
  kept?(subject: string): Kept | undefined;
  /** Like `read`, for one of the gateway's own records, by its key. A change drops the cached value. */
  readRecord(key: string): StoreRead | Promise<StoreRead>;
  /**
   * Changes one of the gateway's own records if its value is the expected one; `undefined` for none. Resolves to whether it was; durable
   * then. Rejects when the store fails; the change may then have been made.
   */
  swapRecord(key: string, expected: Buffer | undefined, value: Buffer | undefined): Promise<boolean>;
  /** Writes a value; resolves when it is durable in the store. Rejects when the store cannot take it. */
  write(subject: string, value: Buffer): Promise<void>;
  /** Drops the cached value of a subject, so that the next `read` sees everything written before this call, by any process. */
  forget(subject: string): void;
  close(): Promise<void>;
}
