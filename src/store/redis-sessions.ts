// Records of sessions in Redis, shared by all machines: under each key a version and the bytes. Redis reports when another machine changes
// a record that was read or written over this link. A removed record leaves a mark, version 0, for a while, so that its session is not
// taken for one that Redis has lost. Cold path. ACL permissions: +eval +get +set +pexpire +pttl +ping +publish +subscribe +client|id
// +client|tracking, on keys that begin with \xff, and the channels __redis__:invalidate and switchyard/sessions/*.
import type { Logger } from '../shared/index.js';
import type { RedisStoreOptions } from './redis-connection.js';
import { readValue } from './redis-link.js';
import { RedisPeers } from './redis-peers.js';
import { ReconnectingLink } from './redis-reconnecting-link.js';
import type { KnownVersion, SealedRead, SealedSession, SealedSessions } from './sealed-sessions.js';

const KEY_PREFIX = Buffer.concat([Buffer.from([0xff]), Buffer.from('session/')]);
const VERSION_BYTES = 8;
const ENDED_MARK = versionBytes(0);

/**
 * KEYS: the record. ARGV: the expected version, as bytes, or '' for none; the new value; its life in ms. Ends with a read of the
 * record, because Redis reports only changes of keys that were read since their last change.
 */
const WRITE_SCRIPT = `
local present = redis.call('GET', KEYS[1])
if (present and string.sub(present, 1, ${VERSION_BYTES}) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
redis.call('GET', KEYS[1])
return 1`;

/** KEYS: the record. ARGV: its life from now on, in ms. Returns 0 if there is no record, or only a mark. */
const RENEW_SCRIPT = `
local present = redis.call('GET', KEYS[1])
if not present or #present == ${VERSION_BYTES} then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
redis.call('GET', KEYS[1])
return 1`;

/**
 * KEYS: the record. ARGV: the longest remaining life, in ms, with which it is removed, or '' for any; the mark and its life in ms; the
 * known version, as bytes, or '' for any; the mark's life in ms if the record has another version. Returns 0 if nothing was done.
 * Otherwise leaves a mark, and returns the removed record if it had another version, else 1, even if there was no record.
 */
const REMOVE_SCRIPT = `
local present = redis.call('GET', KEYS[1])
if present and #present == ${VERSION_BYTES} then return 0 end
if present and ARGV[1] ~= '' and redis.call('PTTL', KEYS[1]) > tonumber(ARGV[1]) then return 0 end
local isLater = present and ARGV[4] ~= '' and string.sub(present, 1, ${VERSION_BYTES}) ~= ARGV[4]
redis.call('SET', KEYS[1], ARGV[2], 'PX', isLater and ARGV[5] or ARGV[3])
return isLater and present or 1`;

export class RedisSessions implements SealedSessions {
  readonly isMultiMachine = true;
  onChanged: SealedSessions['onChanged'];
  readonly peers = new RedisPeers((channel, message) => this.#publish(channel, message));
  readonly #link: ReconnectingLink;

  private constructor(options: RedisStoreOptions, logger: Logger) {
    const events = {
      onLive: () => {
        logger.info('Redis is connected for sessions');
        this.onChanged?.(undefined);
      },
      onChanged: (keys: readonly Buffer[]) => {
        for (const key of keys) this.onChanged?.(key.subarray(KEY_PREFIX.length));
      },
      onFlushed: () => this.onChanged?.(undefined),
      onPublished: (message: string) => this.peers.onPublished(message),
      onSubscriptionRefused: (reason: string) => {
        this.peers.cannotReceive = true;
        logger.warn(
          { reason },
          'cannot subscribe to the ends of sessions in Redis: this process may still serve sessions that other processes have ended',
        );
      },
      onLost: (reason: string, isNew: boolean) => {
        this.peers.cannotReceive = false;
        if (isNew) logger.warn({ reason }, 'Redis cannot be reached for sessions');
      },
    };
    this.#link = new ReconnectingLink(options, events, { includesOwnChanges: false, channel: this.peers.channel });
  }

  static async open(options: RedisStoreOptions, logger: Logger): Promise<RedisSessions> {
    const sessions = new RedisSessions(options, logger);
    await sessions.#link.open();
    return sessions;
  }

  async read(key: Buffer): Promise<SealedRead> {
    return decodeSealed(await this.#link.send((link) => readValue(link, redisKeyOf(key))));
  }

  async write(key: Buffer, { version, bytes }: SealedSession, lifeMs: number): Promise<boolean> {
    const before = version === 1 ? '' : versionBytes(version - 1);
    const value = Buffer.concat([versionBytes(version), bytes]);
    return (await this.#evaluate(WRITE_SCRIPT, key, before, value, wholeMs(lifeMs))) === 1;
  }

  async renew(key: Buffer, lifeMs: number): Promise<boolean> {
    return (await this.#evaluate(RENEW_SCRIPT, key, wholeMs(lifeMs))) === 1;
  }

  async remove(key: Buffer, markMs: number, leftMsMax: number, known?: KnownVersion): Promise<boolean | SealedSession> {
    const leftMax = leftMsMax === Infinity ? '' : wholeMs(leftMsMax);
    const knownArgs = known ? [versionBytes(known.version), wholeMs(known.laterMarkMs)] : ['', ''];
    const answer = await this.#evaluate(REMOVE_SCRIPT, key, leftMax, ENDED_MARK, wholeMs(markMs), ...knownArgs);
    const removed = decodeSealed(answer);
    return typeof removed === 'object' ? removed : answer === 1;
  }

  async close(): Promise<void> {
    this.#link.close();
  }

  /** Publishes a message to one channel. A process subscribes at every node of a cluster, so it gets the message once per node. */
  async #publish(channel: string, message: string): Promise<number> {
    const key = Buffer.from(channel);
    return this.#link.send((link) => link.run(key, (redis) => redis.publish(channel, message)));
  }

  async #evaluate(script: string, key: Buffer, ...args: readonly (Buffer | string)[]): Promise<unknown> {
    const redisKey = redisKeyOf(key);
    return this.#link.send((link) =>
      link.run(redisKey, (redis) => redis.callBuffer('EVAL', script, 1, redisKey, ...args)),
    );
  }
}

function decodeSealed(value: unknown): SealedRead {
  if (!Buffer.isBuffer(value) || value.length < VERSION_BYTES) return undefined;
  if (value.length === VERSION_BYTES) return 'ended';
  return { version: value.readDoubleBE(), bytes: value.subarray(VERSION_BYTES) };
}

function redisKeyOf(key: Buffer): Buffer {
  return Buffer.concat([KEY_PREFIX, key]);
}

function versionBytes(version: number): Buffer {
  const bytes = Buffer.alloc(VERSION_BYTES);
  bytes.writeDoubleBE(version);
  return bytes;
}

function wholeMs(ms: number): string {
  return String(Math.max(1, Math.round(ms)));
}
