// Limits: user configs, and the stores that hold them.
import { KIB, MIB } from './units.js';

export const storeLimits = {
  /** bytes of one user config → it cannot be decoded: 500 `config-failed` */
  userConfigBytesMax: 4 * MIB,
  /**
   * of these, those that are parsed on the event loop, which takes it 8 ms → a larger one is parsed in a thread, and
   * its first request waits
   */
  userConfigInlineBytesMax: 32 * KIB,
  /**
   * large user configs that wait for that thread, per worker → one more request fails: 500 `config-failed`, and the
   * next asks again
   */
  largeConfigsWaitingMax: 10_000,
  /** how long that thread is kept with nothing to do: configs change seldom → it ends, and is started again */
  configThreadIdleMs: 10_000,
  /** faults of one user config that are told → the others are counted */
  userConfigIssuesMax: 10,
  /** the path that names a member at fault: keys are of any length → the rest is cut off */
  userConfigIssuePathCharsMax: 256,
  /** errors that `config check` and `config put` tell of one user config, and warnings → the others are counted */
  configCheckIssuesMax: 100,
  /** compiled user configs remembered, per worker → the least recently used is dropped, and compiled again */
  userConfigCacheEntriesMax: 50_000,
  /**
   * bytes, as stored, of the user configs behind the compiled ones, per worker → the least recently used are dropped,
   * and compiled again
   */
  userConfigCacheBytesMax: 128 * MIB,
  /** UTF-8 bytes of a subject as a store key: LMDB takes no more → it cannot be encoded: 500 `config-failed` */
  storeKeyBytesMax: 1_978,
  /** reading a whole embedded store at the start, to find damage → it is opened unread */
  storeProbeMsMax: 20_000,
  /**
   * looks whether an embedded store with an empty file is just being made → it is damaged: the program does not start
   */
  emptyStoreLooksMax: 20,
  /** between two such looks → it is looked again */
  emptyStoreLookMs: 50,
  /**
   * readers of an embedded store at once: of every slot a worker and its predecessor → one more cannot read it: 500
   * `config-failed`
   */
  storeReadersMax: 1_024,
  /** values of the store kept, per worker → the least recently used is dropped, and read again */
  storeCacheEntriesMax: 50_000,
  /** bytes of those values, per worker → the least recently used are dropped, and read again */
  storeCacheBytesMax: 128 * MIB,
  /** reads of one worker that wait for Redis at once, one a subject → one more fails: 500 `config-failed` */
  redisReadsInFlightMax: 10_000,
  /**
   * one value that Redis answers with; records of servers with all their tools take a quarter of it → it is passed over as it comes, and
   * cannot be read: 500 `config-failed` where it is a user config
   */
  redisValueBytesMax: 32 * MIB,
  /** reasons why Redis cannot be reached that are told of one outage, each once → others are not told */
  redisReasonsToldMax: 16,
  /** a connection to Redis being made → it is given up and tried again */
  redisConnectMsMax: 5_000,
  /** Redis at work on one command → the connection counts as lost */
  redisCommandMsMax: 2_000,
  /** a connection to Redis being closed → it is cut */
  redisDisconnectMsMax: 200,
  /**
   * between two health checks of Redis: a silent loss is noticed after this and one command → both connections are
   * asked
   */
  redisHealthCheckMs: 3_000,
  /** first wait before a lost Redis is connected to again → it is tried, and the wait doubles */
  redisRetryDelayMsMin: 50,
  /** longest such wait: a Redis that is back is found soon → the wait grows no more */
  redisRetryDelayMsMax: 2_000,
  /**
   * the control plane's embedded store being closed: after a full disk LMDB would wait for ever → the program ends;
   * what was answered is on the disk
   */
  embeddedCloseMsMax: 2_000,
  /** tries to change a record that others keep changing: each lost try is another's success → the change fails */
  recordSwapTriesMax: 64,
  /**
   * records that are listed, or moved from an earlier layout, at once: others have their turn in between → the others
   * follow
   */
  recordsAtOnceMax: 256,
  /** records read with one command: each may be large → the others follow */
  recordsPerReadMax: 32,
  /**
   * entries of the log from which control planes learn what others changed → who has missed more reads everything anew
   */
  recordChangesKept: 4_096,
} as const;
