// A server that speaks enough of Redis' protocol (RESP2) for a link to become live, and answers every GET with bytes that
// the test chooses: for replies that a real Redis never gives.
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Test } from 'tap';
import type { RedisStoreOptions } from '../../src/store/redis-connection.js';

const FLUSHED = '*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n*-1\r\n';
const PONG_OF_SUBSCRIBER = '*2\r\n$4\r\npong\r\n$0\r\n\r\n';
const SUBSCRIBED = '*3\r\n$9\r\nsubscribe\r\n$20\r\n__redis__:invalidate\r\n:1\r\n';

/** The reply to CLUSTER SLOTS. */
export function slotsIn(
  ...nodes: (readonly [first: number, last: number, host: string | null, port: number])[]
): string {
  const text = (words: string | null): string => (words === null ? '$-1\r\n' : `$${words.length}\r\n${words}\r\n`);
  const lines = nodes.map(
    ([first, last, host, port]) => `*3\r\n:${first}\r\n:${last}\r\n*2\r\n${text(host)}:${port}\r\n`,
  );
  return `*${nodes.length}\r\n${lines.join('')}`;
}

export class FakeRedis {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #subscribers = new Set<Socket>();
  /** The whole reply to the next GETs. */
  reply: Buffer = Buffer.from('$-1\r\n');
  gets = 0;
  subscriptions = 0;
  /** The whole reply to each SUBSCRIBE. */
  subscribeReply = SUBSCRIBED;
  /** The whole reply to each CLUSTER SLOTS. */
  slotsReply = '*0\r\n';
  /** The whole reply to each question of where the master is, as Sentinels are asked. */
  sentinelReply = '*-1\r\n';
  /** What was asked so, and the credentials, each command's words separated by spaces. */
  readonly asked: string[] = [];
  role = 'master';
  /** The whole reply to each PING. */
  pingReply = '+PONG\r\n';
  pings = 0;
  askings = 0;

  constructor() {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        this.#subscribers.delete(socket);
      });
      socket.on('error', () => {});
      socket.on('data', (data) => this.#onData(socket, data));
    });
  }

  async start(t: Pick<Test, 'teardown'>): Promise<RedisStoreOptions> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    t.teardown(() => {
      for (const socket of this.#sockets) socket.destroy();
      this.#server.close();
    });
    const { port } = this.#server.address() as AddressInfo;
    return {
      kind: 'redis',
      location: { host: '127.0.0.1', port },
      username: undefined,
      password: undefined,
      tls: { mode: 'plain-text' },
      staleGraceMs: 0,
    };
  }

  get connectionCount(): number {
    return this.#sockets.size;
  }

  /** Answers GETs that an empty reply left pending. */
  answerAll(reply: string, count: number): void {
    this.say('data', reply.repeat(count));
  }

  /** Announces the loss of all keys. */
  flush(): void {
    this.say('changes', FLUSHED);
  }

  /** Sends an unsolicited reply on all connections of one kind. */
  say(where: 'changes' | 'data', reply: string): void {
    for (const socket of this.#sockets)
      if (this.#subscribers.has(socket) === (where === 'changes')) socket.write(reply);
  }

  /** Closes every connection gracefully. */
  endAll(): void {
    for (const socket of this.#sockets) socket.end();
  }

  /** Commands always arrive whole: they are short, and loopback does not split them. */
  #onData(socket: Socket, data: Buffer): void {
    // What answers commands that came together comes together.
    socket.cork();
    process.nextTick(() => socket.uncork());
    for (const command of data.toString('latin1').split(/(?=\*\d+\r\n\$)/)) {
      const name = command.split('\r\n')[2]?.toLowerCase();
      if (name === 'get') {
        this.gets++;
        socket.write(this.reply);
      } else if (name === 'subscribe') {
        this.subscriptions++;
        this.#subscribers.add(socket);
        socket.write(this.subscribeReply);
      } else if (name === 'ping') {
        this.pings++;
        socket.write(this.#subscribers.has(socket) ? PONG_OF_SUBSCRIBER : this.pingReply);
      } else if (name === 'sentinel' || name === 'auth') {
        this.asked.push(
          command
            .split('\r\n')
            .slice(2)
            .filter((_, index) => index % 2 === 0)
            .join(' ')
            .trim(),
        );
        socket.write(name === 'auth' ? '+OK\r\n' : this.sentinelReply);
      } else if (name === 'role') {
        socket.write(`*1\r\n$${this.role.length}\r\n${this.role}\r\n`);
      } else if (name === 'cluster') {
        socket.write(this.slotsReply);
      } else if (name === 'asking') {
        this.askings++;
        socket.write('+OK\r\n');
      } else if (command.includes('ID')) socket.write(':7\r\n');
      else socket.write('+OK\r\n');
    }
  }
}
