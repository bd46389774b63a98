// The interface of the upstream HTTP client: one operation, `dispatch`, and a handler whose callbacks come in a fixed order:
//
//   onHead → onData* → onEnd          a complete answer, or
//   (onHead → onData*)? → onFault     exactly one of onEnd and onFault, never both, never neither
//
// After `abort` no callback is called. No callback is called synchronously from within `dispatch`.
import type { UpstreamTarget } from '../user-config/index.js';
import type { UpstreamFault } from './upstream-fault.js';

/** What a backend gets of the client's HTTP request on whose behalf a message is sent. */
export interface RequestMetadata {
  /** The caller's headers for this backend: name, value, … */
  readonly headers: readonly string[];
  /** The id of the client's HTTP request; `''` where the backend does not get it. */
  readonly requestId: string;
  /** The caller's bearer token, where the backend's `auth` exchanges it; used for nothing else. `''` otherwise. */
  readonly callerToken: string;
}

/** For messages that the gateway sends on its own account. */
export const NO_METADATA: RequestMetadata = Object.freeze({
  headers: Object.freeze([]),
  requestId: '',
  callerToken: '',
});

/** The bytes from `start` up to, but not including, `end`. */
export interface ByteSpan {
  readonly start: number;
  readonly end: number;
}

/** The W3C trace context headers; `''` when absent. */
export interface TraceHeaders {
  readonly traceparent: string;
  readonly tracestate: string;
}

/** The headers of a request that repeat parts of its body, since MCP 2026-07-28: `mcp-method`, `mcp-name` and `mcp-param-*`. */
export interface ModernHead {
  readonly method: string;
  /** `''` for a method whose params name nothing. */
  readonly name: string;
  /** The `mcp-param-*` headers: lower-case name, value, …, each encoded for an HTTP head. */
  readonly params: readonly string[];
}

/** A JSON-RPC message as it is sent to a backend. */
export interface OutgoingMessage {
  readonly body: Buffer;
  /** A span of the body that is not sent, so that removing something from a large message needs no copy. */
  readonly leftOut?: ByteSpan | undefined;
  /** Sent in place of the span that is left out. */
  readonly putIn?: Buffer | undefined;
  /** The `x-request-id` of the caller's HTTP request; `''` or `undefined` for none. */
  readonly requestId?: string | undefined;
  /** The trace context to send to the backend. */
  readonly trace?: TraceHeaders | undefined;
  /** Present only for backends of MCP 2026-07-28. */
  readonly head?: ModernHead | undefined;
}

export function withModernHead(message: OutgoingMessage, head: ModernHead): OutgoingMessage {
  const { body, leftOut, putIn, requestId, trace } = message;
  return { body, leftOut, putIn, requestId, trace, head };
}

/** All members are always present, in this order, so that every request has the same hidden class. */
export interface UpstreamRequest {
  /** The subject on whose behalf the request is made: its shares of connections and its turns in the queue. */
  readonly subject: string;
  readonly target: UpstreamTarget;
  readonly method: 'POST' | 'DELETE' | 'GET';
  /** Name, value, …; the client adds `host`, `connection`, `accept-encoding`, `user-agent` and `content-length`. */
  readonly headers: readonly string[];
  readonly body: Buffer | undefined;
  readonly leftOut: ByteSpan | undefined;
  readonly putIn: Buffer | undefined;
  readonly requestId: string | undefined;
  readonly trace: TraceHeaders | undefined;
  readonly head: ModernHead | undefined;
}

/** A request without a body, or with a body that is sent unchanged. */
export function plainRequest(
  subject: string,
  target: UpstreamTarget,
  method: UpstreamRequest['method'],
  headers: readonly string[],
  body?: Buffer,
): UpstreamRequest {
  const none = undefined;
  return {
    subject,
    target,
    method,
    headers,
    body,
    leftOut: none,
    putIn: none,
    requestId: none,
    trace: none,
    head: none,
  };
}

export interface UpstreamHandler {
  /**
   * The status and the headers that the relay reads; `''` when absent. `contentType` is lower-case, without parameters.
   * @param bodyBytes length of the body that follows; -1 when it is not known.
   * @param hint the `set-cookie` lines of 2xx, the `location` of a redirect, the `www-authenticate` of 401, or the `retry-after` of 429 and
   *   503.
   */
  onHead(status: number, contentType: string, sessionId: string, bodyBytes: number, hint: string): void;
  /**
   * A piece of the body, valid until the callback returns: copy what is kept. If it is the whole body, and its length was in the head, it
   * is valid until `onEnd` has returned, which follows in the same turn of the event loop.
   */
  onData(chunk: Buffer): void;
  onEnd(): void;
  onFault(fault: UpstreamFault): void;
}

/** A request in progress. */
export interface UpstreamCall {
  /** True from `onEnd` on if the whole request has been sent by then: nothing reads the body's memory any more. */
  readonly isSent: boolean;
  /** Cancels the call: no callback is called any more. Safe at any time, also more than once. */
  abort(): void;
  /** Stops reading the body (backpressure) until `resume`. Data that was already read may still be delivered. */
  pause(): void;
  resume(): void;
}

export interface HttpUpstream {
  /** Never throws: a request that cannot be made ends in `onFault`. */
  dispatch(request: UpstreamRequest, handler: UpstreamHandler): UpstreamCall;
  /** Closes every connection; requests in flight end in a fault. */
  close(): Promise<void>;
}
