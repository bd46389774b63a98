// User configs in Redis, over a connection opened for a single command. Permissions that the ACL user needs: +get +ping to read, +eval +set
// +del to change, +scan to list. Cold path.
import { isUtf8 } from 'node:buffer';
import { Cluster, type Redis } from 'ioredis';
import { limits } from '../shared/limits.js';
import { ConfigStoreFault, subjectKey, type ConfigStore } from './config-store.js';
import { disconnectQuietly, messageOf, type RedisStoreOptions } from './redis-connection.js';
import { checkRole, connectionTo, placeInWords } from './redis-place.js';

/** KEYS: the config. ARGV: the expected value and the new value, each as '=' and the bytes, or '' for none. */
const SWAP_SCRIPT = `
local stored = redis.call('GET', KEYS[1])
if (stored and '=' .. stored or '') ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('DEL', KEYS[1])
else redis.call('SET', KEYS[1], string.sub(ARGV[2], 2)) end
return 1`;

export class RedisConfigStore implements ConfigStore {
  readonly place: string;
  readonly #redis: Redis | Cluster;

  private constructor({ place }: RedisStoreOptions, redis: Redis | Cluster) {
    this.place = placeInWords(place);
    this.#redis = redis;
  }

  static async open(options: RedisStoreOptions): Promise<RedisConfigStore> {
    const redis = await connect(options);
    const store = new RedisConfigStore(options, redis);
    // The failed command reports why the connection ended; but an 'error' event without a listener would end the program.
    let reason: unknown;
    redis.on('error', (error: unknown) => (reason = error));
    try {
      await redis.connect();
      await checkRole(redis, options);
      await redis.ping();
    } catch (error) {
      await store.close();
      throw unreachable(options, reason ?? error);
    }
    return store;
  }

  async read(subject: string): Promise<Buffer | undefined> {
    const key = subjectKey(subject);
    return (await this.#send(() => this.#redis.getBuffer(key))) ?? undefined;
  }

  async swap(subject: string, expected: Buffer | undefined, value: Buffer | undefined): Promise<boolean> {
    const words = [encodeOptional(expected), encodeOptional(value)];
    const key = subjectKey(subject);
    return (await this.#send(() => this.#redis.call('EVAL', SWAP_SCRIPT, 1, key, ...words))) === 1;
  }

  /** All string values under keys that could be subjects: Redis records nothing else about what it stores. */
  async *subjects(): AsyncGenerator<readonly string[]> {
    const redis = this.#redis;
    for (const node of redis instanceof Cluster ? redis.nodes('master') : [redis]) yield* this.#subjectsAt(node);
  }

  async *#subjectsAt(redis: Redis): AsyncGenerator<readonly string[]> {
    let cursor = '0';
    do {
      const [next, keys] = await this.#send(() =>
        redis.scanBuffer(cursor, 'COUNT', limits.recordsAtOnceMax, 'TYPE', 'string'),
      );
      cursor = next.toString();
      // The gateway's own keys begin with a byte that never occurs in UTF-8.
      yield keys.filter((key) => isUtf8(key)).map((key) => key.toString());
    } while (cursor !== '0');
  }

  async close(): Promise<void> {
    disconnectQuietly(this.#redis);
  }

  async #send<Answer>(command: () => Promise<Answer>): Promise<Answer> {
    try {
      return await command();
    } catch (error) {
      // No `cause`: ioredis errors carry the value.
      const reason = messageOf(error);
      throw new ConfigStoreFault(`${this.place} did not carry out the command: ${reason}; ${remedyFor(reason)}`);
    }
  }
}

async function connect(options: RedisStoreOptions): Promise<Redis | Cluster> {
  try {
    return await connectionTo(options);
  } catch (error) {
    throw unreachable(options, error);
  }
}

function unreachable({ place }: RedisStoreOptions, error: unknown): ConfigStoreFault {
  const reason = messageOf(error);
  return new ConfigStoreFault(`${placeInWords(place)} cannot be reached: ${reason}; ${remedyFor(reason)}`);
}

function remedyFor(reason: string): string {
  if (/^(?:NOAUTH|WRONGPASS)\b/.test(reason)) return 'correct --redis-username and --redis-password-file';
  if (/^NOPERM\b/.test(reason)) return 'allow its user +get +ping to read, +eval +set +del to change, +scan to list';
  if (reason.includes('--redis-mode')) return 'then try again';
  return "start it, or correct the --redis-… options, which must be the dataplane's, and try again";
}

function encodeOptional(value: Buffer | undefined): Buffer | string {
  return value === undefined ? '' : Buffer.concat([Buffer.from('='), value]);
}
