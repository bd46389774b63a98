// Opens the sockets to Redis, and says at once when the other end expects TLS where this one speaks plain text, or the other way round: a
// Redis that speaks plain text waits in silence for the end of a line, until the time for connecting is over. Cold path.
import { createConnection } from 'node:net';
import type { Redis } from 'ioredis';
import standalone from 'ioredis/built/connectors/StandaloneConnector.js';
import dataHandler from 'ioredis/built/DataHandler.js';

/** Time for a TLS handshake with Redis. After that, the same address is asked whether it speaks plain text, and the handshake goes on. */
export const REDIS_HANDSHAKE_MS_MAX = 250;

export const TLS_MISSING_ADVICE = 'it answers, but not with TLS: give --redis-mode plain-text, or turn on TLS there';

/** What a Redis does that gets plain text and expects TLS. */
const NO_ANSWER = 'it closed the connection without an answer: if it expects TLS, give --redis-mode tls or mtls';

/** How Redis begins `+PONG`, and `-NOAUTH …`. */
const ANSWER_BEGINNINGS = Buffer.from('+-');

type Socket = Redis['stream'];

const { default: StandaloneConnector } = standalone;

export class RedisConnector extends StandaloneConnector {
  override async connect(onError: Parameters<InstanceType<typeof StandaloneConnector>['connect']>[0]): Promise<Socket> {
    const socket = await super.connect(onError);
    if (this.options.tls === undefined) nameSilence(socket);
    else socket.once('connect', () => doubt(socket));
    return socket;
  }
}

function nameSilence(socket: Socket): void {
  let isConnected = false;
  socket.once('connect', () => (isConnected = true));
  socket.on('error', (error: Error) => {
    if (isConnected && socket.bytesRead === 0) error.message = NO_ANSWER;
  });
  socket.once('end', () => {
    if (socket.bytesRead === 0 && !socket.writableEnded) socket.destroy(new Error(NO_ANSWER));
  });
}

/** When the handshake takes long, asks in plain text, over another connection and without a password. */
function doubt(socket: Socket): void {
  const { remoteAddress: host, remotePort: port = 0 } = socket;
  const timer = setTimeout(() => {
    const question = createConnection({ host, port }, () => question.write('PING\r\n'));
    question.on('error', () => {});
    question.once('data', (answer) => {
      if (ANSWER_BEGINNINGS.includes(answer.subarray(0, 1))) socket.destroy(new Error(TLS_MISSING_ADVICE));
      question.destroy();
    });
    for (const end of ['secureConnect', 'close']) socket.once(end, () => question.destroy());
  }, REDIS_HANDSHAKE_MS_MAX);
  for (const end of ['secureConnect', 'close']) socket.once(end, () => clearTimeout(timer));
}

interface Handler {
  dispatch(take: () => void): void;
  returnFatalError(error: unknown): void;
}

/**
 * Patched: when a reply cannot be handled, ioredis throws again on the next tick, which would end the process. Here only the connection
 * fails, which is of no use after that.
 */
const { prototype } = dataHandler.default as unknown as { readonly prototype: Handler };
prototype.dispatch = function (this: Handler, take) {
  try {
    take();
  } catch (error) {
    this.returnFatalError(error);
  }
};
