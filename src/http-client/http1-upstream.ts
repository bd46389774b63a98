// The upstream HTTP client: HTTP/1.1 over persistent connections, one request at a time on each. A request is sent again only if none of it
// was written, or not all of it on a reused connection: otherwise it may have been executed.
import type { Names } from './names/names.js';
import { limits, perSubject } from '../shared/index.js';
import type { HttpUpstream, UpstreamCall, UpstreamHandler, UpstreamRequest } from './http-upstream.js';
import type { UpstreamFaultKind } from './upstream-fault.js';
import { secureContextFor, ConnectionTarget, type ConnectionDependencies, TlsSessions } from './connection-target.js';
import { BackendShares, type BackendShareBounds, type SubjectUse } from './backend-shares.js';
import { Http1Call, WriteBatch } from './http1-connection.js';
import { OriginPool, type PoolBounds, type PoolOwner } from './origin-pool.js';
import { ReadScheduler } from './read-scheduler.js';
import { connectionBounds } from './connection-bounds.js';

interface Http1UpstreamOptions {
  readonly connectTimeoutMs: number;
  readonly pool?: Partial<PoolBounds> | undefined;
  readonly shares?: Partial<BackendShareBounds>;
  readonly names: Names;
  /** The read scheduler, shared by all connections of an event loop; created when absent. */
  readonly readScheduler?: ReadScheduler;
  /** PEM of certificate authorities in addition to those of Node.js. */
  readonly authorities?: string | undefined;
}

const POOL_BOUNDS: PoolBounds = {
  connectionsMax: limits.upstreamConnectionsTotalMax,
  connectionsPerSubjectMax: perSubject(limits.upstreamConnectionsTotalMax),
  connectingMax: connectionBounds.upstreamConnectingMax,
  waitingMax: limits.waitingMax,
  waitingPerSubjectMax: perSubject(limits.waitingMax),
};

export class Http1Upstream implements HttpUpstream, PoolOwner {
  readonly shares: BackendShares;
  readonly #dependencies: ConnectionDependencies;
  readonly #poolBounds: PoolBounds;
  readonly #pools = new Map<string, OriginPool>();
  readonly #batch = new WriteBatch();
  readonly #sweep: NodeJS.Timeout;
  #isClosed = false;

  constructor(options: Http1UpstreamOptions) {
    const { connectTimeoutMs, names, readScheduler = new ReadScheduler(), authorities } = options;
    this.#dependencies = {
      connectTimeoutMs,
      names,
      tlsSessions: new TlsSessions(),
      readScheduler,
      secureContext: secureContextFor(authorities),
    };
    this.#poolBounds = { ...POOL_BOUNDS, ...options.pool };
    this.shares = new BackendShares(options.shares);
    this.#sweep = setInterval(() => this.#closeUnused(), connectionBounds.upstreamSweepMs).unref();
  }

  dispatch(request: UpstreamRequest, handler: UpstreamHandler): UpstreamCall {
    const call = new Http1Call(request, handler);
    const { origin } = request.target;
    const pool = this.#pools.get(origin) ?? this.#openPool(origin, request.subject);
    if (this.#isClosed) call.failLater('connection-lost');
    else if (call.bytes === undefined) call.failLater('request-invalid');
    else if (typeof pool === 'string') call.failLater(pool);
    else pool.send(call);
    return call;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#sweep);
    await Promise.all(Array.from(this.#pools.values(), (pool) => pool.close()));
    this.#pools.clear();
  }

  /** Closes a free connection of the first origin that has one. */
  tryMakeRoom(): boolean {
    for (const pool of this.#pools.values()) if (pool.tryCloseFree()) return true;
    return false;
  }

  #openPool(origin: string, subject: string): OriginPool | UpstreamFaultKind {
    if (this.#isClosed || !/^https?:\/\/[^/]+$/.test(origin) || !URL.canParse(origin)) return 'connect-failed';
    const obstacle = this.#dependencies.names.guard.obstacleOfHost(new URL(origin).hostname);
    if (obstacle !== undefined) return obstacle;
    const use = this.shares.useOf(subject);
    const { poolsMax, poolsPerSubjectMax } = this.shares.bounds;
    // A new pool is refused only if each pool that counts against the bound has a call in progress.
    if (use.poolCount >= poolsPerSubjectMax && !this.#closeIdleOf(use)) return 'connections-share-used';
    if (this.#pools.size >= poolsMax && !this.#closeIdleOf(use) && !this.#closeOneIdle()) return 'connections-used';
    const target = new ConnectionTarget(origin, this.#dependencies);
    const pool = new OriginPool(target, use, this, this.#batch, this.#poolBounds);
    this.#pools.set(origin, pool);
    use.pools.append(pool);
    use.poolCount += 1;
    return pool;
  }

  #closeUnused(): void {
    for (const pool of this.#pools.values()) {
      pool.sweep();
      if (pool.isEmpty) this.#forget(pool);
    }
    this.shares.sweep();
  }

  /** Closes the oldest pool that was opened for the subject and has no call. @returns whether there was one. */
  #closeIdleOf(use: SubjectUse): boolean {
    for (let pool = use.pools.next; pool instanceof OriginPool; pool = pool.next) {
      if (pool.isIdle) return this.#closePool(pool);
    }
    return false;
  }

  #closeOneIdle(): boolean {
    for (const pool of this.#pools.values()) if (pool.isIdle) return this.#closePool(pool);
    return false;
  }

  #closePool(pool: OriginPool): true {
    this.#forget(pool);
    void pool.close();
    return true;
  }

  #forget(pool: OriginPool): void {
    this.#pools.delete(pool.origin);
    pool.unlink();
    pool.openedForSubject.poolCount -= 1;
  }
}
