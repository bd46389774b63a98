// Limits: request heads, and callers that read their responses slowly.
import { KIB, MIB } from './units.js';

export const requestLimits = {
  /** header bytes of one request; a bearer token alone can exceed uWebSockets.js' own 4 KiB → 431 */
  requestHeaderBytesMax: 32 * KIB,
  /**
   * idle time of a `--listener node` connection with no request pending; also the time for the head of a request to arrive → the connection
   * is closed
   */
  nodeSilenceMsMax: 10_000,
  /** time for one `--listener node` request to arrive, from its first byte to its last → the connection is closed */
  nodeRequestMsMax: 300_000,
  /** header fields of one request over `--listener node` → 431 */
  nodeHeadersMax: 100,
  /** request body bytes that must arrive in every ten seconds over `--listener node` → the connection is closed */
  nodeBodyBytesLeast: 160 * KIB,
  /**
   * `mcp-param-*` headers of one request, which repeat arguments (MCP 2026-07-28); each is compared, kept and forwarded → 431
   * `mirror-too-large`
   */
  mirroredParamsMax: 64,
  /**
   * names and values of all `mcp-param-*` headers of one request; the backend must accept them with the other headers, and many accept 16
   * KiB in all → 431 `mirror-too-large`
   */
  mirroredParamBytesMax: 8 * KIB,
  /**
   * `mcp-name` header of a request to a backend of MCP 2026-07-28, as encoded; with the other headers a longer one may exceed what the
   * backend accepts → JSON-RPC error
   */
  mirroredNameBytesMax: 8 * KIB,
  /** different `host` headers whose verdict is cached, per worker; callers can invent any number → all are forgotten and judged again */
  hostVerdictsMax: 1_024,
  /** different `accept` headers cached as parsed, per worker; callers can invent any number → all are forgotten and parsed again */
  acceptHeadersMax: 256,
  /** a `host`, `accept` or `content-type` value that is cached as parsed; what clients really send is short → it is parsed each time */
  rememberedHeaderCharsMax: 256,
  /** part of a large response that is prepared for writing at once → the next part follows when the connection has room */
  sentPieceBytes: 64 * KIB,
  /** bytes written of one large response in one turn of the event loop, however fast its caller reads → other responses have their turn */
  sentPerTurnBytes: MIB,
  /** an event that is written together with the head of its stream, or with its end → it is written separately */
  joinedEventBytesMax: 8 * KIB,
  /**
   * interval between write attempts to a caller that reads slowly; uWebSockets.js closes a connection after 8 to 12 s without one → the
   * write is tried again, until `--slow-reader-timeout`
   */
  slowReaderTryMs: 3_000,
  /**
   * longest `--stream-keep-alive`; proxies and clients give up on silent event streams, and a comment is promised every 15 s → fault at
   * start-up
   */
  streamKeepAliveMsMax: 14_000,
} as const;
