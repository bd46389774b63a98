// Limits: request heads, and callers that read their responses slowly.
import { KIB } from './units.js';

export const requestLimits = {
  /**
   * time in one turn of the event loop for each kind of work that comes in waves: requests on arrival, those that
   * waited, answers of backends → the rest waits for the next turn, subjects in turn
   */
  turnMs: 5,
  /** header bytes of one request; a bearer token alone can exceed uWebSockets.js' own 4 KiB → 431 */
  requestHeaderBytesMax: 32 * KIB,
  /** header fields of one request over `--listener node` → 431 */
  nodeHeadersMax: 100,
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
  /** a `host`, `accept` or `content-type` value that is cached as parsed; what clients really send is short → it is parsed each time */
  rememberedHeaderCharsMax: 256,
  /** an event that is written together with the head of its stream, or with its end → it is written separately */
  joinedEventBytesMax: 8 * KIB,
  /**
   * longest `--stream-keep-alive`; proxies and clients give up on silent event streams, and a comment is promised every 15 s → fault at
   * start-up
   */
  streamKeepAliveMsMax: 14_000,
} as const;
