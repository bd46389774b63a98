// The record store in Redis. The layout of the records is in redis-record-layout.ts; a swap is one script, which Redis runs atomically.
// Permissions that the ACL user needs: +eval +get +mget +set +del +exists +incr +zadd +zrem +zrangebylex +xadd +xlen +xrange +ping on all
// keys.
//
//   lost ── at the start, or after a while ──> opening ── connected ──> live
//   opening, live ── a connection or an answer failed, or took too long ──> lost
//   opening, live, lost ── close() ──> closed
import { randomBytes } from 'node:crypto';
import { ReplyError, type Cluster, type Redis } from 'ioredis';
import { Backoff } from '../shared/backoff.js';
import { limits } from '../shared/limits.js';
import type { Logger } from '../shared/logger.js';
import {
  assertOnePlace,
  RecordStoreFault,
  type RecordChange,
  type RecordChanges,
  type RecordKey,
  type RecordStore,
} from './record-store.js';
import { disconnectQuietly, messageOf, type RedisStoreOptions, LoggedReasons } from './redis-connection.js';
import { checkRole, connectionTo } from './redis-place.js';
import { EPOCH_KEY, listKeyOf, LOG_KEY, POSITION_KEY, redisRecordKey } from './redis-record-layout.js';
import { CHANGES_SCRIPT, SWAP_SCRIPT } from './redis-record-scripts.js';

/** With a cluster, no command involves more than one node. */
export type RecordConnection = Redis | Cluster;

type State = 'opening' | 'live' | 'lost' | 'closed';

export class RedisRecords implements RecordStore {
  readonly kind = 'redis';
  readonly #options: RedisStoreOptions;
  readonly #connectionOf: () => Promise<RecordConnection>;
  readonly #logger: Logger;
  #state: State = 'lost';
  /** The newest connection. Events of older ones are ignored. */
  #connection: RecordConnection | undefined;
  /** While opening, the deadline; while lost, the next attempt. */
  #timer: NodeJS.Timeout | undefined;
  readonly #backoff = new Backoff(limits.redisRetryDelayMsMin, limits.redisRetryDelayMsMax);
  /** Why it was lost, or could not be connected to. */
  #lostReason = 'it is being connected to';
  readonly #logged = new LoggedReasons();

  private constructor(options: RedisStoreOptions, connectionOf: () => Promise<RecordConnection>, logger: Logger) {
    this.#options = options;
    this.#connectionOf = connectionOf;
    this.#logger = logger;
  }

  /** Resolves after the first connection attempt, whether or not it succeeded. */
  static async open(
    options: RedisStoreOptions,
    logger: Logger,
    connectionOf: () => Promise<RecordConnection> = () => connectionTo(options),
  ): Promise<RedisRecords> {
    const records = new RedisRecords(options, connectionOf, logger);
    await records.#connect();
    return records;
  }

  async read(key: RecordKey): Promise<Buffer | undefined> {
    const bytes = redisRecordKey(key);
    return (await this.#send((redis) => redis.getBuffer(bytes))) ?? undefined;
  }

  async readMany(keys: readonly string[]): Promise<(Buffer | undefined)[]> {
    const values: (Buffer | undefined)[] = [];
    // In batches, because values may be large and Redis runs one command at a time.
    for (let start = 0; start < keys.length; start += limits.recordsPerReadMax) {
      const part = keys
        .slice(start, start + limits.recordsPerReadMax)
        .map((key) => redisRecordKey({ space: 'records', key }));
      const found = await this.#send((redis) => redis.mgetBuffer(...part));
      for (const value of found) values.push(value ?? undefined);
    }
    return values;
  }

  async listKeys(prefix: string, after: string, countMax: number): Promise<string[]> {
    const start = after === '' ? `[${prefix}` : `(${after}`;
    const end = Buffer.concat([Buffer.from(`(${prefix}`), AFTER_UTF8]);
    const list = listKeyOf(prefix);
    return this.#send((redis) => redis.zrangebylex(list, start, end, 'LIMIT', 0, countMax));
  }

  async swap(changes: readonly RecordChange[]): Promise<boolean> {
    assertOnePlace(changes);
    const keys = changes.map(redisRecordKey);
    const lists: Buffer[] = [];
    const words: (Buffer | string)[] = [];
    for (const { space, key, isTold = false, expected, value } of changes) {
      const list = space === 'records' ? placeIn(lists, listKeyOf(key)) : 0;
      words.push(String(list), key, isTold ? '1' : '0', encodeOptional(expected), encodeOptional(value));
    }
    const isAnyTold = changes.some(({ isTold }) => isTold === true);
    const log = isAnyTold ? [POSITION_KEY, EPOCH_KEY, LOG_KEY] : [];
    const head = [String(changes.length), isAnyTold ? String(limits.recordChangesKept) : '0', newEpoch()];
    const all = [...keys, ...lists, ...log];
    const answer = await this.#send((redis) => redis.call('EVAL', SWAP_SCRIPT, all.length, ...all, ...head, ...words));
    return answer === 1;
  }

  async readChanges(position: string): Promise<RecordChanges> {
    const [epoch = '', number = '0'] = position.split('.');
    const keys = [POSITION_KEY, EPOCH_KEY, LOG_KEY];
    const words = [epoch, number, newEpoch()];
    const answer = await this.#send((redis) => redis.call('EVAL', CHANGES_SCRIPT, keys.length, ...keys, ...words));
    const [nowEpoch, nowNumber, entries] = answer as [string, string, [id: string, fields: string[]][] | undefined];
    const told = entries?.map(([, [, key = '']]) => key);
    return { position: `${nowEpoch}.${nowNumber}`, keys: told ?? 'unknown' };
  }

  async ping(): Promise<boolean> {
    try {
      await this.#send((redis) => redis.ping());
      return true;
    } catch {
      return false;
    }
  }

  async close(): Promise<void> {
    this.#transition(this.#state, 'closed');
    clearTimeout(this.#timer);
    if (this.#connection !== undefined) disconnectQuietly(this.#connection);
    this.#connection = undefined;
  }

  async #send<Answer>(command: (redis: RecordConnection) => Promise<Answer>): Promise<Answer> {
    const connection = this.#connection;
    if (this.#state !== 'live' || connection === undefined) {
      throw new RecordStoreFault(`Redis is not reachable: ${this.#lostReason}`);
    }
    try {
      return await command(connection);
    } catch (error) {
      const reason = messageOf(error);
      if (error instanceof ReplyError) throw new RecordStoreFault(`Redis refused the command: ${reason}`);
      this.#lose(connection, reason);
      throw new RecordStoreFault(`Redis did not answer: ${reason}`);
    }
  }

  async #connect(): Promise<void> {
    if (!this.#transition('lost', 'opening')) return;
    let connection: RecordConnection;
    try {
      connection = await this.#connectionOf();
    } catch (error) {
      this.#lose(undefined, messageOf(error));
      return;
    }
    if (this.#state !== 'opening') return;
    this.#connection = connection;
    connection.on('error', (error) => this.#lose(connection, messageOf(error)));
    connection.on('close', () => this.#lose(connection, 'Redis closed the connection'));
    const openMsMax = limits.redisConnectMsMax;
    this.#timer = setTimeout(
      () => this.#lose(connection, `Redis could not be connected to within ${openMsMax} ms`),
      openMsMax,
    );
    try {
      await connection.connect();
      await checkRole(connection, this.#options);
      await connection.ping();
      clearTimeout(this.#timer);
    } catch (error) {
      this.#lose(connection, messageOf(error));
    }
    if (this.#connection !== connection || !this.#transition('opening', 'live')) return;
    this.#backoff.reset();
    this.#logged.forget();
    this.#logger.info('Redis is connected for records');
  }

  /** @param connection `undefined` when the address could not be found. */
  #lose(connection: RecordConnection | undefined, reason: string): void {
    if (this.#connection !== connection || this.#state === 'closed') return;
    this.#connection = undefined;
    this.#lostReason = reason;
    if (!this.#transition('opening', 'lost')) this.#transition('live', 'lost');
    if (connection !== undefined) disconnectQuietly(connection);
    // Logged once, not at every retry.
    if (this.#logged.isNew(reason)) this.#logger.warn({ reason }, 'Redis cannot be reached for records');
    // Shortened randomly by up to half, so that the processes do not all reconnect at once.
    const delayMs = this.#backoff.nextSpread(Math.random());
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#connect(), delayMs).unref();
  }

  /** The only writer of the state. */
  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}

function encodeOptional(value: Buffer | undefined): Buffer | string {
  return value === undefined ? '' : Buffer.concat([Buffer.from('='), value]);
}

/** The 1-based place of a key in the list, to which it is added if missing. */
function placeIn(keys: Buffer[], key: Buffer): number {
  const index = keys.findIndex((other) => other.equals(key));
  return index === -1 ? keys.push(key) : index + 1;
}

function newEpoch(): string {
  return randomBytes(16).toString('hex');
}

/** Appended to a prefix, sorts after every key with that prefix: this byte never occurs in UTF-8. */
const AFTER_UTF8 = Buffer.from([0xff]);
