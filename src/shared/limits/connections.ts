// Limits: connections to backends, and the bytes read from them.
import { KIB, MIB } from './units.js';

export const connectionLimits = {
  /** header bytes of one backend response → fault `answer-invalid` */
  upstreamHeaderBytesMax: 64 * KIB,
  /** size line of one chunk, including extensions → fault `answer-invalid` */
  upstreamChunkLineBytesMax: 256,
  /** request body that is copied behind its head, so that both go out in one write → the body is written separately */
  upstreamCopiedBodyBytesMax: 16 * KIB,
  /** buffer that all backend connections of a worker read into, one after another → the rest is read next */
  upstreamReadBytes: 64 * KIB,
  /**
   * bytes read of one answer before all other connections have their turn → it is read on in its next turn
   *
   * Small events cost 2 to 4 ms for 64 KiB.
   */
  upstreamTurnBytesMax: 256 * KIB,
  /** bytes read of answers by all connections of a process in one turn of the event loop → the rest is read later, subjects in turn */
  upstreamTurnBytesTotalMax: MIB,
  /**
   * time spent reading answers in one turn of the event loop; small events cost up to 4 ms for 64 KiB → the rest is read later, subjects in
   * turn
   */
  upstreamTurnMsMax: 5,
  /** bytes that were already read when a turn was used up, and wait for their connection's turn → further reads are processed at once */
  upstreamKeptBytesMax: 16 * MIB,
  /**
   * a read that counts as small and waits for no larger one; small reads of a turn have an `upstreamTurnMsMax` of their own → beyond that
   * time small reads wait, by subject
   */
  upstreamSmallReadBytesMax: 4 * KIB,
  /** small reads processed between two looks at the clock → the clock is read; beyond `upstreamTurnMsMax` small reads wait, by subject */
  upstreamSmallReadsUntimedMax: 8,
  /** memory reserved in advance for a body whose head announces its length → the rest is reserved once that much has arrived */
  bodyReservedBytesMax: 4 * MIB,
  /** a short-lived body that shares a block of memory with others → a larger body has its own memory */
  shortMemoryBytesMax: 16 * KIB,
  /** size of such a shared block → the next body starts another block */
  shortMemoryStretchBytes: 64 * KIB,
  /** smallest body, of a caller or a backend, whose memory is reused after it → smaller ones are left to the garbage collector */
  largeMemoryFromBytes: 64 * KIB,
  /** memory of large bodies that a process keeps for reuse → the rest is left to the garbage collector */
  spareMemoryBytesMax: 32 * MIB,
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
  /** different `content-type` values of answers that are cached as parsed, per worker → all are forgotten and parsed again */
  mediaTypesMax: 256,
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
  /**
   * connections in a row that a backend closed soon after their first answer, without announcing it → its connections are not reused until
   * one is seen to stay open
   */
  upstreamClosedInRowMax: 2,
  /**
   * time to connect to one address of a host before the next address is tried in parallel → the next one is tried
   *
   * RFC 8305.
   */
  nextAddressMs: 250,
  /** TLS sessions that a worker keeps for resumption, one per origin → the oldest is dropped */
  tlsSessionsMax: 4_096,
  /** one TLS session → it is not kept */
  tlsSessionBytesMax: 16 * KIB,
  /** time that a TLS session is resumed, during which the certificate is not checked again → the next connection makes a full handshake */
  tlsSessionMsMax: 3_600_000,
} as const;
