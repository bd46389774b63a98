// The store in Redis, with a cache of read values. Hot path.
// A connected period lasts while the link is live; Redis reports every change in it. A value that was read in the current period is
// returned at once; any other is read again. While the link is lost, a cached value is served until its period has ended for the grace.
import { ReplyError } from 'ioredis';
import { limits, type Logger, RecentMap } from '../shared/index.js';
import { encodeRecordKey } from './record-store.js';
import { UNEXPECTED_REPLY, safeMessage, type RedisStoreOptions } from './redis-connection.js';
import { readValue } from './redis-link.js';
import { RedisRecords, recordKeyAt, redisRecordKey } from './redis-records.js';
import { ReconnectingLink } from './redis-reconnecting-link.js';
import {
  StoreCounts,
  type KeptTimes,
  type Store,
  type StoreObstacleListener,
  type StoreRead,
  encodeStoreKey,
  missing,
  unencodable,
} from './store.js';

/** A period in which every change was reported. */
interface ConnectedPeriod {
  /** When the period ended, by `performance.now()`; `undefined` while it lasts. */
  endedAtMs: number | undefined;
  /** The end of the grace in ISO 8601, in whole seconds, because readiness groups workers that report the same. */
  usedUntil: string;
}

/** The outcome of the last read of a name. */
interface CachedRead {
  readonly read: StoreRead;
  readonly readAtMs: number;
  readonly period: ConnectedPeriod;
}

/** The cache of one name space. */
class SpaceCache {
  readonly space: 'user-configs' | 'records';
  readonly cachedReads = new RecentMap<CachedRead>(limits.cacheEntriesMax, limits.cacheBytesMax, ({ read }) =>
    read.kind === 'found' ? read.value.length : 0,
  );
  /** Reads that wait for Redis. A read that is no longer in this map was overtaken by a change, and is not cached. */
  readonly pending = new Map<string, Promise<StoreRead>>();

  constructor(space: 'user-configs' | 'records') {
    this.space = space;
  }

  forget(name: string): void {
    this.cachedReads.delete(name);
    this.pending.delete(name);
  }

  forgetAll(): void {
    this.cachedReads.clear();
    this.pending.clear();
  }
}

const unreachable: StoreRead = Object.freeze({ kind: 'failed', reason: 'Redis is not reachable', isForAll: true });
const overloaded: StoreRead = Object.freeze({
  kind: 'failed',
  reason: 'too many reads wait for Redis',
  isForAll: true,
});

const tooLarge: StoreRead = Object.freeze({
  kind: 'failed',
  reason: `its value in Redis is larger than ${limits.redisValueBytesMax} bytes`,
});

export class RedisStore implements Store {
  readonly #options: RedisStoreOptions;
  readonly #logger: Logger;
  readonly #userConfigs = new SpaceCache('user-configs');
  readonly #ownRecords = new SpaceCache('records');
  readonly #caches = [this.#userConfigs, this.#ownRecords];
  readonly #link: ReconnectingLink;
  readonly #records: RedisRecords;
  /** The current or last connected period; `undefined` before the first. */
  #period: ConnectedPeriod | undefined;
  #lostReason = '';
  readonly #counts: StoreCounts;
  readonly #onObstacle: StoreObstacleListener;
  /** The timer for the end of the grace after a lost link. */
  #graceTimer: NodeJS.Timeout | undefined;

  private constructor(
    options: RedisStoreOptions,
    logger: Logger,
    onObstacle: StoreObstacleListener,
    counts: StoreCounts,
  ) {
    this.#onObstacle = onObstacle;
    this.#counts = counts;
    this.#options = options;
    this.#logger = logger;
    this.#link = this.#createLink();
    this.#records = new RedisRecords(this.#link);
  }

  static async open(
    options: RedisStoreOptions,
    logger: Logger,
    onObstacle: StoreObstacleListener = () => {},
    counts = new StoreCounts(),
  ): Promise<RedisStore> {
    const store = new RedisStore(options, logger, onObstacle, counts);
    await store.#link.open();
    return store;
  }

  read(subject: string): StoreRead | Promise<StoreRead> {
    return this.#read(this.#userConfigs, subject);
  }

  readRecord(key: string): StoreRead | Promise<StoreRead> {
    return this.#read(this.#ownRecords, key);
  }

  /** Reads a value. @param name a subject, or the key of a record. */
  #read(cache: SpaceCache, name: string): StoreRead | Promise<StoreRead> {
    const known = cache.cachedReads.get(name);
    if (!this.#link.isLive) return this.#lastKnownRead(known);
    if (known === undefined || known.period !== this.#period) {
      this.#counts.asked += 1;
      return this.#fetch(cache, name);
    }
    this.#counts.remembered += 1;
    return known.read;
  }

  kept(subject: string): KeptTimes | undefined {
    const known = this.#userConfigs.cachedReads.get(subject);
    if (this.#link.isLive || known?.period.endedAtMs === undefined) return undefined;
    return { readAt: isoSeconds(known.readAtMs), usedUntil: known.period.usedUntil };
  }

  async write(subject: string, value: Buffer): Promise<void> {
    const key = encodeRecordKey({ space: 'user-configs', key: subject });
    await this.#change(this.#userConfigs, subject, () =>
      this.#link.send((link) => link.run(key, (data) => data.set(key, value))),
    );
  }

  async swapRecord(key: string, expected: Buffer | undefined, value: Buffer | undefined): Promise<boolean> {
    return this.#change(this.#ownRecords, key, () => this.#records.swap([{ space: 'records', key, expected, value }]));
  }

  /** Makes a change, and forgets the cached value, even on a failure: the change may have been made. Without a link, the value stays. */
  async #change<Answer>(cache: SpaceCache, name: string, change: () => Promise<Answer>): Promise<Answer> {
    const wasLive = this.#link.isLive;
    try {
      return await change();
    } finally {
      if (wasLive) cache.forget(name);
    }
  }

  forget(subject: string): void {
    this.#userConfigs.forget(subject);
  }

  async close(): Promise<void> {
    clearTimeout(this.#graceTimer);
    this.#link.close();
    for (const cache of this.#caches) cache.forgetAll();
  }

  /** Requests a value. Reads of a name that wait at the same time share one GET. */
  #fetch({ space, cachedReads: known, pending }: SpaceCache, name: string): StoreRead | Promise<StoreRead> {
    const pendingRead = pending.get(name);
    if (pendingRead !== undefined) return pendingRead;
    const key = encodeStoreKey(name) && redisRecordKey({ space, key: name });
    if (key === undefined) return unencodable;
    const waitingCount = this.#userConfigs.pending.size + this.#ownRecords.pending.size;
    if (waitingCount >= limits.waitingMax) return overloaded;
    const period = this.#period!;
    /** @returns false when a change has overtaken the read. */
    const settle = (): boolean => pending.get(name) === answer && pending.delete(name);
    const answer: Promise<StoreRead> = readValue(this.#link.link, key).then(
      (value) => {
        const read = readOf(value, known.get(name)?.read);
        if (settle()) known.set(name, { read, readAtMs: Date.now(), period });
        return read;
      },
      (error: unknown): StoreRead => {
        settle();
        if (!(error instanceof ReplyError)) return this.#lastKnownRead(known.get(name));
        return { kind: 'failed', reason: `Redis refused the read: ${safeMessage(error)}` };
      },
    );
    pending.set(name, answer);
    return answer;
  }

  #lastKnownRead(known: CachedRead | undefined): StoreRead {
    const endedAtMs = known?.period.endedAtMs;
    const isUsable = endedAtMs === undefined || performance.now() - endedAtMs <= this.#options.staleGraceMs;
    if (known === undefined || !isUsable) {
      this.#counts.failed += 1;
      return unreachable;
    }
    this.#counts.stale += 1;
    return known.read;
  }

  #createLink(): ReconnectingLink {
    const events = {
      onLive: () => this.#onLive(),
      onChanged: (keys: readonly Buffer[]) => {
        // Only user configs and records are read over this link.
        for (const key of keys) this.#onChanged(key);
        this.#counts.invalidations += keys.length;
      },
      onFlushed: () => {
        for (const cache of this.#caches) cache.forgetAll();
        this.#counts.invalidations += 1;
      },
      onLost: (reason: string, isNew: boolean) => this.#onLost(reason, isNew),
    };
    return new ReconnectingLink(this.#options, events, { includesOwnChanges: true });
  }

  /** Called for a key that has changed. A key of neither a record nor a subject does no harm here. */
  #onChanged(key: Buffer): void {
    const recordKey = recordKeyAt(key);
    if (recordKey === undefined) this.#userConfigs.forget(key.toString());
    else this.#ownRecords.forget(recordKey);
  }

  #onLive(): void {
    this.#period = { endedAtMs: undefined, usedUntil: '' };
    clearTimeout(this.#graceTimer);
    this.#graceTimer = undefined;
    this.#onObstacle('');
    this.#logger.info('Redis is connected');
  }

  #onLost(reason: string, isNew: boolean): void {
    this.#lostReason = reason;
    // After an unexpected reply, one user's config may be cached as another's.
    if (reason.endsWith(UNEXPECTED_REPLY)) for (const cache of this.#caches) cache.cachedReads.clear();
    if (this.#period !== undefined && this.#period.endedAtMs === undefined) this.#endPeriod(this.#period, reason);
    else if (isNew)
      this.#logger.warn({ reason }, 'Redis cannot be connected to: start it, or correct the --redis-… options');
    this.#reportObstacle();
  }

  #endPeriod(period: ConnectedPeriod, reason: string): void {
    const { staleGraceMs } = this.#options;
    this.#logger.warn({ reason, staleGraceMs }, 'Redis is lost: known user configs are used for --redis-stale-grace');
    period.endedAtMs = performance.now();
    period.usedUntil = isoSeconds(Date.now() + staleGraceMs);
    // Reads in progress settle, but reads of the next period must not join them.
    for (const { pending } of this.#caches) pending.clear();
    this.#graceTimer = setTimeout(() => {
      this.#graceTimer = undefined;
      this.#reportObstacle();
    }, staleGraceMs).unref();
  }

  #reportObstacle(): void {
    const kept = `known user configs are used until ${this.#period?.usedUntil}, other users get 500`;
    if (this.#graceTimer !== undefined) this.#onObstacle('', `Redis is lost: ${this.#lostReason}; ${kept}`);
    else this.#onObstacle(`user configs cannot be read: Redis is not reachable: ${this.#lostReason}`);
  }
}

function isoSeconds(atMs: number): string {
  return new Date(atMs).toISOString().replace(/\.\d+/, '');
}

/** The outcome of a read. @param known the cached outcome, which is returned if its value has not changed. */
function readOf(value: Buffer | null, known: StoreRead | undefined): StoreRead {
  if (value === null) return missing;
  if (value.length > limits.redisValueBytesMax) return tooLarge;
  if (known?.kind === 'found' && known.value.equals(value)) return known;
  // The value is copied, because ioredis returns a slice of a socket buffer.
  return { kind: 'found', value: Buffer.from(value) };
}
