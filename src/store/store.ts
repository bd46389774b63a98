// The key-value store as the dataplane uses it: user configs by subject (specification 2.7), and the gateway's own records.
import { limits } from '../shared/index.js';

/** How often a store was read, and where the answers came from. Hot path. */
export class StoreCounts {
  /** Reads answered from the cache. */
  remembered = 0;
  /** Reads answered by the store, or by a read of it that was already in flight. */
  asked = 0;
  /** Reads answered with the last known value, while Redis is lost. */
  stale = 0;
  failed = 0;
  /** Cached values that may have changed, as reported by Redis; a flush of all values counts as one. */
  invalidations = 0;

  get reads(): Readonly<Record<string, number>> {
    const { remembered, asked, stale, failed } = this;
    return { remembered, asked, stale, failed };
  }
}

export const missing: StoreRead = Object.freeze({ kind: 'missing' });

export const unencodable: StoreRead = Object.freeze({
  kind: 'failed',
  reason: 'the subject cannot be encoded as a store key',
});

/**
 * The key of a subject or record: its UTF-8 bytes (specification 2.7). In Redis, no subject can reach the gateway's own keys, which begin
 * with 0xFF. @returns `undefined` for a text that is empty, is too long, or contains a lone surrogate.
 */
export function encodeStoreKey(subject: string): Buffer | undefined {
  if (!subject.isWellFormed()) return undefined;
  const key = Buffer.from(subject, 'utf8');
  return key.length > 0 && key.length <= limits.storeKeyBytesMax ? key : undefined;
}

/**
 * The result of a read. While a value is cached and has not changed, each read returns the same `Buffer`: callers compare by identity
 * first.
 */
export type StoreRead =
  | { readonly kind: 'found'; readonly value: Buffer }
  | { readonly kind: 'missing' }
  /** The read failed; `isForAll` if reads of other keys would fail, too. */
  | { readonly kind: 'failed'; readonly reason: string; readonly isForAll?: true };

/** When a value that may be out of date was read, and until when it is used; both in ISO 8601. */
export interface KeptTimes {
  readonly readAt: string;
  readonly usedUntil: string;
}

/**
 * Called when reads begin or cease to succeed. @param obstacle why nothing can be read; `''` when reads succeed.
 * @param staleness why the values that are read may be out of date, and until when they are served.
 */
export type StoreObstacleListener = (obstacle: string, staleness?: string) => void;

export interface Store {
  /**
   * Reads a user config, without a promise if possible (embedded store always, Redis on a cache hit). Never throws or rejects. Hot path.
   */
  read(subject: string): StoreRead | Promise<StoreRead>;
  /** The times of a user config that `read` returns from the cache while Redis is lost; `undefined` if it returns none of this kind. */
  kept?(subject: string): KeptTimes | undefined;
  /** Reads one of the gateway's own records, like `read`. */
  readRecord(key: string): StoreRead | Promise<StoreRead>;
  /**
   * Changes one of the gateway's own records, if its value is the expected one. @returns whether it was changed. When this rejects, the
   * change may have been made.
   */
  swapRecord(key: string, expected: Buffer | undefined, value: Buffer | undefined): Promise<boolean>;
  /** Writes a user config, which is durable when this resolves. */
  write(subject: string, value: Buffer): Promise<void>;
  /** Makes the next `read` see everything written before this call, by any process. */
  forget(subject: string): void;
  close(): Promise<void>;
}
