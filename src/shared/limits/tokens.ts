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
  /** an issuer's answers about its keys, and where they are → it is tried again */
  keyFetchMsMax: 5_000,
  /** between two fetches of an issuer's keys that are well → they are fetched again, and a key that is gone verifies no more */
  keyRefreshMs: 600_000,
  /** from a fetch to one that a token with an unknown key brings about → such tokens are refused until then */
  keyFetchCooldownMs: 30_000,
  /** from a fetch that failed to the next, at first; then twice as long each time, up to `keyFetchCooldownMs` → it is tried again */
  keyFetchRetryMs: 1_000,
  /** characters of `--token-roles-claim` and `--token-teams-claim` → refused at the start */
  claimPathCharsMax: 256,
  /** texts in a claim of roles or teams → the claim counts for nothing: no role, no team */
  claimValuesMax: 256,
  /** characters of each, and of the team that a server or a composition is said to belong to → the claim counts for nothing; a team is refused */
  claimValueCharsMax: 128,
  /** requests of a process that wait for one fetch → further ones are answered with the keys that are there */
  keyFetchWaitersMax: 1_000,
} as const;
