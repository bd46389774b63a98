// The interface of the upstream HTTP client: one operation, `dispatch`, and a handler whose callbacks come in a fixed order:
//
//   onHead → onData* → onEnd          a complete answer, or
//   (onHead → onData*)? → onFault     exactly one of onEnd and onFault, never both, never neither
//
// After `abort` no callback is called. No callback is called synchronously from within `dispatch`.
import type { UpstreamTarget } from '../user-config/index.js';
import type { UpstreamFault } from './upstream-fault.js';

/** What a backend gets from the client's HTTP request, with each message that the request causes. */
export interface RequestMetadata {
  /** The caller's headers for this backend: name, value, … */
  readonly headers: readonly string[];
  /** The id of the client's HTTP request; `''` if the backend does not get it. */
  readonly requestId: string;
  /** The caller's bearer token if the backend's `auth` exchanges it, else `''`. It is used for nothing else. */
  readonly callerToken: string;
}

export const NO_METADATA: RequestMetadata = Object.freeze({
  headers: Object.freeze([]),
  requestId: '',
  callerToken: '',
});

/** A part of a buffer: the bytes from `start` to before `end`. */
export interface ByteSpan {
  readonly start: number;
  readonly end: number;
}

export interface TraceHeaders {
  readonly traceparent: string;
  readonly tracestate: string;
}

/** Headers that repeat parts of the body, since MCP 2026-07-28: `mcp-method`, `mcp-name` and `mcp-param-*`. */
export interface ModernHead {
  readonly method: string;
  readonly name: string;
  /** Headers `mcp-param-*`: lower-case name, value, …, encoded for an HTTP head. */
  readonly params: readonly string[];
}

export interface OutgoingMessage {
  readonly body: Buffer;
  /** A part of the body that is not sent; `putIn` is sent in its place. So changing a large message needs no copy. */
  readonly leftOut?: ByteSpan | undefined;
  readonly putIn?: Buffer | undefined;
  /** The value of `x-request-id`; `''` or `undefined` for none. */
  readonly requestId?: string | undefined;
  readonly trace?: TraceHeaders | undefined;
  /** Headers for backends of MCP 2026-07-28 only. */
  readonly head?: ModernHead | undefined;
}

export function withModernHead(message: OutgoingMessage, head: ModernHead): OutgoingMessage {
  const { body, leftOut, putIn, requestId, trace } = message;
  return { body, leftOut, putIn, requestId, trace, head };
}

/** A request. All members are always present, in this order, so that every request has the same hidden class. */
export interface UpstreamRequest {
  /** The subject whose share and queue the request counts in. */
  readonly subject: string;
  readonly target: UpstreamTarget;
  readonly method: 'POST' | 'DELETE' | 'GET';
  /** The headers: name, value, …; without `host`, `connection`, `accept-encoding` and `content-length`. */
  readonly headers: readonly string[];
  readonly body: Buffer | undefined;
  readonly leftOut: ByteSpan | undefined;
  readonly putIn: Buffer | undefined;
  readonly requestId: string | undefined;
  readonly trace: TraceHeaders | undefined;
  readonly head: ModernHead | undefined;
}

/** A request without an id, a trace and a modern head. */
export function plainRequest(
  subject: string,
  target: UpstreamTarget,
  method: UpstreamRequest['method'],
  headers: readonly string[],
  body?: Buffer,
  leftOut?: ByteSpan,
  putIn?: Buffer,
): UpstreamRequest {
  const none = undefined;
  return { subject, target, method, headers, body, leftOut, putIn, requestId: none, trace: none, head: none };
}

export interface UpstreamHandler {
  /**
   * @param contentType in lower case, without parameters; `''` if absent.
   * @param sessionId `''` if absent.
   * @param bodyBytes -1 if unknown.
   * @param statusHeader the header that matters for the status, or `''`: the `set-cookie` lines of 2xx, `location` of 3xx,
   *   `www-authenticate` of 401 and 403, `retry-after` of 429 and 503.
   */
  onHead(status: number, contentType: string, sessionId: string, bodyBytes: number, statusHeader: string): void;
  /** @param chunk valid until this returns; until `onEnd` returns if it is the whole body, and the head had its length. */
  onData(chunk: Buffer): void;
  onEnd(): void;
  onFault(fault: UpstreamFault): void;
}

export interface UpstreamCall {
  /** Whether the whole request was sent, so that nothing reads its memory any more. Known from `onEnd` on. */
  readonly isSent: boolean;
  /** Ends the call: no callback is called any more. Safe at any time. */
  abort(): void;
  /** Stops reading the body until `resume`. What was already read may still be delivered. */
  pause(): void;
  resume(): void;
}

export interface HttpUpstream {
  /** Sends a request. Never throws: every failure ends in `onFault`. */
  dispatch(request: UpstreamRequest, handler: UpstreamHandler): UpstreamCall;
  close(): Promise<void>;
}
