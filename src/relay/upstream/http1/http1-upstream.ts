// The upstream HTTP client: HTTP/1.1 over connections that are kept, one request on each at a time. A request that could
// not be written is written again on a new connection; one that was written never is, for it may have been executed.
import type { LookupFunction } from 'node:net';
import { limits } from '../../../shared/limits.js';
import type { HttpUpstream, UpstreamCall, UpstreamHandler, UpstreamRequest } from '../http-upstream.js';
import type { UpstreamFaultKind } from '../upstream-fault.js';
import { Http1Call } from './http1-call.js';
import { OriginPool } from './origin-pool.js';
import { WriteBatch } from './write-batch.js';

export interface Http1UpstreamOptions {
  readonly connectTimeoutMs: number;
  readonly originsMax?: number;
  /** In place of the system's, for hosts that are names. Fails with the code `ADDRESS_REFUSED` where none is wanted. */
  readonly lookup?: LookupFunction;
  /** Asked of the host of every new origin: one that is an address is connected to without a look-up. */
  readonly isAddressRefused?: (host: string) => boolean;
}

export class Http1Upstream implements HttpUpstream {
  readonly #connectTimeoutMs: number;
  readonly #lookup: LookupFunction | undefined;
  readonly #isAddressRefused: (host: string) => boolean;
  readonly #originsMax: number;
  readonly #pools = new Map<string, OriginPool>();
  readonly #batch = new WriteBatch();
  readonly #sweep: NodeJS.Timeout;
  #isClosed = false;

  constructor(options: Http1UpstreamOptions) {
    this.#connectTimeoutMs = options.connectTimeoutMs;
    this.#lookup = options.lookup;
    this.#isAddressRefused = options.isAddressRefused ?? (() => false);
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
    const url = new URL(origin);
    if (this.#isAddressRefused(url.hostname)) return 'address-refused';
    // As many origins at once as there may be, each with a call under way.
    if (this.#pools.size >= this.#originsMax && !this.#closeOneIdle()) return 'backend-busy';
    const pool = new OriginPool(
      { origin: url, connectTimeoutMs: this.#connectTimeoutMs, lookup: this.#lookup },
      this.#batch,
    );
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
