// A TCP relay between a store and its server that can hold back responses, or fall silent with its connections open.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { Test } from 'tap';

export interface ProxiedConnection {
  /** What the near side has sent so far, as Latin-1. */
  sent: string;
  /** Responses that were not passed on yet. */
  readonly held: Buffer[];
}

export class TcpProxy {
  readonly port: number;
  readonly connections: ProxiedConnection[] = [];
  readonly #sockets: Set<Socket>;
  #releases: (() => void)[] = [];
  #isHeld: (connection: ProxiedConnection) => boolean = () => false;

  private constructor(port: number, sockets: Set<Socket>) {
    this.port = port;
    this.#sockets = sockets;
  }

  static async start(t: Pick<Test, 'teardown'>, upstreamPort: number): Promise<TcpProxy> {
    const sockets = new Set<Socket>();
    const listener = createServer((near) => proxy.#join(near, connect(upstreamPort, '127.0.0.1')));
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const proxy = new TcpProxy((listener.address() as AddressInfo).port, sockets);
    t.teardown(() => {
      listener.close();
      for (const socket of sockets) socket.destroy();
    });
    return proxy;
  }

  /** Holds back the responses of these connections until they are released. */
  hold(isHeld: (connection: ProxiedConnection) => boolean): void {
    this.#isHeld = isHeld;
  }

  /** Passes on what was held, and everything from now on. */
  release(): void {
    this.#isHeld = () => false;
    const releases = this.#releases;
    this.#releases = [];
    for (const release of releases) release();
  }

  #join(near: Socket, far: Socket): void {
    const connection: ProxiedConnection = { sent: '', held: [] };
    this.connections.push(connection);
    near.on('data', (bytes) => {
      connection.sent += bytes.toString('latin1');
      far.write(bytes);
    });
    far.on('data', (bytes) => {
      if (!this.#isHeld(connection)) {
        near.write(bytes);
        return;
      }
      if (connection.held.push(bytes) > 1) return;
      this.#releases.push(() => {
        for (const held of connection.held.splice(0)) near.write(held);
      });
    });
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
  }
}
