// Where the Redis is: at an address of its own, where its sentinels say that it is now, or at the nodes of a cluster. Who connects asks each time, as it is
// elsewhere after a failover. Needs of an ACL user beside a sentinel: +role at the Redis, +sentinel|get-master-addr-by-name at the
// sentinels. Cold.
import type { Cluster, Redis } from 'ioredis';
import type { ListenAddress, RedisPlace } from '../config/dataplane-options.js';
import {
  createClusterConnection,
  createConnection,
  disconnect,
  messageOf,
  type RedisAccess,
  type RedisStoreOptions,
} from './redis-connection.js';
import { SLOTS } from './redis-slot.js';

/** Rejects when no sentinel can say. */
export async function findRedis(options: RedisStoreOptions): Promise<ListenAddress> {
  const { place } = options;
  if ('nodes' in place) throw new Error('a cluster is no one Redis');
  if (!('sentinels' in place)) return place;
  // All at once: those on a machine that is gone would be waited for, and a failover is when it matters.
  const { username, password, name } = place;
  const access = { username, password, tls: options.tls };
  const asked = place.sentinels.map((address) => askSentinel(access, address, name));
  try {
    return await Promise.any(asked);
  } catch (error) {
    const reasons = error instanceof AggregateError ? error.errors.map(messageOf) : [messageOf(error)];
    throw new Error(`no Sentinel knows where ${name} is: ${reasons.join('; ')}`);
  }
}

/** Rejects with a Redis that is not the one to write to: a sentinel that was cut off may not know better. */
export async function checkRole(redis: Redis | Cluster, { place }: RedisStoreOptions): Promise<void> {
  if (!('sentinels' in place)) return;
  const [role] = (await redis.role()) as readonly unknown[];
  if (role !== 'master')
    throw new Error(`the Redis that the Sentinels name is a ${String(role)}, which accepts no changes`);
}

export function placeInWords(place: RedisPlace): string {
  if ('nodes' in place) return `the Redis Cluster at ${place.nodes.map(addressInWords).join(', ')}`;
  if (!('sentinels' in place)) return `the Redis at ${addressInWords(place)}`;
  return `the Redis ${place.name} of the Sentinels at ${place.sentinels.map(addressInWords).join(', ')}`;
}

/** For whoever reads no changes: one connection, or one that leads to all nodes of a cluster. Rejects as `findRedis` does. */
export async function connectionTo(options: RedisStoreOptions): Promise<Redis | Cluster> {
  const { place } = options;
  if ('nodes' in place) return createClusterConnection(options, place.nodes);
  return createConnection(options, await findRedis(options));
}

/** Slots that one node of a cluster has, from the first to the last. */
export interface Shard {
  readonly first: number;
  readonly last: number;
  readonly address: ListenAddress;
}

/** Rejects when no node of the cluster can say. */
export async function findShards(options: RedisStoreOptions): Promise<readonly Shard[]> {
  const { place } = options;
  if (!('nodes' in place)) throw new Error('the Redis is not a cluster');
  try {
    return await Promise.any(place.nodes.map((address) => askNode(options, address)));
  } catch (error) {
    const reasons = error instanceof AggregateError ? error.errors.map(messageOf) : [messageOf(error)];
    throw new Error(`no node of the cluster knows where its slots are: ${reasons.join('; ')}`);
  }
}

async function askNode(access: RedisAccess, address: ListenAddress): Promise<readonly Shard[]> {
  const answer = await askOnce(access, address, (node) => node.cluster('SLOTS'));
  return (answer as readonly SlotRange[]).map(([first, last, [host, port]]) => {
    // Who goes through them must come to an end.
    if (!isSlot(first) || !isSlot(last))
      throw new Error(`${addressInWords(address)}: it names slots that there are not`);
    // Without a host it is that of the node which was asked.
    return { first, last, address: { host: host === null || host === '' ? address.host : host, port } };
  });
}

function isSlot(slot: unknown): slot is number {
  return Number.isInteger(slot) && Number(slot) >= 0 && Number(slot) < SLOTS;
}

/** As `CLUSTER SLOTS` has it: replicas follow the node. */
type SlotRange = readonly [first: number, last: number, node: readonly [host: string | null, port: number]];

async function askSentinel(access: RedisAccess, address: ListenAddress, name: string): Promise<ListenAddress> {
  const ask = (sentinel: Redis): Promise<unknown> => sentinel.call('SENTINEL', 'get-master-addr-by-name', name);
  const answer = await askOnce(access, address, ask);
  if (!Array.isArray(answer)) throw new Error(`${addressInWords(address)}: it does not know this name`);
  const [host, port] = answer as readonly unknown[];
  return { host: String(host), port: Number(port) };
}

/** One question on a connection of its own. */
async function askOnce(
  access: RedisAccess,
  address: ListenAddress,
  ask: (redis: Redis) => Promise<unknown>,
): Promise<unknown> {
  const redis = createConnection(access, address);
  // What fails the connection fails the command; an error that nobody hears would end the program.
  let reason: unknown;
  redis.on('error', (error) => (reason = error));
  try {
    await redis.connect();
    return await ask(redis);
  } catch (error) {
    throw new Error(`${addressInWords(address)}: ${messageOf(reason ?? error)}`);
  } finally {
    disconnect(redis);
  }
}

export function addressInWords({ host, port }: ListenAddress): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
