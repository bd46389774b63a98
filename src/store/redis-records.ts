// The record store in Redis: the gateway's records are the fields of one hash, user configs are keys of their own, and
// a swap is one script, which Redis runs as a whole. Needs of an ACL user: +eval +get +set +del +hget +hset +hdel
// +hkeys +ping on all keys.
//
//   opening ── connected ──▶ live ── a connection or an answer failed ──▶ lost ── after a while ──▶ opening
//      └──────────────────── failed, or took too long ─────────────────────▶        close() ends it in any state
import { ReplyError, type Redis } from 'ioredis';
import { limits } from '../shared/limits.js';
import type { Logger } from '../shared/logger.js';
import { encodeRecordKey } from './record-key.js';
import {
  RecordStoreFault,
  type RecordChange,
  type RecordKey,
  type RecordStore,
  type StoredRecord,
} from './record-store.js';
import { createConnection, disconnect, messageOf, type RedisStoreOptions } from './redis-connection.js';

/** Begins with a byte that no subject's key has. */
const RECORDS_KEY = Buffer.concat([Buffer.from([0xff]), Buffer.from('switchyard:records')]);

/**
 * KEYS: of each change, the key. ARGV: of each change, the field ('' of a user config, which has none), then what must
 * be there and what is to be there, each as '=' and the bytes, or '' for nothing. The keys are all looked at before the
 * first is written: Redis does not undo.
 */
const SWAP_SCRIPT = `
for i = 1, #KEYS do
  local field, expected = ARGV[3 * i - 2], ARGV[3 * i - 1]
  local stored
  if field == '' then stored = redis.call('GET', KEYS[i]) else stored = redis.call('HGET', KEYS[i], field) end
  if (stored and '=' .. stored or '') ~= expected then return 0 end
end
for i = 1, #KEYS do
  local field, value = ARGV[3 * i - 2], ARGV[3 * i]
  if field == '' and value == '' then redis.call('DEL', KEYS[i])
  elseif field == '' then redis.call('SET', KEYS[i], string.sub(value, 2))
  elseif value == '' then redis.call('HDEL', KEYS[i], field)
  else redis.call('HSET', KEYS[i], field, string.sub(value, 2)) end
end
return 1`;

/** KEYS: the hash. ARGV: the prefix. Answers field, value, field, value, … */
const LIST_SCRIPT = `
local found = {}
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  if string.sub(field, 1, #ARGV[1]) == ARGV[1] then
    found[#found + 1] = field
    found[#found + 1] = redis.call('HGET', KEYS[1], field)
  end
end
return found`;

type State = 'opening' | 'live' | 'lost' | 'closed';

export class RedisRecords implements RecordStore {
  readonly kind = 'redis';
  readonly #options: RedisStoreOptions;
  readonly #logger: Logger;
  #state: State = 'lost';
  /** The newest one. What an older one still says is not listened to. */
  #connection: Redis | undefined;
  /** While opening, the deadline; while lost, the next try. */
  #timer: NodeJS.Timeout | undefined;
  #retryDelayMs: number = limits.redisRetryDelayMsMin;
  #lostReason: string | undefined;

  private constructor(options: RedisStoreOptions, logger: Logger) {
    this.#options = options;
    this.#logger = logger;
  }

  /** Resolved after the first attempt to connect, however it ended. */
  static async open(options: RedisStoreOptions, logger: Logger): Promise<RedisRecords> {
    const records = new RedisRecords(options, logger);
    await records.#connect();
    return records;
  }

  async read(key: RecordKey): Promise<Buffer | undefined> {
    const bytes = encodeRecordKey(key);
    const value = await this.#send((redis) =>
      key.space === 'records' ? redis.hgetBuffer(RECORDS_KEY, bytes) : redis.getBuffer(bytes),
    );
    return value ?? undefined;
  }

  async list(prefix: string): Promise<StoredRecord[]> {
    const answer = await this.#send((redis) => redis.callBuffer('EVAL', LIST_SCRIPT, 1, RECORDS_KEY, prefix));
    const parts = answer as Buffer[];
    const records: StoredRecord[] = [];
    for (let index = 0; index < parts.length; index += 2) {
      records.push({ key: parts[index]!.toString(), value: parts[index + 1]! });
    }
    return records;
  }

  async swap(changes: readonly RecordChange[]): Promise<boolean> {
    const keys: Buffer[] = [];
    const values: (Buffer | string)[] = [];
    for (const change of changes) {
      const bytes = encodeRecordKey(change);
      const isRecord = change.space === 'records';
      keys.push(isRecord ? RECORDS_KEY : bytes);
      values.push(isRecord ? bytes : '', encodeOptional(change.expected), encodeOptional(change.value));
    }
    const answer = await this.#send((redis) => redis.call('EVAL', SWAP_SCRIPT, keys.length, ...keys, ...values));
    return answer === 1;
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
    this.#state = 'closed';
    clearTimeout(this.#timer);
    if (this.#connection !== undefined) disconnect(this.#connection);
    this.#connection = undefined;
  }

  async #send<Answer>(command: (redis: Redis) => Promise<Answer>): Promise<Answer> {
    const connection = this.#connection;
    if (this.#state !== 'live' || connection === undefined) throw new RecordStoreFault('Redis is not reachable');
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
    const connection = createConnection(this.#options);
    this.#connection = connection;
    this.#state = 'opening';
    connection.on('error', (error) => this.#lose(connection, messageOf(error)));
    connection.on('close', () => this.#lose(connection, 'Redis closed the connection'));
    const openMsMax = limits.redisConnectMsMax;
    this.#timer = setTimeout(
      () => this.#lose(connection, `Redis could not be connected to in ${openMsMax} ms`),
      openMsMax,
    );
    try {
      await connection.connect();
      await connection.ping();
    } catch (error) {
      this.#lose(connection, messageOf(error));
    }
    if (this.#connection !== connection) return;
    clearTimeout(this.#timer);
    this.#state = 'live';
    this.#retryDelayMs = limits.redisRetryDelayMsMin;
    this.#lostReason = undefined;
    this.#logger.info('Redis is connected for records');
  }

  #lose(connection: Redis, reason: string): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    this.#state = 'lost';
    disconnect(connection);
    // Told once, not at each of the tries that follow.
    if (reason !== this.#lostReason) this.#logger.warn({ reason }, 'Redis cannot be reached for records');
    this.#lostReason = reason;
    // Up to a half less, so that the processes do not come back all at once.
    const delayMs = this.#retryDelayMs * (1 - Math.random() / 2);
    this.#retryDelayMs = Math.min(this.#retryDelayMs * 2, limits.redisRetryDelayMsMax);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#connect(), delayMs).unref();
  }
}

function encodeOptional(value: Buffer | undefined): Buffer | string {
  return value === undefined ? '' : Buffer.concat([Buffer.from('='), value]);
}
