// How connections to backends are kept, and read from.
import { KIB } from '../shared/index.js';

export const connectionBounds = {
  /** The buffer that all connections read into, one after another. */
  upstreamReadBytes: 64 * KIB,
  /** Up to this size, a read does not wait for larger ones. */
  upstreamSmallReadBytesMax: 4 * KIB,
  /** Of `mcp-session-id`; beyond that, fault `answer-invalid`. */
  upstreamSessionIdBytesMax: 8 * KIB,
  /** Of the size line of a chunk; beyond that, fault `answer-invalid`. */
  upstreamChunkLineBytesMax: 256,
  /** Common servers close idle connections after 5 s, perhaps just as a request arrives. */
  upstreamConnectionIdleMs: 4_000,
  /** An idle connection is closed so long before the timeout that its backend announces. */
  upstreamKeepAliveMarginMs: 1_000,
  /** Even if its backend announces more. */
  upstreamConnectionIdleMsMax: 600_000,
  /** Between checks for old idle connections. */
  upstreamSweepMs: 500,
  /** For a request that could not be written; then fault `connection-lost`. */
  upstreamUnsentTriesMax: 3,
  /** Per worker and origin, so that a starting backend is not flooded. Other requests wait. */
  upstreamConnectingMax: 128,
  /** Small reads between two looks at the clock. */
  upstreamSmallReadsUntimedMax: 8,
} as const;
