// Limits: tokens, and the keys that verify them.
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
  /**
   * keys of one file or issuer, as a token that names none is tried with each of its algorithm → a file is refused, an
   * issuer's last good keys stay
   */
  verificationKeysMax: 64,
  /** a file of keys, and an issuer's answer → a file is refused, an issuer's last good keys stay */
  keySetBytesMax: 256 * KIB,
  /** the `kid` of a key in a set → such a key is not used, in a file it is refused */
  keyIdCharsMax: 256,
  /** between two looks whether a file of keys has changed → a file that looks the same twice is read */
  keyFileCheckMs: 1_000,
} as const;
