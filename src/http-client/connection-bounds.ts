// How connections to backends are kept, and read from.
import { KIB } from '../shared/index.js';

export const connectionBounds = {
  upstreamReadBytes: 64 * KIB,
  /** Up to this size, a read does not wait for larger ones. */
  upstreamSmallReadBytesMax: 4 * KIB,
  /** A longer `mcp-session-id` is the fault `answer-invalid`. */
  upstreamSessionIdBytesMax: 8 * KIB,
  /** A longer size line of a chunk is the fault `answer-invalid`. */
  upstreamChunkLineBytesMax: 256,
  /** How long an idle connection is kept: common servers close it after 5 s, perhaps just as a request arrives. */
  upstreamConnectionIdleMs: 4_000,
  /** An idle connection is closed so long before the timeout that its backend announces. */
  upstreamKeepAliveMarginMs: 1_000,
  /** The longest that an idle connection is kept, even if its backend announces more. */
  upstreamConnectionIdleMsMax: 600_000,
  upstreamSweepMs: 500,
  /** Further connections on which an unwritten request is tried. Then the fault is `connection-lost`. */
  upstreamUnsentTriesMax: 3,
  /** Per worker and origin, so that a starting backend is not flooded. Other requests wait. */
  upstreamConnectingMax: 128,
  upstreamSmallReadsUntimedMax: 8,
} as const;
