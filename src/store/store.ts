// What the dataplane needs of a key-value store. Keys are subjects (specification 2.7), values are bytes.
import { limits } from '../shared/index.js';

/** How often a store was read, and where the answers came from. Hot path. */
export class StoreCounts {
  /** Reads answered from the cache. */
  remembered = 0;
  /** Reads answered by the store, or by a read of it that was already in flight. */
  asked = 0;
  /** Reads answered with the last known value, while the store is lost. */
  stale = 0;
  failed = 0;
  /** Cached values that may have changed; a flush of all counts as one. */
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
 * The key of a subject: its UTF-8 bytes (specification 2.7). No subject can reach the gateway's own keys, which begin with 0xFF.
 * @returns `undefined` for a subject that is empty, is too long, or contains a lone surrogate.
 */
export function encodeStoreKey(subject: string): Buffer | undefined {
  if (!subject.isWellFormed()) return undefined;
  const key = Buffer.from(subject, 'utf8');
  return key.length > 0 && key.length <= limits.storeKeyBytesMax ? key : undefined;
}

/**
 * The result of a read. If the store can tell cheaply that the value has not changed (Redis), it is the same `Buffer`: callers compare by
 * identity first.
 */
export type StoreRead =
  | { readonly kind: 'found'; readonly value: Buffer }
  | { readonly kind: 'missing' }
  /** The read failed; `isForAll` when no key can be read. */
  | { readonly kind: 'failed'; readonly reason: string; readonly isForAll?: true };

/** How current a value is that may be out of date; both times in ISO 8601. */
export interface Kept {
  readonly readAt: string;
  readonly usedUntil: string;
}

/**
 * Told of obstacles. @param obstacle why nothing can be read; `''` when reads succeed.
 * @param staleness why what is read may be out of date, and until when it is served.
 */
export type StoreObstacleListener = (obstacle: string, staleness?: string) => void;

export interface Store {
  /**
   * Reads a user config, without a promise if possible (embedded store always, Redis on a cache hit). Never throws or rejects. Hot path.
   */
  read(subject: string): StoreRead | Promise<StoreRead>;
  /** How current the user config is. @returns `undefined` when what `read` returns is up to date. */
  kept?(subject: string): Kept | undefined;
  /** Reads one of the gateway's own records, like `read`. */
  readRecord(key: string): StoreRead | Promise<StoreRead>;
  /**
   * Changes one of the gateway's own records if its value is the expected one, and resolves to whether it was. When it rejects, the
   * change may have been made.
   */
  swapRecord(key: string, expected: Buffer | undefined, value: Buffer | undefined): Promise<boolean>;
  /** Writes a user config, which is durable when this resolves. */
  write(subject: string, value: Buffer): Promise<void>;
  /** Makes the next `read` see everything written before this call, by any process. */
  forget(subject: string): void;
  close(): Promise<void>;
}
