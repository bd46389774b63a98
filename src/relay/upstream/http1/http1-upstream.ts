// The upstream HTTP client: HTTP/1.1 over connections that are kept, one request on each at a time. A request that could
// not be written is written again on a new connection; one that was written never is, for it may have been executed.
import { limits } from '../../../shared/limits.js';
import type { HttpUpstream, UpstreamCall, UpstreamHandler, UpstreamRequest } from '../http-upstream.js';
import type { UpstreamFaultKind } from '../upstream-fault.js';
import { Http1Call } from './http1-call.js';
import { OriginPool } from './origin-pool.js';
import { WriteBatch } from './write-batch.js';

export class Http1Upstream implements HttpUpstream {
  readonly #connectTimeoutMs: number;
  readonly #originsMax: number;
  readonly #pools = new Map<string, OriginPool>();
  readonly #batch = new WriteBatch();
  readonly #sweep: NodeJS.Timeout;
  #isClosed = false;

  constructor(options: { readonly connectTimeoutMs: number; readonly originsMax?: number }) {
    this.#connectTimeoutMs = options.connectTimeoutMs;
    this.#originsMax = options.originsMax ?? limits.upstreamOriginsMax;
    this.#sweep = setInterval(() => this.#closeUnused(), limits.upstreamSweepMs).unref();
  }

  dispatch(request: UpstreamRequest, handler: UpstreamHandler): UpstreamCall {
    const call = new Http1Call(request, handler);
    const pool = this.#poolOf(request.target.origin);
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

  #poolOf(origin: string): OriginPool | UpstreamFaultKind {
    const known = this.#pools.get(origin);
    if (known !== undefined) return known;
    if (this.#isClosed || !/^https?:\/\/[^/]+$/.test(origin) || !URL.canParse(origin)) return 'connect-failed';
    // As many origins at once as there may be, each with a call under way.
    if (this.#pools.size >= this.#originsMax && !this.#closeOneIdle()) return 'backend-busy';
    const pool = new OriginPool(new URL(origin), this.#connectTimeoutMs, this.#batch);
    this.#pools.set(origin, pool);
    return pool;
  }

  #closeUnused(): void {
    for (const [origin, pool] of this.#pools) {
      pool.sweep();
      if (pool.isEmpty) this.#pools.delete(origin);
    }
  }

  #closeOneIdle(): boolean {
    for (const [origin, pool] of this.#pools) {
      if (!pool.isIdle) continue;
      this.#pools.delete(origin);
      void pool.close();
      return true;
    }
    return false;
  }
}
