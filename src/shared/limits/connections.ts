// Limits: connections to backends, and bytes on them.
import { KIB, MIB } from './units.js';

export const connectionLimits = {
  /** header bytes of one answer → fault `answer-invalid` */
  upstreamHeaderBytesMax: 64 * KIB,
  /** the size line of one chunk, extensions and all → fault `answer-invalid` */
  upstreamChunkLineBytesMax: 256,
  /** a request's body that is copied behind its head, so that both are one write → the body is written by itself */
  upstreamCopiedBodyBytesMax: 16 * KIB,
  /** the one buffer that a worker's upstream connections read into, in turn → the rest is read next */
  upstreamReadBytes: 64 * KIB,
  /**
   * what one connection takes of an answer before all others have their turn → it is read on in the next turn
   *
   * Small events cost 2 to 4 ms for 64 KiB.
   */
  upstreamTurnBytesMax: 256 * KIB,
  /**
   * what all connections of a process take of their answers in one turn of the event loop → who has more is read on
   * later, subjects in turn
   */
  upstreamTurnBytesTotalMax: MIB,
  /** the same in time: small events cost up to 4 ms for 64 KiB → who has more is read on later, subjects in turn */
  upstreamTurnMsMax: 5,
  /** what was read when a turn was used up, and waits for its connection's turn → more is dealt with at once */
  upstreamKeptBytesMax: 16 * MIB,
  /**
   * a read that is so small waits for none that is larger → those of a turn have `upstreamTurnMsMax` for themselves; the
   * others wait, by subject
   */
  upstreamSmallReadBytesMax: 4 * KIB,
  /** of these, those that are dealt with between two looks at the clock → the same */
  upstreamSmallReadsUntimedMax: 8,
  /**
   * memory that is reserved for a body because its head says that it is so long → what is more is put together when all
   * of it is there
   */
  bodyReservedBytesMax: 4 * MIB,
  /** a body that shares a stretch of memory with others while it lives → larger ones have their own */
  shortMemoryBytesMax: 16 * KIB,
  /** such a stretch → the next body begins another */
  shortMemoryStretchBytes: 64 * KIB,
  /**
   * a body, of a caller's or of a backend's, whose memory is used again when the body is gone → smaller ones are left
   * to the garbage collector
   */
  largeMemoryFromBytes: 64 * KIB,
  /** such memory that a process keeps for the next bodies → what is more is left to the garbage collector */
  spareMemoryBytesMax: 32 * MIB,
  /** requests per worker and backend origin that wait for a connection → fault `backend-busy` */
  upstreamRequestsWaitingMax: 16_384,
  /** an idle connection: common servers close theirs after 5 s, perhaps on a request → it is closed */
  upstreamConnectionIdleMs: 4_000,
  /** earlier than a backend says that it closes idle connections → it is closed */
  upstreamKeepAliveMarginMs: 1_000,
  /** between two looks for idle connections that are old → they are looked through */
  upstreamSweepMs: 500,
  /** how often a request that could not be written is put on another connection → fault `connection-lost` */
  upstreamUnsentTriesMax: 3,
  /** different `content-type` values of answers that are remembered, per worker → all are forgotten and read again */
  mediaTypesMax: 256,
  /**
   * connections per worker to all backends, and no more than half of the files that it may open;
   * `--upstream-connections` at most → idle ones are closed; without any, requests wait for one of their origin, or
   * fault `connections-used`
   */
  upstreamConnectionsTotalMax: 16_384,
  /**
   * one subject has one in so many of a worker's connections to backends, and of an origin's places to wait in → fault
   * `connections-share-used`, or `backend-share-used`
   */
  upstreamShareDivisor: 4,
  /**
   * connections per worker and origin that are being opened at once: a backend that starts is not met by all at once →
   * further requests wait
   */
  upstreamConnectingMax: 128,
  /**
   * backend origins that a worker knows at once → an idle one is let go; when all are busy, fault `connections-used`
   */
  upstreamOriginsMax: 16_384,
  /**
   * of these, the origins that were first called by one subject → an idle one of its own is let go; when all are busy,
   * fault `connections-share-used`
   */
  upstreamOriginsPerSubjectMax: 1_024,
  /** an idle connection whose backend announces how long it keeps it → it is closed */
  upstreamConnectionIdleMsMax: 600_000,
  /**
   * connections in a row that the backend closed soon after their first answer, without saying so → its connections are
   * not used again until one is seen to be kept
   */
  upstreamClosedInRowMax: 2,
  /**
   * the connection to one of a host's addresses, before the next is tried beside it → the next is tried
   *
   * RFC 8305.
   */
  nextAddressMs: 250,
  /** TLS sessions that a worker keeps to be resumed, one an origin → the oldest is dropped */
  tlsSessionsMax: 4_096,
  /** one such session → it is not kept */
  tlsSessionBytesMax: 16 * KIB,
  /** use of one such session: the certificate is not looked at meanwhile → the next connection makes a new one */
  tlsSessionMsMax: 3_600_000,
} as const;
