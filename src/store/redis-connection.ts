// One connection to Redis as the gateway makes it. It lives once: its owner makes another one when it is lost.
import { Cluster, Redis } from 'ioredis';
import type { ListenAddress, StoreOptions } from '../config/dataplane-options.js';
import { limits } from '../shared/limits.js';
import { isGarbled, watchReplies } from './redis-replies.js';

export type RedisStoreOptions = Extract<StoreOptions, { kind: 'redis' }>;

export type RedisAccess = Pick<RedisStoreOptions, 'username' | 'password' | 'tls'>;

/** A connection that tries once, queues nothing while it is not connected, and repeats no command. */
export function createConnection(access: RedisAccess, { host, port }: ListenAddress): Redis {
  const redis = new Redis({ host, port, ...optionsOf(access) });
  watchReplies(redis);
  return redis;
}

/** The same to each node of a cluster. A command goes where its key is, also while that moves. */
export function createClusterConnection(access: RedisAccess, nodes: readonly ListenAddress[]): Cluster {
  const redisOptions = optionsOf(access);
  const cluster = new Cluster([...nodes], {
    lazyConnect: true,
    clusterRetryStrategy: null,
    enableOfflineQueue: redisOptions.enableOfflineQueue,
    enableReadyCheck: redisOptions.enableReadyCheck,
    slotsRefreshTimeout: limits.redisCommandMsMax,
    redisOptions,
  });
  watchReplies(cluster);
  return cluster;
}

function optionsOf({ username, password, tls }: RedisAccess) {
  return {
    username,
    password,
    tls:
      tls.mode === 'plain-text'
        ? undefined
        : { ca: tls.trustBundle, cert: tls.clientCertificate, key: tls.clientPrivateKey },
    // In RESP3 invalidations are pushes, which ioredis does not hand out.
    protocol: 2 as const,
    lazyConnect: true,
    retryStrategy: null,
    enableOfflineQueue: false,
    autoResubscribe: false,
    autoResendUnfulfilledCommands: false,
    // Both need rights that the gateway's user has no other use for.
    enableReadyCheck: false,
    disableClientInfo: true,
    connectTimeout: limits.redisConnectMsMax,
    commandTimeout: limits.redisCommandMsMax,
    disconnectTimeout: limits.redisDisconnectMsMax,
  };
}

/** Ends it without an error that nobody hears. */
export function disconnect(connection: Redis | Cluster): void {
  // ioredis hears the first error of a socket; a TLS socket may have a second, and nobody hearing it ends the process.
  // The types hide that there is no socket before the first attempt to connect.
  const socket = 'stream' in connection ? (connection.stream as Redis['stream'] | undefined) : undefined;
  socket?.on('error', () => {});
  connection.disconnect();
}

/** The message alone: ioredis puts the arguments of a refused command on its errors, the password of AUTH among them. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // ioredis says what it was; and Redis, of a command that it does not know, what came with it.
  if (isGarbled(error)) return 'Redis answered what it was not asked';
  // Several addresses refused one by one give an error with a code and no message.
  const message = error.message !== '' || !('code' in error) ? error.message : String(error.code);
  return message.replace(/,? with args beginning with:.*$/s, '');
}
