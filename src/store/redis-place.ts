// Where the Redis is: at an address of its own, or where its sentinels say that it is now. Who connects asks each time, as it is
// elsewhere after a failover. Needs of an ACL user beside a sentinel: +role at the Redis, +sentinel|get-master-addr-by-name at the
// sentinels. Cold.
import type { Redis } from 'ioredis';
import type { ListenAddress, RedisPlace } from '../config/dataplane-options.js';
import {
  createConnection,
  disconnect,
  messageOf,
  type RedisAccess,
  type RedisStoreOptions,
} from './redis-connection.js';

/** Rejects when no sentinel can say. */
export async function findRedis(options: RedisStoreOptions): Promise<ListenAddress> {
  const { place } = options;
  if (!('sentinels' in place)) return place;
  // All at once: those on a machine that is gone would be waited for, and a failover is when it matters.
  const { username, password, name } = place;
  const access = { username, password, tls: options.tls };
  const asked = place.sentinels.map((address) => askSentinel(access, address, name));
  try {
    return await Promise.any(asked);
  } catch (error) {
    const reasons = error instanceof AggregateError ? error.errors.map(messageOf) : [messageOf(error)];
    throw new Error(`no sentinel says where ${name} is: ${reasons.join('; ')}`);
  }
}

/** Rejects with a Redis that is not the one to write to: a sentinel that was cut off may not know better. */
export async function checkRole(redis: Pick<Redis, 'role'>, { place }: RedisStoreOptions): Promise<void> {
  if (!('sentinels' in place)) return;
  const [role] = (await redis.role()) as readonly unknown[];
  if (role !== 'master')
    throw new Error(`the Redis that the sentinels name is a ${String(role)}, and takes no changes`);
}

export function placeInWords(place: RedisPlace): string {
  if (!('sentinels' in place)) return `the Redis at ${addressInWords(place)}`;
  return `the Redis ${place.name} of the sentinels at ${place.sentinels.map(addressInWords).join(', ')}`;
}

async function askSentinel(access: RedisAccess, address: ListenAddress, name: string): Promise<ListenAddress> {
  const sentinel = createConnection(access, address);
  // What fails the connection fails the command; an error that nobody hears would end the program.
  let reason: unknown;
  sentinel.on('error', (error) => (reason = error));
  try {
    await sentinel.connect();
    const answer = await sentinel.call('SENTINEL', 'get-master-addr-by-name', name);
    if (!Array.isArray(answer)) throw new Error('it knows none of this name');
    const [host, port] = answer as readonly unknown[];
    return { host: String(host), port: Number(port) };
  } catch (error) {
    throw new Error(`${addressInWords(address)}: ${messageOf(reason ?? error)}`);
  } finally {
    disconnect(sentinel);
  }
}

function addressInWords({ host, port }: ListenAddress): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
