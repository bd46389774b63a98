// Creates connections to Redis. A connection is used once: when it is lost, its owner creates another.
import { Redis } from 'ioredis';
import type { ListenAddress, StoreOptions } from '../config/index.js';
import { limits } from '../shared/index.js';
import { connect } from 'node:net';
import standalone from 'ioredis/built/connectors/StandaloneConnector.js';
import dataHandler from 'ioredis/built/DataHandler.js';

/** How long a connection may take to close. After that, its socket is destroyed. */
export const REDIS_DISCONNECT_MS_MAX = 200;

export type RedisStoreOptions = Extract<StoreOptions, { kind: 'redis' }>;

export type RedisAccess = Pick<RedisStoreOptions, 'username' | 'password' | 'tls'>;

/** A connection that tries to connect once, queues nothing while it is not connected, and never resends a command. */
export function createConnection(access: RedisAccess, { host, port }: ListenAddress): Redis {
  return new Redis({ host, port, ...ioredisOptions(access) });
}

function ioredisOptions({ username, password, tls }: RedisAccess) {
  return {
    username,
    password,
    tls:
      tls.mode === 'plain-text'
        ? undefined
        : { ca: tls.trustBundle, cert: tls.clientCertificate, key: tls.clientPrivateKey },
    // `never`, because ioredis's type asks for a connector that takes any options.
    Connector: RedisConnector as never,
    // RESP2, because RESP3 sends invalidations as push messages, which ioredis does not expose.
    protocol: 2 as const,
    lazyConnect: true,
    retryStrategy: null,
    enableOfflineQueue: false,
    autoResubscribe: false,
    autoResendUnfulfilledCommands: false,
    // These two features need ACL permissions that the gateway needs for nothing else.
    enableReadyCheck: false,
    disableClientInfo: true,
    connectTimeout: limits.remoteAnswerMsMax,
    commandTimeout: limits.peerAnswerMsMax,
    disconnectTimeout: REDIS_DISCONNECT_MS_MAX,
  };
}

/** Disconnects without an unhandled 'error' event. */
export function disconnectQuietly(connection: Redis): void {
  // A listener is needed: ioredis handles only the first error of a socket, and the second one of a TLS socket would end the process. There
  // is no socket before the first attempt to connect, although the types promise one.
  const socket = connection.stream as Redis['stream'] | undefined;
  socket?.on('error', () => {});
  connection.disconnect();
}

/** Why a link is lost when a reply fits no command. Earlier replies may have been matched with the wrong commands, too. */
export const UNEXPECTED_REPLY = 'its answer fits no request: make sure that the --redis-… options lead to a Redis';
/** How ioredis's messages about replies that fit no command begin. */
const GARBLED_BEGINNINGS = /^(?:Command queue state error|Unknown RESP type|Invalid array length)/;

/** The error's message alone: ioredis adds the arguments of a refused command to its errors, such as the password of AUTH. */
export function safeMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // ioredis's own message would quote the unexpected reply.
  if (GARBLED_BEGINNINGS.test(error.message)) return UNEXPECTED_REPLY;
  const code = 'code' in error ? String(error.code) : '';
  const [, tlsAdvice] = TLS_ADVICE.find(([codes]) => codes.test(code)) ?? [];
  if (tlsAdvice !== undefined) return tlsAdvice;
  if (/^(?:NOAUTH|WRONGPASS)\b/.test(error.message)) return `${error.message} ${CREDENTIALS_ADVICE}`;
  // When several addresses refuse the connection, the error has a code but no message.
  const message = error.message !== '' ? error.message : code;
  // Redis's message about an unknown command quotes the command's arguments, which are cut off.
  return message.replace(/,? with args beginning with:.*$/s, '');
}

/** Time for a TLS handshake. After that, a second connection asks whether Redis speaks plain text, while the handshake continues. */
export const REDIS_HANDSHAKE_MS_MAX = 250;

const TLS_MISSING_ADVICE = 'it answers, but not with TLS: give --redis-mode plain-text, or turn on TLS there';

/** By the codes of errors. OpenSSL's own messages say where in its source they are made. Its names of alerts change with its versions. */
const TLS_ADVICE: readonly (readonly [codes: RegExp, advice: string])[] = [
  [/^ERR_SSL_WRONG_VERSION_NUMBER$/, TLS_MISSING_ADVICE],
  [/_ALERT_CERTIFICATE_REQUIRED$/, 'it requires a client certificate: give --redis-mode mtls'],
  [
    /_ALERT_(?:UNKNOWN_CA|BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_\w+)$/,
    'it refuses the client certificate: it must be of an authority that is trusted there, and not have expired',
  ],
  [
    /^(?:SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_VERIFY_LEAF_SIGNATURE)$/,
    'its certificate is not of a trusted authority: give that in --redis-tls-trust-bundle',
  ],
];

const CREDENTIALS_ADVICE = 'Correct --redis-username and --redis-password-file';

/** The message when Redis closes a connection without having sent anything. */
const NO_ANSWER = 'it closed the connection without an answer: if it expects TLS, give --redis-mode tls or mtls';

/** The bytes with which a reply to PING can begin: `+PONG`, `-NOAUTH …`. */
const ANSWER_BEGINNINGS = Buffer.from('+-');

type Socket = Redis['stream'];

const { default: StandaloneConnector } = standalone;

/** Connects, and explains early when only one side speaks TLS: a Redis without TLS would wait silently for the end of a line. */
class RedisConnector extends StandaloneConnector {
  override async connect(onError: Parameters<InstanceType<typeof StandaloneConnector>['connect']>[0]): Promise<Socket> {
    const socket = await super.connect(onError);
    if (this.options.tls === undefined) explainClose(socket);
    else socket.once('connect', () => probeInPlainText(socket));
    return socket;
  }
}

function explainClose(socket: Socket): void {
  let isConnected = false;
  socket.once('connect', () => (isConnected = true));
  socket.on('error', (error: Error) => {
    if (isConnected && socket.bytesRead === 0) error.message = NO_ANSWER;
  });
  socket.once('end', () => {
    if (socket.bytesRead === 0 && !socket.writableEnded) socket.destroy(new Error(NO_ANSWER));
  });
}

/** When the TLS handshake takes long, sends PING over a plain-text connection. An answer fails the handshake, with advice. */
function probeInPlainText(socket: Socket): void {
  const { remoteAddress: host, remotePort: port = 0 } = socket;
  const timer = setTimeout(() => {
    const probe = connect({ host, port }, () => probe.write('PING\r\n'));
    probe.on('error', () => {});
    probe.once('data', (answer) => {
      if (ANSWER_BEGINNINGS.includes(answer.subarray(0, 1))) socket.destroy(new Error(TLS_MISSING_ADVICE));
      probe.destroy();
    });
    socket.once('close', () => probe.destroy());
  }, REDIS_HANDSHAKE_MS_MAX);
  for (const end of ['secureConnect', 'close']) socket.once(end, () => clearTimeout(timer));
}

interface DataHandler {
  dispatch(take: () => void): void;
  returnFatalError(error: unknown): void;
}

/**
 * Patches ioredis: when it cannot handle a reply, it throws on the next tick, which would end the process. With the patch, only the
 * connection fails.
 */
const { prototype } = dataHandler.default as unknown as { readonly prototype: DataHandler };
prototype.dispatch = function (this: DataHandler, take) {
  try {
    take();
  } catch (error) {
    this.returnFatalError(error);
  }
};
