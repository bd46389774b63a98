// How connections to backends are kept, and read from.
import { KIB } from '../shared/index.js';

export const connectionBounds = {
  /** buffer that all backend connections of a worker read into, one after another → the rest is read next */
  upstreamReadBytes: 64 * KIB,
  /**
   * a read that counts as small and waits for no larger one; small reads of a turn have a `turnMs` of their own → beyond that
   * time small reads wait, by subject
   */
  upstreamSmallReadBytesMax: 4 * KIB,
  /** a backend's `mcp-session-id`, which is kept and sent with each request → fault `answer-invalid` */
  upstreamSessionIdBytesMax: 8 * KIB,
  /** size line of one chunk, including extensions → fault `answer-invalid` */
  upstreamChunkLineBytesMax: 256,
  /** time that an idle connection is kept; common servers close theirs after 5 s, perhaps just as a request arrives → it is closed */
  upstreamConnectionIdleMs: 4_000,
  /** how long before the idle timeout that a backend announces its connection is closed → it is closed */
  upstreamKeepAliveMarginMs: 1_000,
  /** longest time that an idle connection is kept, even if its backend announces more → it is closed */
  upstreamConnectionIdleMsMax: 600_000,
  /** interval between checks for idle connections that are too old → these are closed */
  upstreamSweepMs: 500,
  /** how often a request that could not be written is tried on another connection → fault `connection-lost` */
  upstreamUnsentTriesMax: 3,
  /** connections per worker and origin being opened at once, so that a starting backend is not flooded → further requests wait */
  upstreamConnectingMax: 128,
  /** small reads processed between two looks at the clock → the clock is read; beyond `turnMs` small reads wait, by subject */
  upstreamSmallReadsUntimedMax: 8,
} as const;
