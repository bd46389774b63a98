// The record store in Redis. A swap is one script, which Redis runs atomically. ACL permissions: +eval +get +mget +set +del +exists +incr
// +zadd +zrem +zrangebylex +xadd +xlen +xrange +ping on all keys, and +scan to list subjects.
import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Logger } from '../shared/index.js';
import {
  RECORDS_PER_READ_MAX,
  RECORDS_AT_ONCE_MAX,
  RECORD_CHANGES_KEPT,
  AFTER_UTF8,
  assertOneRedisSlot,
  type RecordChange,
  type RecordChanges,
  type RecordKey,
  type RecordStore,
  encodeRecordKey,
} from './record-store.js';
import type { RedisStoreOptions } from './redis-connection.js';
import { readValue } from './redis-link.js';
import { ReconnectingLink } from './redis-reconnecting-link.js';
import { slotTag } from './redis-location.js';

// The keys in Redis. All records, the sorted sets that list their keys, and the log of changes share one hash tag: a cluster keeps them
// in one slot. The publication of a user config is in the config's slot, so that both can change together. Every key but those of user
// configs begins with a byte that no subject's key contains.

const OWN_PREFIX = Buffer.from([0xff]);

function ownKey(text: string, rest: Buffer | string = ''): Buffer {
  return Buffer.concat([OWN_PREFIX, Buffer.from(text), Buffer.from(rest)]);
}

const POSITION_KEY = ownKey('{switchyard}position');
/** The key of the epoch, a random text that is made with the log of changes: positions of another epoch mean nothing. */
const EPOCH_KEY = ownKey('{switchyard}epoch');
/** The log of changes, a stream: the ids are positions, the field `k` is the key of a changed record. */
const LOG_KEY = ownKey('{switchyard}changes');

const RECORD_PREFIX = ownKey('{switchyard}record/');

/** The key of the record; `undefined` when the Redis key is not that of a record. */
export function recordKeyAt(bytes: Buffer): string | undefined {
  const isRecord = bytes.subarray(0, RECORD_PREFIX.length).equals(RECORD_PREFIX);
  return isRecord ? bytes.toString('utf8', RECORD_PREFIX.length) : undefined;
}

export function redisRecordKey(key: RecordKey): Buffer {
  const bytes = encodeRecordKey(key);
  switch (key.space) {
    case 'records':
      return Buffer.concat([RECORD_PREFIX, bytes]);
    case 'user-configs':
      return bytes;
    case 'publications':
      return Buffer.concat([OWN_PREFIX, Buffer.from('{'), slotTag(bytes), Buffer.from('}published/'), bytes]);
  }
}

/** The Redis key of the sorted set that lists all record keys with the same beginning, up to the first slash. */
function listKeyOf(recordKey: string): Buffer {
  return ownKey('{switchyard}keys/', recordKey.slice(0, recordKey.indexOf('/') + 1));
}

/**
 * KEYS: the key of each change; then the sorted sets that list keys; then, if any change is logged, position, epoch and log. ARGV: the
 * number of changes, how many entries the log keeps (0: no change is logged), an epoch to store if there is none; then for each change: the
 * number of its sorted set (0: none), its record key, whether it is logged, its expected and new values: '=' and the bytes, or '' for none.
 * All values are checked before the first write, because Redis has no rollback.
 */
const SWAP_SCRIPT = `
local count, kept = tonumber(ARGV[1]), tonumber(ARGV[2])
for i = 1, count do
  local stored = redis.call('GET', KEYS[i])
  if (stored and '=' .. stored or '') ~= ARGV[5 * i + 2] then return 0 end
end
local position, epoch, log = KEYS[#KEYS - 2], KEYS[#KEYS - 1], KEYS[#KEYS]
if kept > 0 and (redis.call('EXISTS', position) == 0 or redis.call('EXISTS', epoch) == 0) then
  redis.call('DEL', log, position)
  redis.call('SET', epoch, ARGV[3])
end
for i = 1, count do
  local list, name, isLogged = tonumber(ARGV[5 * i - 1]), ARGV[5 * i], ARGV[5 * i + 1]
  local expected, value = ARGV[5 * i + 2], ARGV[5 * i + 3]
  if value == '' then redis.call('DEL', KEYS[i])
  elseif value ~= expected then redis.call('SET', KEYS[i], string.sub(value, 2)) end
  if list > 0 then
    if value == '' then redis.call('ZREM', KEYS[count + list], name)
    elseif expected == '' then redis.call('ZADD', KEYS[count + list], 0, name) end
  end
  if isLogged == '1' then
    redis.call('XADD', log, 'MAXLEN', '=', kept, redis.call('INCR', position) .. '-0', 'k', name)
  end
end
return 1`;

/**
 * KEYS: position, epoch, log. ARGV: the epoch and position of the caller's last read, and an epoch to store if there is none. Returns the
 * present epoch and position, then the log's entries since the caller's position; no entries, if the log no longer has them all.
 */
const CHANGES_SCRIPT = `
local position, epoch = redis.call('GET', KEYS[1]), redis.call('GET', KEYS[2])
if not position or not epoch then
  redis.call('DEL', KEYS[3])
  redis.call('SET', KEYS[1], '0')
  redis.call('SET', KEYS[2], ARGV[3])
  return {ARGV[3], '0'}
end
local last, known = tonumber(position), tonumber(ARGV[2])
if epoch ~= ARGV[1] or known > last or last - known > redis.call('XLEN', KEYS[3]) then return {epoch, position} end
if known == last then return {epoch, position, {}} end
return {epoch, position, redis.call('XRANGE', KEYS[3], (known + 1) .. '-0', '+')}`;

export class RedisRecords implements RecordStore {
  readonly kind = 'redis';
  readonly #link: ReconnectingLink;

  constructor(link: ReconnectingLink) {
    this.#link = link;
  }

  static async open(options: RedisStoreOptions, logger: Logger): Promise<RedisRecords> {
    const link = new ReconnectingLink(options, {
      onLive: () => logger.info('Redis is connected for records'),
      onLost: (reason, isNew) => isNew && logger.warn({ reason }, 'Redis cannot be reached for records'),
    });
    await link.open();
    return new RedisRecords(link);
  }

  get location(): string {
    return this.#link.location;
  }

  async read(key: RecordKey): Promise<Buffer | undefined> {
    const bytes = redisRecordKey(key);
    return (await this.#link.send((link) => readValue(link, bytes))) ?? undefined;
  }

  async readMany(keys: readonly string[]): Promise<(Buffer | undefined)[]> {
    const values: (Buffer | undefined)[] = [];
    // The records are read in batches: values may be large, and Redis runs one command at a time.
    for (let start = 0; start < keys.length; start += RECORDS_PER_READ_MAX) {
      const part = keys
        .slice(start, start + RECORDS_PER_READ_MAX)
        .map((key) => redisRecordKey({ space: 'records', key }));
      const found = await this.#run((redis) => redis.mgetBuffer(...part));
      for (const value of found) values.push(value ?? undefined);
    }
    return values;
  }

  async listKeys(prefix: string, after: string, countMax: number): Promise<string[]> {
    const start = after === '' ? `[${prefix}` : `(${after}`;
    const end = Buffer.concat([Buffer.from(`(${prefix}`), AFTER_UTF8]);
    const list = listKeyOf(prefix);
    return this.#run((redis) => redis.zrangebylex(list, start, end, 'LIMIT', 0, countMax));
  }

  /** Subjects are found by a scan, because Redis keeps no list of user configs. */
  async *subjects(): AsyncGenerator<readonly string[]> {
    for (const redis of await this.#link.send(async (link) => link.masters)) {
      let cursor = '0';
      do {
        const [next, keys] = await this.#link.send(() =>
          redis.scanBuffer(cursor, 'COUNT', RECORDS_AT_ONCE_MAX, 'TYPE', 'string'),
        );
        cursor = next.toString();
        // The gateway's own keys are not UTF-8.
        yield keys.filter((key) => isUtf8(key)).map((key) => key.toString());
      } while (cursor !== '0');
    }
  }

  async swap(changes: readonly RecordChange[]): Promise<boolean> {
    assertOneRedisSlot(changes);
    const keys = changes.map(redisRecordKey);
    const lists: Buffer[] = [];
    const args: (Buffer | string)[] = [];
    for (const { space, key, isLogged = false, expected, value } of changes) {
      const list = space === 'records' ? findOrAppend(lists, listKeyOf(key)) : 0;
      args.push(String(list), key, isLogged ? '1' : '0', encodeOptional(expected), encodeOptional(value));
    }
    const isAnyLogged = changes.some(({ isLogged }) => isLogged === true);
    const logKeys = isAnyLogged ? [POSITION_KEY, EPOCH_KEY, LOG_KEY] : [];
    const firstArgs = [String(changes.length), isAnyLogged ? String(RECORD_CHANGES_KEPT) : '0', createEpoch()];
    const allKeys = [...keys, ...lists, ...logKeys];
    const script = [SWAP_SCRIPT, allKeys.length, ...allKeys, ...firstArgs, ...args] as const;
    return (await this.#run((redis) => redis.call('EVAL', ...script), keys[0])) === 1;
  }

  async readChanges(position: string): Promise<RecordChanges> {
    const [epoch = '', number = '0'] = position.split('.');
    const keys = [POSITION_KEY, EPOCH_KEY, LOG_KEY];
    const args = [epoch, number, createEpoch()];
    const answer = await this.#run((redis) => redis.call('EVAL', CHANGES_SCRIPT, keys.length, ...keys, ...args));
    const [nowEpoch, nowNumber, entries] = answer as [string, string, [id: string, fields: string[]][] | undefined];
    const changedKeys = entries?.map(([, [, key = '']]) => key);
    return { position: `${nowEpoch}.${nowNumber}`, keys: changedKeys ?? 'unknown' };
  }

  async ping(): Promise<boolean> {
    return this.#run((redis) => redis.ping()).then(
      () => true,
      () => false,
    );
  }

  async close(): Promise<void> {
    this.#link.close();
  }

  /** Runs a command. @param key decides the node of a cluster; the default is right for all records, which are in one slot. */
  async #run<Answer>(command: (redis: Redis) => Promise<Answer>, key = POSITION_KEY): Promise<Answer> {
    return this.#link.send((link) => link.run(key, command));
  }
}

function encodeOptional(value: Buffer | undefined): Buffer | string {
  return value === undefined ? '' : Buffer.concat([Buffer.from('='), value]);
}

/** Finds a key in the list, or adds it. @returns its position, counted from 1. */
function findOrAppend(keys: Buffer[], key: Buffer): number {
  const index = keys.findIndex((other) => other.equals(key));
  return index === -1 ? keys.push(key) : index + 1;
}

function createEpoch(): string {
  return randomBytes(16).toString('hex');
}
