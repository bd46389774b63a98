// Opens the sockets to Redis. With TLS, it notices at once that the other end expects plain text: such a Redis waits in silence for the
// end of a line, until the time for connecting is over. Cold path.
import { createConnection } from 'node:net';
import type { Redis } from 'ioredis';
import standalone from 'ioredis/built/connectors/StandaloneConnector.js';

/** Time for a TLS handshake with Redis. After it, the same address is asked whether it speaks plain text, and the handshake goes on. */
export const REDIS_HANDSHAKE_MS_MAX = 250;

export const NO_TLS = 'it answers, but not with TLS: give --redis-mode plain-text, or turn on TLS there';

/** How Redis begins `+PONG`, and `-NOAUTH …`. */
const ANSWER_BEGINNINGS = Buffer.from('+-');

type Socket = Redis['stream'];

const { default: StandaloneConnector } = standalone;

export class RedisConnector extends StandaloneConnector {
  override async connect(onError: Parameters<InstanceType<typeof StandaloneConnector>['connect']>[0]): Promise<Socket> {
    const socket = await super.connect(onError);
    if (this.options.tls !== undefined) socket.once('connect', () => doubt(socket));
    return socket;
  }
}

/** When the handshake takes long, asks in plain text, over another connection and without a password. */
function doubt(socket: Socket): void {
  const { remoteAddress: host, remotePort: port = 0 } = socket;
  const timer = setTimeout(() => {
    const question = createConnection({ host, port }, () => question.write('PING\r\n'));
    question.on('error', () => {});
    question.once('data', (answer) => {
      if (ANSWER_BEGINNINGS.includes(answer.subarray(0, 1))) socket.destroy(new Error(NO_TLS));
      question.destroy();
    });
    for (const end of ['secureConnect', 'close']) socket.once(end, () => question.destroy());
  }, REDIS_HANDSHAKE_MS_MAX);
  for (const end of ['secureConnect', 'close']) socket.once(end, () => clearTimeout(timer));
}
