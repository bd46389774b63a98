// Limits: user configs, and the stores that hold them.
import { KIB, MIB } from './units.js';

export const storeLimits = {
  /** bytes of one user config → it is not decoded: 500 `config-failed` */
  userConfigBytesMax: 4 * MIB,
  /** a user config that is parsed on the event loop, in up to 8 ms → a larger one is parsed in a thread, and its first request waits */
  userConfigInlineBytesMax: 32 * KIB,
  /**
   * large user configs that wait for the config thread, per worker → one more request fails: 500 `config-failed`; the next request tries
   * again
   */
  largeConfigsWaitingMax: 10_000,
  /** time that the idle config thread is kept; configs change seldom → it ends, and is started again when needed */
  configThreadIdleMs: 10_000,
  /** faults of one user config that are reported → the others are only counted */
  userConfigIssuesMax: 10,
  /** path of a faulty member in a report; keys may be of any length → the rest is cut off */
  userConfigIssuePathCharsMax: 256,
  /** errors, and warnings, that `config check` and `config put` report for one user config → the others are only counted */
  configCheckIssuesMax: 100,
  /** compiled user configs that are cached, per worker → the least recently used is dropped, and compiled again when needed */
  userConfigCacheEntriesMax: 50_000,
  /**
   * bytes, as stored, of the user configs whose compiled form is cached, per worker → the least recently used are dropped, and compiled
   * again when needed
   */
  userConfigCacheBytesMax: 128 * MIB,
  /** a subject in UTF-8, as a store key; LMDB takes no longer one → it cannot be looked up: 500 `config-failed` */
  storeKeyBytesMax: 1_978,
  /** time at start-up to read a whole embedded store in search of damage → the store is opened without the rest being checked */
  storeProbeMsMax: 20_000,
  /** checks whether an embedded store with an empty file is just being created → it counts as damaged, and the program does not start */
  emptyStoreLooksMax: 20,
  /** interval between checks of an embedded store with an empty file → it is checked again */
  emptyStoreLookMs: 50,
  /** readers of an embedded store at once: for each slot a worker and its predecessor → one more cannot read it: 500 `config-failed` */
  storeReadersMax: 1_024,
  /** cached values of the store, per worker → the least recently used is dropped, and read again when needed */
  storeCacheEntriesMax: 50_000,
  /** bytes of the cached values of the store, per worker → the least recently used are dropped, and read again when needed */
  storeCacheBytesMax: 128 * MIB,
  /** reads of one worker that wait for Redis at once, one per subject → one more fails: 500 `config-failed` */
  redisReadsInFlightMax: 10_000,
  /**
   * one value read from Redis; the record of a server with all its tools needs up to a quarter of this → it is skipped while it arrives and
   * counts as unreadable: 500 `config-failed` for a user config
   */
  redisValueBytesMax: 32 * MIB,
  /** different reasons logged for one outage of Redis → further reasons are not logged */
  redisReasonsToldMax: 16,
  /** time to connect to Redis → the attempt is given up, and another one follows */
  redisConnectMsMax: 5_000,
  /** time for a TLS handshake with Redis → the same address is asked whether it speaks plain text, and the handshake goes on */
  redisHandshakeMsMax: 250,
  /** time for Redis to answer one command → the connection counts as lost */
  redisCommandMsMax: 2_000,
  /** time for a connection to Redis to close → it is cut */
  redisDisconnectMsMax: 200,
  /** interval between health checks of Redis; a silent loss is noticed after this and one command timeout → both connections are checked */
  redisHealthCheckMs: 3_000,
  /** first wait before reconnecting to a lost Redis → a connection is tried, and the wait doubles */
  redisRetryDelayMsMin: 50,
  /** longest wait before reconnecting to Redis; short, so that a Redis that is back is found soon → the wait grows no further */
  redisRetryDelayMsMax: 2_000,
  /**
   * time for the control plane to close its embedded store; after a full disk LMDB would wait for ever → the program ends; acknowledged
   * writes are on the disk
   */
  embeddedCloseMsMax: 2_000,
  /** attempts to change a record that other writers keep changing; each failed attempt is another writer's success → the change fails */
  recordSwapTriesMax: 64,
  /**
   * records listed, or converted from an earlier layout, in one step, so that other work gets its turn → the rest follow in further steps
   */
  recordsAtOnceMax: 256,
  /** records read with one command; each may be large → the rest follow in further commands */
  recordsPerReadMax: 32,
  /**
   * entries of the change log by which control planes learn what others changed → a control plane that missed more reads all records again
   */
  recordChangesKept: 4_096,
  /**
   * items of arrays that a Redis has announced and not sent yet, all arrays together; the longest replies are pages of keys, and all slots
   * of a cluster → the connection is closed, and opened again
   */
  redisItemsDueMax: 1_000_000,
} as const;
