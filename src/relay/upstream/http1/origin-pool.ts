// The connections to one backend origin, and the calls that wait for one. Hot: taking a free connection is a pop.
import { limits } from '../../../shared/limits.js';
import type { Http1Call } from './http1-call.js';
import { Http1Connection, type ConnectionOwner, type ConnectionTarget } from './http1-connection.js';
import type { WriteBatch } from './write-batch.js';

export interface PoolBounds {
  readonly upstreamConnectionsMax: number;
  readonly upstreamRequestsWaitingMax: number;
}

export class OriginPool implements ConnectionOwner {
  readonly #target: ConnectionTarget;
  readonly #batch: WriteBatch;
  readonly #bounds: PoolBounds;
  readonly #all = new Set<Http1Connection>();
  /** The one used last is the last, and the next to be used: the others may grow old and close. */
  #free: Http1Connection[] = [];
  readonly #waiting = new Set<Http1Call>();
  #isClosed = false;

  constructor(target: ConnectionTarget, batch: WriteBatch, bounds: PoolBounds = limits) {
    this.#target = target;
    this.#bounds = bounds;
    this.#batch = batch;
  }

  /** Whether no connection is left, busy or free. */
  get isEmpty(): boolean {
    return this.#all.size === 0;
  }

  /** Whether no call is under way. */
  get isIdle(): boolean {
    return this.#all.size === this.#free.length && this.#waiting.size === 0;
  }

  send(call: Http1Call): void {
    const connection = this.#takeFree();
    if (connection !== undefined) connection.send(call);
    else if (this.#all.size < this.#bounds.upstreamConnectionsMax) this.#open().send(call);
    else if (this.#waiting.size < this.#bounds.upstreamRequestsWaitingMax) this.#wait(call);
    else call.failLater('backend-busy');
  }

  /** Closes what has been free for too long. */
  sweep(): void {
    for (const connection of this.#free) connection.sweep();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const call of this.#waiting) call.failLater('connection-lost');
    this.#waiting.clear();
    await Promise.all(Array.from(this.#all, (connection) => connection.destroy()));
  }

  onFree(connection: Http1Connection): void {
    const call = this.#takeWaiting();
    if (call === undefined) {
      this.#free.push(connection);
    } else {
      connection.send(call);
    }
  }

  onSpare(connection: Http1Connection): void {
    const call = this.#takeWaiting();
    if (call !== undefined) connection.send(call);
  }

  onLost(connection: Http1Connection, unsent: Http1Call | undefined): void {
    this.#all.delete(connection);
    const index = this.#free.indexOf(connection);
    if (index !== -1) this.#free.splice(index, 1);
    if (unsent !== undefined) this.#sendAgain(unsent);
    const call = this.#takeWaiting();
    if (call !== undefined) this.send(call);
  }

  /** On a connection of its own: kept ones may have been closed for the same reason. */
  #sendAgain(call: Http1Call): void {
    call.unsentCount += 1;
    if (this.#isClosed || call.unsentCount > limits.upstreamUnsentTriesMax) call.fail('connection-lost', true);
    else this.#open().send(call);
  }

  #takeFree(): Http1Connection | undefined {
    const connection = this.#free.pop();
    if (connection === undefined || connection.isUsable) return connection;
    // The others have been free for longer still.
    void connection.destroy();
    return undefined;
  }

  #takeWaiting(): Http1Call | undefined {
    if (this.#isClosed) return undefined;
    for (const call of this.#waiting) {
      this.#waiting.delete(call);
      call.queue = undefined;
      return call;
    }
    return undefined;
  }

  #wait(call: Http1Call): void {
    this.#waiting.add(call);
    call.queue = this.#waiting;
  }

  #open(): Http1Connection {
    const connection = new Http1Connection(this.#target, this.#batch, this);
    this.#all.add(connection);
    return connection;
  }
}
