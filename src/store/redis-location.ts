// Finds the Redis: at a fixed address, where its sentinels report it, or at the nodes of a cluster. This is done for each new link, because
// a failover moves the Redis. ACL permissions with sentinels: +role at the Redis, +sentinel|get-master-addr-by-name at the sentinels.
// Cold path.
import type { Redis } from 'ioredis';
import { formatAddress, type ListenAddress, type RedisLocation } from '../config/index.js';
import {
  createConnection,
  disconnectQuietly,
  safeMessage,
  type RedisAccess,
  type RedisStoreOptions,
} from './redis-connection.js';

/** The number of slots of a Redis Cluster. Only keys in one slot can be changed together. */
export const SLOT_COUNT = 16_384;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/** The slot of a key, by the CRC16 of the key, or of the text in its first pair of braces. */
export function redisSlotOf(key: Buffer): number {
  return crc16(hashedPart(key)) % SLOT_COUNT;
}

/** A tag that puts other keys into the slot of this key, when they begin with the tag in braces. */
export function slotTag(key: Buffer): Buffer {
  const part = hashedPart(key);
  if (part.length > 0 && !part.includes(CLOSING_BRACE)) return part;
  // This text cannot be a tag. Instead, a number with the same slot is found: one in 16,384 numbers has it.
  const slot = crc16(part) % SLOT_COUNT;
  for (let number = 0; ; number++) {
    const tag = Buffer.from(String(number));
    if (crc16(tag) % SLOT_COUNT === slot) return tag;
  }
}

function hashedPart(key: Buffer): Buffer {
  const open = key.indexOf(OPENING_BRACE);
  const close = open === -1 ? -1 : key.indexOf(CLOSING_BRACE, open + 1);
  return close > open + 1 ? key.subarray(open + 1, close) : key;
}

/** CRC-16/XMODEM: polynomial 0x1021, initial value 0. */
function crc16(bytes: Buffer): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021) & 0xffff;
  }
  return crc;
}

/** Finds the address of a Redis that is no cluster. Rejects when no sentinel knows it. */
export async function findRedis(options: RedisStoreOptions): Promise<ListenAddress> {
  const { location } = options;
  if ('nodes' in location) throw new Error('a cluster is no one Redis');
  if (!('sentinels' in location)) return location;
  // All sentinels are asked at once, because a failover often loses a machine with one.
  const { username, password, name } = location;
  const access = { username, password, tls: options.tls };
  const answers = location.sentinels.map((address) => askSentinel(access, address, name));
  return firstAnswer(answers, `no Sentinel knows where ${name} is`);
}

async function firstAnswer<Answer>(answers: readonly Promise<Answer>[], problem: string): Promise<Answer> {
  try {
    return await Promise.any(answers);
  } catch (error) {
    throw new Error(`${problem}: ${(error as AggregateError).errors.map(safeMessage).join('; ')}`);
  }
}

/** Rejects when the Redis that sentinels have named is not a master: a sentinel that was cut off may name a former one. */
export async function checkRole(redis: Redis, { location }: RedisStoreOptions): Promise<void> {
  if (!('sentinels' in location)) return;
  const [role] = (await redis.role()) as readonly unknown[];
  if (role !== 'master')
    throw new Error(`the Redis that the Sentinels name is a ${String(role)}, which accepts no changes`);
}

export function redisInWords(location: RedisLocation): string {
  if ('nodes' in location) return `the Redis Cluster at ${location.nodes.map(formatAddress).join(', ')}`;
  if (!('sentinels' in location)) return `the Redis at ${formatAddress(location)}`;
  return `the Redis ${location.name} of the Sentinels at ${location.sentinels.map(formatAddress).join(', ')}`;
}

/** A range of slots, `first` and `last` included, and the address of its node. */
interface Shard {
  readonly first: number;
  readonly last: number;
  readonly address: ListenAddress;
}

/** Asks all given nodes of a cluster which node has which slots; the first answer counts. Rejects when no node answers. */
export async function findShards(options: RedisStoreOptions): Promise<readonly Shard[]> {
  const { location } = options;
  if (!('nodes' in location)) throw new Error('the Redis is not a cluster');
  const answers = location.nodes.map((address) => askNode(options, address));
  return firstAnswer(answers, 'no node of the cluster knows where its slots are');
}

async function askNode(access: RedisAccess, address: ListenAddress): Promise<readonly Shard[]> {
  const answer = await askOnce(access, address, (node) => node.cluster('SLOTS'));
  return (answer as readonly SlotRange[]).map(([first, last, [host, port]]) => {
    // Checked, because the caller loops over the range.
    if (!isSlot(first) || !isSlot(last)) throw new Error(`${formatAddress(address)}: it names slots that do not exist`);
    // An absent host means the node that was asked.
    return { first, last, address: { host: host === null || host === '' ? address.host : host, port } };
  });
}

function isSlot(slot: unknown): slot is number {
  return Number.isInteger(slot) && Number(slot) >= 0 && Number(slot) < SLOT_COUNT;
}

/** An entry of `CLUSTER SLOTS`, without replicas. */
type SlotRange = readonly [first: number, last: number, node: readonly [host: string | null, port: number]];

async function askSentinel(access: RedisAccess, address: ListenAddress, name: string): Promise<ListenAddress> {
  const ask = (sentinel: Redis): Promise<unknown> => sentinel.call('SENTINEL', 'get-master-addr-by-name', name);
  const answer = await askOnce(access, address, ask);
  if (!Array.isArray(answer)) throw new Error(`${formatAddress(address)}: it does not know this name`);
  const [host, port] = answer as readonly unknown[];
  return { host: String(host), port: Number(port) };
}

async function askOnce(
  access: RedisAccess,
  address: ListenAddress,
  ask: (redis: Redis) => Promise<unknown>,
): Promise<unknown> {
  const redis = createConnection(access, address);
  // An 'error' event without a listener would end the program.
  let reason: unknown;
  redis.on('error', (error) => (reason = error));
  try {
    await redis.connect();
    return await ask(redis);
  } catch (error) {
    throw new Error(`${formatAddress(address)}: ${safeMessage(reason ?? error)}`);
  } finally {
    disconnectQuietly(redis);
  }
}
