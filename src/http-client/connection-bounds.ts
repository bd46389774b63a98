// How connections to backends are kept, and read from.
import { KIB } from '../shared/index.js';

export const connectionBounds = {
  upstreamReadBytes: 64 * KIB,
  /** How much of an event stream is handed over before the clock is looked at: each event may cost much. */
  upstreamEventBytesAtOnce: 8 * KIB,
  /** A read of at most this size does not wait behind larger ones. */
  upstreamSmallReadBytesMax: 4 * KIB,
  /** A longer `mcp-session-id` is the fault `answer-invalid`. */
  upstreamSessionIdBytesMax: 8 * KIB,
  /** A longer size line of a chunk is the fault `answer-invalid`. */
  upstreamChunkLineBytesMax: 256,
  /** How long an idle connection is kept: common servers close it after 5 s, perhaps just as a request arrives. */
  upstreamConnectionIdleMs: 4_000,
  /** An idle connection is closed this long before the timeout that its backend announces. */
  upstreamKeepAliveMarginMs: 1_000,
  /** The longest time that an idle connection is kept, even if its backend announces a longer timeout. */
  upstreamConnectionIdleMsMax: 600_000,
  upstreamSweepMs: 500,
  /** On how many further connections an unwritten request is tried. After that, the fault is `connection-lost`. */
  upstreamUnsentTriesMax: 3,
  /** Connections being opened, per worker and origin, so that a starting backend is not flooded. Beyond that, requests wait. */
  upstreamConnectingMax: 128,
  upstreamSmallReadsUntimedMax: 8,
} as const;
