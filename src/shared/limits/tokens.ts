// Limits: tokens, and the keys that verify them.
import { KIB, MIB } from './units.js';

export const tokenLimits = {
  /** verified tokens that are cached, per worker → the least recently used is dropped, and verified again when it is next used */
  tokenCacheEntriesMax: 50_000,
  /** bytes of the cached tokens, per worker → the least recently used are dropped, and verified again when next used */
  tokenCacheBytesMax: 64 * MIB,
  /**
   * an `authorization` header that is cached; this times the number of entries bounds the cache's memory → the token is verified on each
   * request
   */
  tokenCacheKeyCharsMax: 8 * KIB,
  /** verifications in progress that later requests with the same token can join → further tokens are verified once per request */
  tokenVerificationsSharedMax: 10_000,
  /**
   * keys of one file or issuer; a token that names no key is tried with each key of its algorithm → a file is refused; for an issuer the
   * last good keys stay in use
   */
  verificationKeysMax: 64,
  /** a key file, or an issuer's response with its keys → a file is refused; for an issuer the last good keys stay in use */
  keySetBytesMax: 256 * KIB,
  /** `kid` of a key in a key set → in a file the key is refused; from an issuer it is not used */
  keyIdCharsMax: 256,
  /**
   * interval between fetches of an issuer's keys while all is well → the keys are fetched again; a key that is gone no longer verifies
   * tokens
   */
  keyRefreshMs: 600_000,
  /** pause after a fetch before a token with an unknown key triggers another one → such tokens are refused until then */
  keyFetchCooldownMs: 30_000,
  /** first pause after a failed fetch; it doubles with each failure, up to `keyFetchCooldownMs` → the fetch is retried */
  keyFetchRetryMs: 1_000,
  /** characters of `--token-roles-claim` and `--token-teams-claim` → refused at the start */
  claimPathCharsMax: 256,
  /** one value of such a claim, or the team given for a server or a composition → the claim is ignored; the team is refused */
  claimValueCharsMax: 128,
  /** requests of a process that wait for one key fetch → further ones are judged by the keys already known */
  keyFetchWaitersMax: 1_000,
} as const;
