// Creates connections to Redis with the gateway's options. A connection is used once: when it is lost, its owner creates another.
import { Redis } from 'ioredis';
import type { ListenAddress, StoreOptions } from '../config/index.js';
import { limits } from '../shared/index.js';
import { TLS_MISSING_ADVICE, RedisConnector } from './redis-connector.js';

/** Time for a connection to Redis to close. After that, the connection is cut. */
export const REDIS_DISCONNECT_MS_MAX = 200;

export type RedisStoreOptions = Extract<StoreOptions, { kind: 'redis' }>;

export type RedisAccess = Pick<RedisStoreOptions, 'username' | 'password' | 'tls'>;

/** A connection that tries to connect once, queues nothing while it is not connected, and never resends a command. */
export function createConnection(access: RedisAccess, { host, port }: ListenAddress): Redis {
  return new Redis({ host, port, ...optionsOf(access) });
}

function optionsOf({ username, password, tls }: RedisAccess) {
  return {
    username,
    password,
    tls:
      tls.mode === 'plain-text'
        ? undefined
        : { ca: tls.trustBundle, cert: tls.clientCertificate, key: tls.clientPrivateKey },
    // Typed by ioredis as one that takes any options.
    Connector: RedisConnector as never,
    // In RESP3, invalidations arrive as push messages, which ioredis does not expose.
    protocol: 2 as const,
    lazyConnect: true,
    retryStrategy: null,
    enableOfflineQueue: false,
    autoResubscribe: false,
    autoResendUnfulfilledCommands: false,
    // Both would need ACL permissions that the gateway's user needs for nothing else.
    enableReadyCheck: false,
    disableClientInfo: true,
    connectTimeout: limits.remoteAnswerMsMax,
    commandTimeout: limits.peerAnswerMsMax,
    disconnectTimeout: REDIS_DISCONNECT_MS_MAX,
  };
}

/** Disconnects without an unhandled 'error' event. */
export function disconnectQuietly(connection: Redis): void {
  // ioredis handles only the first error of a socket; a TLS socket may emit a second, which would end the process if unhandled. The types
  // hide that there is no socket before the first connection attempt.
  const socket = connection.stream as Redis['stream'] | undefined;
  socket?.on('error', () => {});
  connection.disconnect();
}

/** Earlier replies over such a connection may have belonged to other commands. */
export const UNEXPECTED_REPLY = 'Redis answered what it was not asked';
/** How ioredis begins to say so; it goes on with what was answered. */
const GARBLED_BEGINNINGS = /^(?:Command queue state error|Unknown RESP type)/;

/** Only the message: ioredis puts the arguments of a refused command on its errors, including the password of AUTH. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Both ioredis and Redis quote data in a message: ioredis the unexpected reply, Redis the arguments of an unknown command.
  if (GARBLED_BEGINNINGS.test(error.message)) return UNEXPECTED_REPLY;
  if ('code' in error && error.code === 'ERR_SSL_WRONG_VERSION_NUMBER') return TLS_MISSING_ADVICE;
  // When several addresses each refuse the connection, the error has a code but no message.
  const message = error.message !== '' || !('code' in error) ? error.message : String(error.code);
  return message.replace(/,? with args beginning with:.*$/s, '');
}
