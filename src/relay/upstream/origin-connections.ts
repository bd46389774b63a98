// The connections to one backend origin, and the requests that wait for one. Hot: taking a free connection is a pop.
// undici's own pool would search its clients in turn, and could not take a request back out of its queue.
import { buildConnector } from 'undici';
import { limits } from '../../shared/limits.js';
import type { UndiciCall } from './undici-call.js';
import { UndiciConnection, type ConnectionOwner } from './undici-connection.js';

export class OriginConnections implements ConnectionOwner {
  readonly #origin: string;
  /** Its own, so that no TLS session is offered to another origin on the same host. */
  readonly #connect: buildConnector.connector;
  readonly #all = new Set<UndiciConnection>();
  /** The one used last is the last, and the next to be used: the others may grow old and close. */
  readonly #free: UndiciConnection[] = [];
  readonly #waiting = new Set<UndiciCall>();
  readonly #connectionsMax: number;
  readonly #waitingMax: number;
  #isClosed = false;

  constructor(
    origin: string,
    connectTimeoutMs: number,
    connectionsMax: number = limits.upstreamConnectionsMax,
    waitingMax: number = limits.upstreamRequestsWaitingMax,
  ) {
    this.#origin = origin;
    this.#connectionsMax = connectionsMax;
    this.#waitingMax = waitingMax;
    this.#connect = buildConnector({ timeout: connectTimeoutMs });
  }

  /** Whether no call is under way. */
  get isIdle(): boolean {
    return this.#all.size === this.#free.length;
  }

  send(call: UndiciCall): void {
    const connection = this.#free.pop() ?? this.#open();
    if (connection !== undefined) {
      connection.send(call);
    } else if (this.#waiting.size < this.#waitingMax) {
      this.#waiting.add(call);
      call.queue = this.#waiting;
    } else {
      call.fail('backend-busy');
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const call of this.#waiting) call.fail('connection-lost');
    this.#waiting.clear();
    await Promise.all(Array.from(this.#all, (connection) => connection.destroy()));
  }

  onConnectionFree(connection: UndiciConnection): void {
    const call = this.#takeWaiting();
    if (call === undefined) this.#free.push(connection);
    else connection.send(call);
  }

  onConnectionLost(connection: UndiciConnection): void {
    this.#all.delete(connection);
    const index = this.#free.indexOf(connection);
    if (index !== -1) this.#free.splice(index, 1);
    const call = this.#takeWaiting();
    if (call !== undefined) this.send(call);
  }

  #open(): UndiciConnection | undefined {
    if (this.#all.size >= this.#connectionsMax) return undefined;
    const connection = new UndiciConnection(this.#origin, this.#connect, this);
    this.#all.add(connection);
    return connection;
  }

  #takeWaiting(): UndiciCall | undefined {
    if (this.#isClosed) return undefined;
    for (const call of this.#waiting) {
      this.#waiting.delete(call);
      return call;
    }
    return undefined;
  }
}
