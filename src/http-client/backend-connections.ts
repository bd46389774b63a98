// A process's connections to backends, in three sets with bounds of their own: for calls; for streams, which hold a connection for hours;
// and for replies to backends' requests, because the calls during which backends send requests may hold all other connections.
import type { Names } from './names/names.js';
import { perSubject } from '../shared/index.js';
import type { BackendShareBounds } from './backend-shares.js';
import { Http1Upstream } from './http1-upstream.js';
import type { PoolBounds } from './origin-pool.js';
import { ReadScheduler, BACKEND_STREAMS_MAX, REPLY_CONNECTIONS_MAX } from './read-scheduler.js';

const REPLY_CONNECTIONS_DIVISOR = 16;

interface BackendConnectionsOptions {
  readonly connectTimeoutMs: number;
  readonly pool?: Partial<PoolBounds>;
  /** The look-up of names, which is closed with these connections. */
  readonly names: Names;
  /** PEM of certificate authorities, as in `Http1UpstreamOptions`. */
  readonly authorities?: string | undefined;
}

/** Bounds for streams. Beyond them, a stream fails at once, and is tried again later. */
const STREAM_BOUNDS: Partial<PoolBounds> = {
  connectionsMax: BACKEND_STREAMS_MAX,
  connectionsPerSubjectMax: perSubject(BACKEND_STREAMS_MAX),
  waitingMax: BACKEND_STREAMS_MAX,
  waitingPerSubjectMax: perSubject(BACKEND_STREAMS_MAX),
};

const REPLY_BOUNDS: Partial<PoolBounds> = {
  connectionsMax: REPLY_CONNECTIONS_MAX,
  connectionsPerSubjectMax: perSubject(perSubject(REPLY_CONNECTIONS_MAX)),
};

export class BackendConnections {
  readonly calls: Http1Upstream;
  readonly streams: Http1Upstream;
  readonly replies: Http1Upstream;
  readonly #names: Names;

  constructor({ connectTimeoutMs, pool, names, authorities }: BackendConnectionsOptions) {
    this.#names = names;
    const shared = { connectTimeoutMs, authorities, readScheduler: new ReadScheduler(), names };
    this.calls = new Http1Upstream({ ...shared, pool });
    const callsMax = this.calls.shares.bounds.connectionsMax;
    const streamsMax = Math.min(BACKEND_STREAMS_MAX, Math.floor(callsMax / 2));
    this.streams = new Http1Upstream({ ...shared, pool: STREAM_BOUNDS, shares: sharesOf(streamsMax) });
    const repliesMax = Math.min(REPLY_CONNECTIONS_MAX, Math.ceil(callsMax / REPLY_CONNECTIONS_DIVISOR));
    this.replies = new Http1Upstream({ ...shared, pool: REPLY_BOUNDS, shares: sharesOf(repliesMax) });
  }

  get counts(): Readonly<Record<'calls' | 'streams' | 'replies', number>> {
    const { calls, streams, replies } = this;
    return {
      calls: calls.shares.connectionCount,
      streams: streams.shares.connectionCount,
      replies: replies.shares.connectionCount,
    };
  }

  async close(): Promise<void> {
    await Promise.all([this.replies.close(), this.streams.close(), this.calls.close()]);
    this.#names.close();
  }
}

function sharesOf(connectionsMax: number): Partial<BackendShareBounds> {
  return { connectionsMax, connectionsPerSubjectMax: perSubject(connectionsMax) };
}
