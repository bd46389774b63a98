// Limits: user configs, and the stores that hold them.
import { KIB, MIB } from './units.js';

export const storeLimits = {
  /** bytes of one user config → it is not decoded: 500 `config-failed` */
  userConfigBytesMax: 4 * MIB,
  /** a user config that is parsed on the event loop, in up to 8 ms → a larger one is parsed in a thread, and its first request waits */
  userConfigInlineBytesMax: 32 * KIB,
  /** path of a faulty member in a report; keys may be of any length → the rest is cut off */
  userConfigIssuePathCharsMax: 256,
  /**
   * bytes, as stored, of the user configs whose compiled form is cached, per worker → the least recently used are dropped, and compiled
   * again when needed
   */
  userConfigCacheBytesMax: 128 * MIB,
  /** a subject in UTF-8, as a store key; LMDB takes no longer one → it cannot be looked up: 500 `config-failed` */
  storeKeyBytesMax: 1_978,
  /** readers of an embedded store at once: for each slot a worker and its predecessor → one more cannot read it: 500 `config-failed` */
  storeReadersMax: 1_024,
  /**
   * cached values of the store, per worker: of user configs, and as many of records → the least recently used is dropped, and read again
   * when needed
   */
  storeCacheEntriesMax: 50_000,
  /**
   * bytes of the cached values of the store, per worker: of user configs, and as many of records → the least recently used are dropped,
   * and read again when needed
   */
  storeCacheBytesMax: 128 * MIB,
  /**
   * one value read from Redis; the record of a server with all its tools needs up to a quarter of this → it is not kept, and counts as
   * unreadable: 500 `config-failed` for a user config
   */
  redisValueBytesMax: 32 * MIB,
  /** time to connect to Redis → the attempt is given up, and another one follows */
  redisConnectMsMax: 5_000,
  /** time for Redis to answer one command → the connection counts as lost */
  redisCommandMsMax: 2_000,
  /** first wait before reconnecting to a lost Redis → a connection is tried, and the wait doubles */
  redisRetryDelayMsMin: 50,
  /** longest wait before reconnecting to Redis; short, so that a Redis that is back is found soon → the wait grows no further */
  redisRetryDelayMsMax: 2_000,
  /**
   * time for the control plane to close its embedded store; after a full disk LMDB would wait for ever → the program ends; acknowledged
   * writes are on the disk
   */
  embeddedCloseMsMax: 2_000,
  /** records listed in one step, so that other work gets its turn → the rest follow in further steps */
  recordsAtOnceMax: 256,
  /** records read with one command; each may be large → the rest follow in further commands */
  recordsPerReadMax: 32,
  /**
   * entries of the change log by which control planes learn what others changed → a control plane that missed more reads all records again
   */
  recordChangesKept: 4_096,
} as const;
