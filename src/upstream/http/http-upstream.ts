// The shape of the upstream HTTP client: one verb, `dispatch`, and a handler whose callbacks come in a fixed order:
//
//   onHead → onData* → onEnd          a complete answer, or
//   (onHead → onData*)? → onFault     exactly one of onEnd and onFault, never both, never neither
//
// Nothing is called back after `abort`. Nothing is called back synchronously from within `dispatch`.
import type { UpstreamTarget } from '../../user-config/upstream-target.js';
import type { UpstreamFault } from './upstream-fault.js';

/** From `start` up to `end`. */
export interface ByteSpan {
  readonly start: number;
  readonly end: number;
}

/** W3C's trace context, as headers; `''` for none. */
export interface TraceHeaders {
  readonly traceparent: string;
  readonly tracestate: string;
}

/** What the head of a request says again of its body, since MCP 2026-07-28. */
export interface ModernHead {
  readonly method: string;
  /** `''` for a method that has none. */
  readonly name: string;
  /** Headers of parameters: lower-case name, value, …, each as it is written in a head. */
  readonly params: readonly string[];
}

/** Bytes as they go out. */
export interface OutgoingMessage {
  readonly body: Buffer;
  /** A stretch of the body that is not sent: so a large message with something taken out need not be copied. */
  readonly leftOut?: ByteSpan | undefined;
  /** Goes in the place of what is left out. */
  readonly putIn?: Buffer | undefined;
  /** Of the caller's HTTP request: `x-request-id`; `''` or `undefined` for none. */
  readonly requestId?: string | undefined;
  /** What the backend is told of the request's trace. */
  readonly trace?: TraceHeaders | undefined;
  /** There for a backend of MCP 2026-07-28 alone. */
  readonly head?: ModernHead | undefined;
}

export function withHead(message: OutgoingMessage, head: ModernHead): OutgoingMessage {
  const { body, leftOut, putIn, requestId, trace } = message;
  return { body, leftOut, putIn, requestId, trace, head };
}

/** Every member is always there, in this order: requests are told apart by what is in them, never by their shape. */
export interface UpstreamRequest {
  /** On whose behalf: shares of connections and the turns of those who wait go by it. */
  readonly subject: string;
  readonly target: UpstreamTarget;
  readonly method: 'POST' | 'DELETE' | 'GET';
  /** Name, value, name, value, …; `host`, `connection` and `content-length` are the implementation's. */
  readonly headers: readonly string[];
  readonly body: Buffer | undefined;
  readonly leftOut: ByteSpan | undefined;
  readonly putIn: Buffer | undefined;
  readonly requestId: string | undefined;
  readonly trace: TraceHeaders | undefined;
  readonly head: ModernHead | undefined;
}

/** One that sends no body, or all of it as it is. */
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
   * Status and the headers that the relay reads; `''` when absent. `contentType` is lower-case, no parameters.
   * @param bodyBytes of the body that follows; -1 when its length is not known.
   * @param location of a redirect alone.
   */
  onHead(status: number, contentType: string, sessionId: string, bodyBytes: number, location: string): void;
  /**
   * A piece of the body. It is valid until the callback returns: copy what is kept. One that is all of a body whose length the
   * head has said is valid until `onEnd` has returned, which follows in the same turn.
   */
  onData(chunk: Buffer): void;
  /** In place of `onData`: the data of one event, where it comes on a stream that is not this call's alone. It may be kept. */
  onEvent?(data: Buffer): void;
  onEnd(): void;
  onFault(fault: UpstreamFault): void;
}

/** A request under way. */
export interface UpstreamCall {
  /** True from `onEnd` on, if all of the request has left by then: nothing reads the body's memory any more. */
  readonly isSent: boolean;
  /** Gives up: closes or drains the connection, and calls nothing back any more. Safe to call at any time, twice too. */
  abort(): void;
  /** Stops reading the body (backpressure); `resume` goes on. Data already read may still be delivered. */
  pause(): void;
  resume(): void;
}

export interface HttpUpstream {
  /** Never throws: a request that cannot be made calls `onFault`. */
  dispatch(request: UpstreamRequest, handler: UpstreamHandler): UpstreamCall;
  /** Closes every connection; what is in flight ends in a fault. */
  close(): Promise<void>;
}
