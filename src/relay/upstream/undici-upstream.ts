// The upstream HTTP client over undici: HTTP/1.1 with kept connections, one request on each at a time. A request that
// could not be written is written again on a new connection; one that was written never is (it may have been executed).
import { limits } from '../../shared/limits.js';
import type { HttpUpstream, UpstreamCall, UpstreamHandler, UpstreamRequest } from './http-upstream.js';
import { OriginConnections } from './origin-connections.js';
import { UndiciCall } from './undici-call.js';

export class UndiciUpstream implements HttpUpstream {
  readonly #connectTimeoutMs: number;
  readonly #originsMax: number;
  readonly #origins = new Map<string, OriginConnections>();
  /** Origins without a request since the last sweep; without one until the next, they are let go. */
  readonly #unused = new Set<string>();
  readonly #sweep: NodeJS.Timeout;
  #isClosed = false;

  constructor(options: { readonly connectTimeoutMs: number; readonly originsMax?: number }) {
    this.#connectTimeoutMs = options.connectTimeoutMs;
    this.#originsMax = options.originsMax ?? limits.upstreamOriginsMax;
    this.#sweep = setInterval(() => this.#letGoOfUnused(), limits.upstreamOriginIdleMs).unref();
  }

  dispatch(request: UpstreamRequest, handler: UpstreamHandler): UpstreamCall {
    const call = new UndiciCall(request, handler);
    if (this.#isClosed) {
      call.fail('connection-lost');
      return call;
    }
    const connections = this.#connectionsTo(request.target.origin);
    try {
      if (connections === undefined) call.fail('backend-busy');
      else connections.send(call);
    } catch {
      // undici refuses the origin itself.
      call.fail('connect-failed');
    }
    return call;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#sweep);
    await Promise.all(Array.from(this.#origins.values(), (connections) => connections.close()));
    this.#origins.clear();
  }

  #connectionsTo(origin: string): OriginConnections | undefined {
    const known = this.#origins.get(origin);
    if (known !== undefined) {
      this.#unused.delete(origin);
      return known;
    }
    if (this.#origins.size >= this.#originsMax && !this.#letGoOfOneIdle()) return undefined;
    const connections = new OriginConnections(origin, this.#connectTimeoutMs);
    this.#origins.set(origin, connections);
    return connections;
  }

  #letGoOfUnused(): void {
    for (const [origin, connections] of this.#origins) {
      if (!connections.isIdle) continue;
      if (this.#unused.has(origin)) this.#letGo(origin, connections);
      else this.#unused.add(origin);
    }
  }

  #letGoOfOneIdle(): boolean {
    for (const [origin, connections] of this.#origins) {
      if (!connections.isIdle) continue;
      this.#letGo(origin, connections);
      return true;
    }
    return false;
  }

  #letGo(origin: string, connections: OriginConnections): void {
    this.#origins.delete(origin);
    this.#unused.delete(origin);
    void connections.close();
  }
}
