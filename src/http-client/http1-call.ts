// A request in progress and its response, as the relay sees it.
//
//   waiting (for a connection) → sent → over
import type { UpstreamCall, UpstreamHandler, UpstreamRequest } from './http-upstream.js';
import { upstreamFault, type UpstreamFaultKind } from './upstream-fault.js';
import type { FairQueueEntry } from '../fair/index.js';
import type { PoolUse } from './backend-shares.js';
import type { Http1Connection } from './http1-connection.js';
import { requestBytes, type RequestBytes } from './request-bytes.js';

export class Http1Call implements UpstreamCall {
  readonly subject: string;
  /** The serialized request, head and body; `undefined` when it cannot be serialized. */
  readonly bytes: RequestBytes | undefined;
  /** `undefined` once no more callbacks are wanted. */
  handler: UpstreamHandler | undefined;
  connection: Http1Connection | undefined = undefined;
  isPaused = false;
  isSent = false;
  /** How many connections broke before the whole request was sent on them. */
  unsentCount = 0;
  /** Set while the call waits for a connection. */
  queueEntry: FairQueueEntry<Http1Call> | undefined = undefined;
  /** Set while the call has a connection: the use of connections in which it is counted. */
  use: PoolUse | undefined = undefined;

  constructor(request: UpstreamRequest, handler: UpstreamHandler) {
    this.subject = request.subject;
    this.bytes = requestBytes(request);
    this.handler = handler;
  }

  abort(): void {
    if (this.handler === undefined) return;
    this.handler = undefined;
    this.queueEntry?.leave();
    this.connection?.onCallAborted();
  }

  pause(): void {
    this.isPaused = true;
    this.connection?.pause();
  }

  resume(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.connection?.resume();
  }

  /** Fails the unsent call asynchronously: `dispatch` must return it before any callback. */
  failLater(kind: UpstreamFaultKind): void {
    process.nextTick(() => this.fail(kind, true));
  }

  /** @param detail `''` for none; only logged for a failed TLS handshake. */
  fail(kind: UpstreamFaultKind, isUnsent: boolean, detail = ''): void {
    const { handler } = this;
    this.handler = undefined;
    const more = kind === 'tls-failed' ? { logDetail: detail } : { detail };
    handler?.onFault(detail === '' ? upstreamFault(kind, isUnsent) : { kind, isUnsent, ...more });
  }
}
