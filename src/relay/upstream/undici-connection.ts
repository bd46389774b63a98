// One connection to a backend: an undici client that is given one request at a time, connects when it gets the first
// one, and again when it lost its socket. Also the place where undici's edges are rounded off, at the socket itself.
import type { Socket } from 'node:net';
import { Client, type buildConnector } from 'undici';
import { limits } from '../../shared/limits.js';
import type { UndiciCall } from './undici-call.js';
import { connectFaultKindOf, FaultError } from './undici-fault.js';

export interface ConnectionOwner {
  /** The call on it is over: it takes the next one. */
  onConnectionFree(connection: UndiciConnection): void;
  /** It has failed, or was closed while idle. It takes no further call; the owner has nothing to close. */
  onConnectionLost(connection: UndiciConnection): void;
}

export class UndiciConnection {
  readonly #owner: ConnectionOwner;
  readonly #client: Client;
  #call: UndiciCall | undefined;
  #isLost = false;

  /** @param origin as in `https://backend.example:8443`; throws when it is not one. */
  constructor(origin: string, connect: buildConnector.connector, owner: ConnectionOwner) {
    this.#owner = owner;
    const isTls = origin.startsWith('https:');
    this.#client = new Client(origin, {
      pipelining: 1,
      maxHeaderSize: limits.upstreamHeaderBytesMax,
      keepAliveTimeout: limits.upstreamConnectionIdleMs,
      // The relay keeps the deadlines of its requests itself.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (options, callback) => {
        connect(options, (error, socket) => {
          if (error !== null) {
            callback(new FaultError(connectFaultKindOf(error, isTls), { cause: error }), null);
            return;
          }
          this.#watch(socket);
          callback(null, socket);
        });
      },
    });
    this.#client.on('disconnect', () => {
      if (this.#call === undefined) this.#drop();
    });
  }

  send(call: UndiciCall): void {
    this.#call = call;
    call.connection = this;
    const { target, method, headers, body } = call.request;
    // undici copies the headers, its types just do not say so.
    const options = { path: target.path, method, headers: headers as string[], body: body ?? null };
    this.#client.dispatch(options, call);
  }

  /** The call on it is over, and the connection as good as before. */
  onCallDone(): void {
    this.#call = undefined;
    this.#owner.onConnectionFree(this);
  }

  /** The call on it has failed. */
  onCallLost(): void {
    this.#call = undefined;
    this.#drop();
  }

  /** Cuts it; the call on it ends in a fault. Resolved when the socket is closed. */
  async destroy(): Promise<void> {
    await this.#client.destroy();
  }

  #drop(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#owner.onConnectionLost(this);
    // Not from within its own callbacks.
    queueMicrotask(() => void this.#client.destroy());
  }

  /** Looks at what happens to the socket before undici does: these listeners are the first ones. */
  #watch(socket: Socket): void {
    // A body without a length ends with the connection, and undici asserts that it is not paused then: a slow reader
    // and a backend that closes would end the worker. Nothing more can come, so what is there is let out.
    socket.on('end', () => this.#call?.drain());
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // undici fails requests that it has not yet written when the idle connection for them is lost, except with this
      // code: then it writes them on a new one. And it takes a reset for the good end of a body without a length,
      // where it also asserts as above; with this code it is the loss of a connection like any other.
      if (this.#call?.isWritten !== true || error.code === 'ECONNRESET') error.code = 'UND_ERR_SOCKET';
    });
  }
}
