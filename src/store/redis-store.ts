// The store in Redis, with a cache of values read, each valid for as long as Redis would report a change of it. Hot path.
//
// While the link is live, a value read in the current term is fresh and is returned at once; any other value is read again. A term ends when
// the link is lost. Then values read in a term that ended no longer ago than the grace are served as last known.
import { ReplyError } from 'ioredis';
import { limits } from '../shared/limits.js';
import type { Logger } from '../shared/logger.js';
import { RecentMap } from '../shared/recent-map.js';
import { encodeRecordKey } from './record-store.js';
import { GARBLED, messageOf, type RedisStoreOptions } from './redis-connection.js';
import { RedisRecords } from './redis-records.js';
import { StandingLink } from './redis-standing-link.js';
import {
  StoreCounts,
  type Kept,
  type Store,
  type StoreObstacles,
  type StoreRead,
  encodeStoreKey,
  isRecordName,
  recordKeyOf,
  recordName,
  unencodable,
} from './store.js';
import { recordKeyAt, redisRecordKey } from './redis-record-layout.js';

/** A period in which every change was reported. */
interface Term {
  /** On the clock of `performance.now()`; `undefined` while it lasts. */
  endedAtMs: number | undefined;
  /** When its values are no longer served. In whole seconds: readiness puts workers together that say the same. */
  usedUntil: string;
}

interface Known {
  readonly read: StoreRead;
  readonly readAtMs: number;
  readonly term: Term;
}

const missing: StoreRead = Object.freeze({ kind: 'missing' });
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
  readonly kind = 'redis';
  readonly #options: RedisStoreOptions;
  readonly #logger: Logger;
  readonly #known = new RecentMap<Known>(limits.storeCacheEntriesMax, limits.storeCacheBytesMax, ({ read }) =>
    read.kind === 'found' ? read.value.length : 0,
  );
  /** Reads waiting for Redis. A read no longer in this map was overtaken by a change: its result is not cached. */
  readonly #pending = new Map<string, Promise<StoreRead>>();
  readonly #link: StandingLink;
  readonly #records: RedisRecords;
  /** The current term, or the last one; `undefined` while there was none. */
  #term: Term | undefined;
  #lostReason = '';
  readonly #counts: StoreCounts;
  readonly #onObstacle: StoreObstacles;
  /** Ends the grace, during which cached values are served. */
  #graceTimer: NodeJS.Timeout | undefined;

  private constructor(options: RedisStoreOptions, logger: Logger, onObstacle: StoreObstacles, counts: StoreCounts) {
    this.#onObstacle = onObstacle;
    this.#counts = counts;
    this.#options = options;
    this.#logger = logger;
    this.#link = this.#createLink();
    this.#records = new RedisRecords(this.#link);
  }

  /**
   * Resolves after the first connection attempt, whether or not it succeeded: a store that starts lost keeps trying to connect.
   */
  static async open(
    options: RedisStoreOptions,
    logger: Logger,
    onObstacle: StoreObstacles = () => {},
    counts = new StoreCounts(),
  ): Promise<RedisStore> {
    const store = new RedisStore(options, logger, onObstacle, counts);
    await store.#link.open();
    return store;
  }

  read(subject: string): StoreRead | Promise<StoreRead> {
    // Otherwise a token whose subject is a record's name could read that record, and find out which records exist.
    return isRecordName(subject) ? unencodable : this.#read(subject);
  }

  readRecord(key: string): StoreRead | Promise<StoreRead> {
    return this.#read(recordName(key));
  }

  /** @param subject a subject, or the name of a record (store.ts); also in the methods below. */
  #read(subject: string): StoreRead | Promise<StoreRead> {
    if (!this.#link.isLive) return this.#lastKnown(subject);
    const known = this.#known.get(subject);
    if (known === undefined || known.term !== this.#term) {
      this.#counts.asked += 1;
      return this.#fetch(subject);
    }
    this.#counts.remembered += 1;
    return known.read;
  }

  kept(subject: string): Kept | undefined {
    const known = this.#known.get(subject);
    if (this.#link.isLive || known?.term.endedAtMs === undefined) return undefined;
    return { readAt: inSeconds(known.readAtMs), usedUntil: known.term.usedUntil };
  }

  async write(subject: string, value: Buffer): Promise<void> {
    const key = encodeRecordKey({ space: 'user-configs', key: subject });
    await this.#change(subject, () => this.#link.send((link) => link.run(key, (data) => data.set(key, value))));
  }

  async swapRecord(key: string, expected: Buffer | undefined, value: Buffer | undefined): Promise<boolean> {
    return this.#change(recordName(key), () => this.#records.swap([{ space: 'records', key, expected, value }]));
  }

  /** The invalidation arrives only later, and a change without a reply may have been made. */
  async #change<Answer>(name: string, change: () => Promise<Answer>): Promise<Answer> {
    const wasLive = this.#link.isLive;
    try {
      return await change();
    } finally {
      if (wasLive) this.forget(name);
    }
  }

  forget(subject: string): void {
    this.#known.delete(subject);
    this.#pending.delete(subject);
  }

  async close(): Promise<void> {
    clearTimeout(this.#graceTimer);
    this.#link.close();
    this.#pending.clear();
    this.#known.clear();
  }

  /** One GET serves all reads of the subject until it is answered. */
  #fetch(subject: string): StoreRead | Promise<StoreRead> {
    const pending = this.#pending.get(subject);
    if (pending !== undefined) return pending;
    const key = placeOf(subject);
    if (key === undefined) return unencodable;
    if (this.#pending.size >= limits.redisReadsInFlightMax) return overloaded;
    const term = this.#term!;
    const answer = this.#link.link.get(key).then(
      (value) => {
        const read = this.#readOf(subject, value);
        if (this.#settle(subject, answer)) this.#known.set(subject, { read, readAtMs: Date.now(), term });
        return read;
      },
      (error: unknown): StoreRead => {
        this.#settle(subject, answer);
        if (!(error instanceof ReplyError)) return this.#lastKnown(subject);
        return { kind: 'failed', reason: `Redis refused the read: ${messageOf(error)}` };
      },
    );
    this.#pending.set(subject, answer);
    return answer;
  }

  /** Returns false when the read was overtaken by a change. */
  #settle(subject: string, answer: Promise<StoreRead>): boolean {
    return this.#pending.get(subject) === answer && this.#pending.delete(subject);
  }

  #readOf(subject: string, value: Buffer | null): StoreRead {
    if (value === null) return missing;
    return value.length > limits.redisValueBytesMax ? tooLarge : this.#found(subject, value);
  }

  /** Keeps the buffer of an earlier term when the value is unchanged. */
  #found(subject: string, value: Buffer): StoreRead {
    const known = this.#known.get(subject)?.read;
    if (known?.kind === 'found' && known.value.equals(value)) return known;
    // Copied, because ioredis returns a slice of a socket buffer, which would keep the whole buffer in memory.
    return { kind: 'found', value: Buffer.from(value) };
  }

  #lastKnown(subject: string): StoreRead {
    const known = this.#known.get(subject);
    const endedAtMs = known?.term.endedAtMs;
    const isUsable = endedAtMs === undefined || performance.now() - endedAtMs <= this.#options.staleGraceMs;
    if (known === undefined || !isUsable) {
      this.#counts.failed += 1;
      return unreachable;
    }
    this.#counts.stale += 1;
    return known.read;
  }

  #createLink(): StandingLink {
    const events = {
      onLive: () => this.#onLive(),
      onChanged: (keys: readonly Buffer[]) => {
        // Records are the only ones of the gateway's own keys that are read here.
        for (const key of keys) this.forget(nameOf(key));
        this.#counts.invalidations += keys.length;
      },
      onFlushed: () => {
        this.#known.clear();
        this.#pending.clear();
        this.#counts.invalidations += 1;
      },
      onLost: (reason: string, isNew: boolean) => this.#onLost(reason, isNew),
    };
    return new StandingLink(this.#options, events, { itself: true });
  }

  #onLive(): void {
    this.#term = { endedAtMs: undefined, usedUntil: '' };
    clearTimeout(this.#graceTimer);
    this.#graceTimer = undefined;
    this.#onObstacle('');
    this.#logger.info('Redis is connected');
  }

  #onLost(reason: string, isNew: boolean): void {
    this.#lostReason = reason;
    // One user's config may be cached as another's.
    if (reason.endsWith(GARBLED)) this.#known.clear();
    if (this.#term !== undefined && this.#term.endedAtMs === undefined) this.#endTerm(this.#term, reason);
    else if (isNew) this.#logger.warn({ reason }, 'Redis cannot be connected to');
    this.#tellObstacle();
  }

  #endTerm(term: Term, reason: string): void {
    const { staleGraceMs } = this.#options;
    this.#logger.warn({ reason, staleGraceMs }, 'Redis is lost: known user configs are used for --redis-stale-grace');
    term.endedAtMs = performance.now();
    term.usedUntil = inSeconds(Date.now() + staleGraceMs);
    // Pending reads settle by themselves, but reads of the next term must not join them.
    this.#pending.clear();
    this.#graceTimer = setTimeout(() => {
      this.#graceTimer = undefined;
      this.#tellObstacle();
    }, staleGraceMs).unref();
  }

  #tellObstacle(): void {
    const kept = `known user configs are used until ${this.#term?.usedUntil}, other users get 500`;
    if (this.#graceTimer !== undefined) this.#onObstacle('', `Redis is lost: ${this.#lostReason}; ${kept}`);
    else this.#onObstacle(`user configs cannot be read: Redis is not reachable: ${this.#lostReason}`);
  }
}

function inSeconds(atMs: number): string {
  return new Date(atMs).toISOString().replace(/\.\d+/, '');
}

/** The Redis key of a subject or record name. @returns `undefined` when it cannot be a store key. */
function placeOf(name: string): Buffer | undefined {
  const recordKey = recordKeyOf(name);
  if (recordKey === undefined) return encodeStoreKey(name);
  return encodeStoreKey(recordKey) && redisRecordKey({ space: 'records', key: recordKey });
}

/** The cache name of a Redis key. A key that is not UTF-8 is no subject's; forgetting whatever it decodes to only costs another read. */
function nameOf(key: Buffer): string {
  const recordKey = key[0] === OWN_KEY ? recordKeyAt(key) : undefined;
  return recordKey === undefined ? key.toString('utf8') : recordName(recordKey);
}

const OWN_KEY = 0xff;
