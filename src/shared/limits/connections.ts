// Limits: connections to backends, and the bytes read from them.
import { KIB } from './units.js';

export const connectionLimits = {
  /** header bytes of one backend response → fault `answer-invalid` */
  upstreamHeaderBytesMax: 64 * KIB,
  /** size line of one chunk, including extensions → fault `answer-invalid` */
  upstreamChunkLineBytesMax: 256,
  /** buffer that all backend connections of a worker read into, one after another → the rest is read next */
  upstreamReadBytes: 64 * KIB,
  /**
   * time spent reading answers in one turn of the event loop; small events cost up to 4 ms for 64 KiB → the rest is read later, subjects in
   * turn
   */
  upstreamTurnMsMax: 5,
  /**
   * a read that counts as small and waits for no larger one; small reads of a turn have an `upstreamTurnMsMax` of their own → beyond that
   * time small reads wait, by subject
   */
  upstreamSmallReadBytesMax: 4 * KIB,
  /** small reads processed between two looks at the clock → the clock is read; beyond `upstreamTurnMsMax` small reads wait, by subject */
  upstreamSmallReadsUntimedMax: 8,
  /** a short-lived body that shares a block of memory with others → a larger body has its own memory */
  shortMemoryBytesMax: 16 * KIB,
  /** size of such a shared block → the next body starts another block */
  shortMemoryStretchBytes: 64 * KIB,
  /** smallest body, of a caller or a backend, whose memory is reused after it → smaller ones are left to the garbage collector */
  largeMemoryFromBytes: 64 * KIB,
  /** requests per worker and backend origin that wait for a connection → fault `backend-busy` */
  upstreamRequestsWaitingMax: 16_384,
  /** time that an idle connection is kept; common servers close theirs after 5 s, perhaps just as a request arrives → it is closed */
  upstreamConnectionIdleMs: 4_000,
  /** how long before the idle timeout that a backend announces its connection is closed → it is closed */
  upstreamKeepAliveMarginMs: 1_000,
  /** interval between checks for idle connections that are too old → these are closed */
  upstreamSweepMs: 500,
  /** how often a request that could not be written is tried on another connection → fault `connection-lost` */
  upstreamUnsentTriesMax: 3,
  /**
   * highest `--upstream-connections`: connections per worker to all backends, and at most half of the files it may open → idle ones are
   * closed; if there is none, requests wait for one of their origin, or fault `connections-used`
   */
  upstreamConnectionsTotalMax: 16_384,
  /**
   * one subject gets one in this many of a worker's connections to backends, and of an origin's waiting places → fault
   * `connections-share-used`, or `backend-share-used`
   */
  upstreamShareDivisor: 4,
  /** connections per worker and origin being opened at once, so that a starting backend is not flooded → further requests wait */
  upstreamConnectingMax: 128,
  /**
   * backend origins that a worker keeps connections for at once → an idle origin is dropped; when all are busy, fault `connections-used`
   */
  upstreamOriginsMax: 16_384,
  /**
   * backend origins that one subject was the first to call, of those of a worker → one of its idle origins is dropped; when all are busy,
   * fault `connections-share-used`
   */
  upstreamOriginsPerSubjectMax: 1_024,
  /** longest time that an idle connection is kept, even if its backend announces more → it is closed */
  upstreamConnectionIdleMsMax: 600_000,
} as const;
