// An HTTP proxy as companies have them: it makes tunnels (CONNECT) to hosts that only it knows.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { Test } from 'tap';

/** @param portOf the port of this machine that a host, as `name:port`, leads to. */
export async function startForwardProxy(
  t: Pick<Test, 'teardown'>,
  portOf: (authority: string) => number,
): Promise<ForwardProxy> {
  const proxy = new ForwardProxy(portOf);
  await proxy.listen(t);
  return proxy;
}

export class ForwardProxy {
  /** The heads of the requests for a tunnel. */
  readonly heads: string[] = [];
  readonly sockets = new Set<Socket>();
  /** In place of a tunnel; `undefined` for a tunnel. */
  answer: ((socket: Socket) => void) | undefined;
  port = 0;
  readonly #portOf: (authority: string) => number;

  constructor(portOf: (authority: string) => number) {
    this.#portOf = portOf;
  }

  /** Where the tunnels led that were asked for. */
  get authorities(): string[] {
    return this.heads.map((head) => head.split(' ')[1] ?? '');
  }

  async listen(t: Pick<Test, 'teardown'>): Promise<void> {
    const server = createServer((socket) => this.#accept(socket));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    this.port = (server.address() as AddressInfo).port;
    t.teardown(() => {
      server.close();
      for (const socket of this.sockets) socket.destroy();
    });
  }

  #accept(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('error', () => {}).on('close', () => this.sockets.delete(socket));
    socket.once('data', (chunk: Buffer) => {
      this.heads.push(chunk.toString());
      if (this.answer === undefined) this.#tunnel(socket);
      else this.answer(socket);
    });
  }

  #tunnel(socket: Socket): void {
    const out = connect(this.#portOf(this.authorities.at(-1) ?? ''), '127.0.0.1', () => {
      // A head in pieces, as slow networks bring it, behind an interim one.
      socket.write('HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 Connection est');
      setImmediate(() => {
        socket.write('ablished\r\nvia: 1.1 proxy\r\n\r\n');
        socket.pipe(out).pipe(socket);
      });
    });
    out.on('error', () => socket.destroy());
    socket.on('close', () => out.destroy());
  }
}
