// Limits: what is remembered of tokens.
import { KIB, MIB } from './units.js';

export const tokenLimits = {
  /**
   * verified tokens remembered, per worker → the least recently used is dropped, and verified again when it comes back
   */
  tokenCacheEntriesMax: 50_000,
  /** bytes of those tokens, per worker → the least recently used are dropped, and verified again */
  tokenCacheBytesMax: 64 * MIB,
  /**
   * an `authorization` header that is remembered: the cache's memory is bounded by it and the count → it is verified
   * each time
   */
  tokenCacheKeyCharsMax: 8 * KIB,
  /**
   * verifications under way that later requests with the same token may join → further tokens are each verified by
   * themselves
   */
  tokenVerificationsSharedMax: 10_000,
} as const;
