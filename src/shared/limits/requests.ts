// Limits: heads of requests, readers of answers.
import { KIB, MIB } from './units.js';

export const requestLimits = {
  /** header bytes of one request: a bearer token alone can pass uWebSockets.js' own 4 KiB → 431 */
  requestHeaderBytesMax: 32 * KIB,
  /**
   * idle time of a `--listener node` connection with no request pending; also the time in which the head of a request must arrive → it is
   * closed
   */
  nodeSilenceMsMax: 10_000,
  /** a request of `--listener node` from its first byte to its last → its connection is closed */
  nodeRequestMsMax: 300_000,
  /** header fields of one request over `--listener node` → 431 */
  nodeHeadersMax: 100,
  /** bytes of a request body that must arrive in every ten seconds over `--listener node` → its connection is closed */
  nodeBodyBytesLeast: 160 * KIB,
  /**
   * `mcp-param-*` headers of one request, in which clients of MCP 2026-07-28 repeat arguments: each is compared, kept and passed on
   * → 431 `mirror-too-large`
   */
  mirroredParamsMax: 64,
  /**
   * names and values of these: with what else is in a head a backend has to take them, and many take 16 KiB in all → 431
   * `mirror-too-large`
   */
  mirroredParamBytesMax: 8 * KIB,
  /**
   * what a request to a backend of MCP 2026-07-28 is about, as its head says it again: it need not fit there with what else is → error of
   * JSON-RPC
   */
  mirroredNameBytesMax: 8 * KIB,
  /**
   * different `host` headers whose verdict is remembered, per worker: callers make them up → all are forgotten and
   * judged again
   */
  hostVerdictsMax: 1_024,
  /**
   * different `accept` headers whose reading is remembered, per worker: callers make them up → all are forgotten and
   * read again
   */
  acceptHeadersMax: 256,
  /**
   * a `host`, `accept` or `content-type` whose reading is remembered: what clients really send is short → it is read
   * each time
   */
  rememberedHeaderCharsMax: 256,
  /** what is made ready of a large answer at once → the next piece follows when there is room */
  sentPieceBytes: 64 * KIB,
  /** one large answer in one turn of the event loop, however fast its caller reads → others have their turn */
  sentPerTurnBytes: MIB,
  /**
   * an event that goes out in one write with the head of its stream, or with its end → it goes in a write of its own
   */
  joinedEventBytesMax: 8 * KIB,
  /**
   * how often something is tried on a caller that takes its answer slowly: uWebSockets.js closes after 8 to 12 s
   * without a try → it is tried again, until `--slow-reader-timeout`
   */
  slowReaderTryMs: 3_000,
  /**
   * silence on an event stream that `--stream-keep-alive` may allow: proxies and clients give up on a silent one, 15 s
   * is promised → more is a fault at start-up
   */
  streamKeepAliveMsMax: 14_000,
} as const;
